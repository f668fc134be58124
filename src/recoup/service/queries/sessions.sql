-- name: open
insert into recoup.session (token_hash, key_id, name, role, hub, is_link, expires_at)
values (%(hash)s, %(key_id)s, %(name)s, %(role)s, %(hub)s, %(is_link)s, recoup.now() + %(valid)s::interval)
returning session_id, expires_at;

-- name: use_link
-- Once: of two who open it at once, the second finds nothing.
delete from recoup.session s where s.token_hash = %(hash)s and s.is_link and s.expires_at > recoup.now()
returning s.key_id, s.name, s.role, s.hub;

-- name: find
-- A session ends with its key.
select s.session_id, s.key_id, s.name, s.role, s.hub, s.token_hash
  from recoup.session s
  left join recoup.api_key k on k.key_id = s.key_id
 where s.token_hash = %(hash)s and not s.is_link and s.expires_at > recoup.now()
   and (s.key_id is null or k.status = 'active' and (k.expires_at is null or k.expires_at > recoup.now()));

-- name: close
delete from recoup.session s where s.session_id = %(session_id)s;

-- name: drop_ended
with old as (select s.session_id from recoup.session s
              where s.expires_at <= recoup.now() order by s.expires_at limit %(limit)s)
delete from recoup.session s using old o where s.session_id = o.session_id;

-- name: lag
select extract(epoch from recoup.now() - min(s.expires_at)) from recoup.session s where s.expires_at <= recoup.now();
