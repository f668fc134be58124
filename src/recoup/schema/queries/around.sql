-- What surrounds the schema and can disable it: memberships, settings, and foreign objects in the database. Every query
-- gives sentences. Named by the caller: owner, admin (of the embedded server), ours (owner and authorities) and reader
-- (every login that may act is its member).

-- name: members
select distinct format('%%s is a member of %%s', m.member::regrole, m.roleid::regrole)
  from pg_auth_members m
 where m.roleid = to_regrole(%(admin)s)
    -- A member that may only grant it, and neither use nor inherit it, is the migrating login (from 16 on).
    or m.roleid = to_regrole(%(owner)s)
       and coalesce(not m.admin_option or (to_jsonb(m) ->> 'set_option')::boolean
                    or (to_jsonb(m) ->> 'inherit_option')::boolean, true)
    or m.member = any(%(ours)s::regrole[])
       and (m.roleid <> to_regrole(%(reader)s) or m.member = to_regrole(%(owner)s))
 order by 1;

-- name: settings
-- Harmless settings (memory, timeouts, a path on which pg_catalog comes first, as it does by default) are not reported.
select format('%%s%%s: %%s', case s.setrole when 0 then 'everybody' else s.setrole::regrole::text end,
              case s.setdatabase when 0 then '' else ' in ' || current_database() end, c.setting)
  from pg_db_role_setting s
 cross join lateral (select u, split_part(u, '=', 1), split_part(u, '=', 2) from unnest(s.setconfig) u)
            c (setting, name, value)
 where s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
   and (s.setrole = 0 or pg_has_role(s.setrole, %(reader)s, 'member'))
   and (c.name = 'search_path' and c.value ~ 'pg_catalog' and c.value !~ '^"?pg_catalog'
        or c.name like 'recoup.%%' or c.name like 'plpgsql.%%' or c.name like '%%preload_libraries'
        or c.name in ('role', 'session_replication_role', 'transform_null_equals', 'dynamic_library_path'))
 order by 1;

-- name: strangers
select format('the subscription %%s writes to %%s', s.subname, r.srrelid::regclass)
  from pg_subscription_rel r
  join pg_subscription s on s.oid = r.srsubid
  join pg_class c on c.oid = r.srrelid
 where c.relowner = to_regrole(%(owner)s)
union all
-- It runs with the rights of the role that changes a schema, which is the owner at every migration.
select format('the event trigger %%s runs %%s', e.evtname, e.evtfoid::regproc)
  from pg_event_trigger e
 where e.evtenabled <> 'D' and not exists (
   select from pg_depend d where d.classid = 'pg_event_trigger'::regclass and d.objid = e.oid and d.deptype = 'e')
union all
-- Between types of the server, or of ours, that had none.
select format('a cast from %%s to %%s', c.castsource::regtype, c.casttarget::regtype)
  from pg_cast c
  join pg_type f on f.oid = c.castsource join pg_namespace fn on fn.oid = f.typnamespace
  join pg_type t on t.oid = c.casttarget join pg_namespace tn on tn.oid = t.typnamespace
 where c.oid >= 16384
   and (fn.nspname = 'pg_catalog' or f.typowner = to_regrole(%(owner)s))
   and (tn.nspname = 'pg_catalog' or t.typowner = to_regrole(%(owner)s))
   and not exists (select from pg_depend d
                    where d.classid = 'pg_cast'::regclass and d.objid = c.oid and d.deptype = 'e')
union all
-- Roles that may create functions in schemas on the search path. Not reported: its owner, and the role that got the
-- right to grant it, in order to migrate.
select format('%%s may create in %%s', case a.grantee when 0 then 'everybody' else a.grantee::regrole::text end, o.name)
  from (select 'the database', d.datdba, d.datacl from pg_database d where d.datname = current_database()
        union all
        select 'the schema public', n.nspowner, n.nspacl from pg_namespace n where n.nspname = 'public')
       o (name, owner, acl)
 cross join lateral aclexplode(o.acl) a
 where a.privilege_type = 'CREATE' and a.grantee not in (o.owner, to_regrole(%(owner)s)) and not a.is_grantable
   and (a.grantee = 0 or pg_has_role(a.grantee, %(reader)s, 'member'))
 order by 1;
