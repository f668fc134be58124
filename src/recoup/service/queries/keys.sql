-- name: add
insert into recoup.api_key (name, role, hub, prefix, secret_hash, replaces, created_by, expires_at)
select %(name)s, %(role)s, %(hub)s, %(prefix)s, %(hash)s, %(replaces)s::uuid, recoup.acting_id(),
       coalesce(%(expires_at)s::timestamptz, recoup.now() + %(valid)s::interval)
returning key_id, name, role, hub, prefix, created_by, created_at, expires_at;

-- name: replace
-- Its row stays locked: of two that rotate it at once, the second finds it replaced.
update recoup.api_key k
   set replaced_at = recoup.now(), expires_at = least(k.expires_at, recoup.now() + %(overlap)s::interval)
 where k.key_id = %(key_id)s and k.status = 'active' and k.replaced_at is null
   and (k.expires_at is null or k.expires_at > recoup.now())
returning k.name, k.role, k.hub, k.expires_at;

-- name: revoke
update recoup.api_key k set status = 'revoked', ended_at = recoup.now()
 where k.key_id = any(%(ids)s::uuid[]) and k.status = 'active'
returning k.key_id;

-- name: find
-- By the id, by the prefix, or by the name: the key of that name, and those that it replaced while they are valid.
select k.key_id, k.name, k.role, k.hub, k.prefix, k.status, k.replaced_at, k.created_by, k.created_at, k.expires_at,
       k.ended_at, u.last_used_at, coalesce(k.expires_at <= recoup.now(), false) as expired
  from recoup.api_key k left join recoup.api_key_use u on u.key_id = k.key_id
 where k.name = %(named)s or k.prefix = %(named)s or k.key_id::text = %(named)s
 order by k.key_id desc limit 1000;

-- name: listed
select k.key_id, k.name, k.role, k.hub, k.prefix, k.status, k.replaced_at, k.created_by, k.created_at, k.expires_at,
       k.ended_at, u.last_used_at, coalesce(k.expires_at <= recoup.now(), false) as expired
  from recoup.api_key k left join recoup.api_key_use u on u.key_id = k.key_id
 where (%(all)s or k.status = 'active' and (k.expires_at is null or k.expires_at > recoup.now()))
   and (%(after)s::uuid is null or k.key_id < %(after)s)
 order by k.key_id desc limit %(limit)s;

-- name: authenticate
select k.key_id, k.name, k.role, k.hub, k.secret_hash, k.status,
       coalesce(k.expires_at <= recoup.now(), false) as expired,
       not exists (select from recoup.api_key_use u
                    where u.key_id = k.key_id and u.last_used_at > recoup.now() - interval '1 minute') as unseen
  from recoup.api_key k where k.prefix = %(prefix)s;

-- name: used
insert into recoup.api_key_use as u (key_id, last_used_at) values (%(key_id)s, recoup.now())
on conflict (key_id) do update set last_used_at = excluded.last_used_at
 where u.last_used_at <= excluded.last_used_at - interval '1 minute';

-- name: exists
-- Whether anybody could authenticate with a key now.
select exists (select from recoup.api_key k
                where k.status = 'active' and (k.expires_at is null or k.expires_at > recoup.now()));
