-- name: keys
select count(*) as valid,
       coalesce(array_agg(k.name order by k.name)
                  filter (where k.hub is not null and not coalesce(p.hubs ? k.hub, false)), '{}') as homeless,
       coalesce(array_agg(k.name order by k.name)
                  filter (where k.replaced_at is null
                            and k.expires_at < recoup.now() + make_interval(days => %(days)s)), '{}') as ending
  from recoup.api_key k
 cross join (select recoup.service_policy() -> 'hubs' as hubs offset 0) p
 where k.status = 'active' and (k.expires_at is null or k.expires_at > recoup.now());

-- name: both
-- Logins that may take an authority of each kind; superusers may do anything.
select u.rolname from pg_roles u
 where u.rolcanlogin and not u.rolsuper
   and exists (select from pg_roles r where r.rolname = any(%(approves)s) and pg_has_role(u.oid, r.oid, 'member'))
   and exists (select from pg_roles r where r.rolname = any(%(executes)s) and pg_has_role(u.oid, r.oid, 'member'))
 order by 1;

-- name: any_keys
select exists (select from recoup.api_key k where k.status = 'active');
