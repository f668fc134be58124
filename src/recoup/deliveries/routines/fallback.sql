-- Room for a route, and the route that is taken when another one failed for good.

create or replace function recoup.routes_with_room(routes_ text[]) returns text[]
language sql stable as $$
  -- At most max_waiting deliveries wait for one route. Counted no further than that.
  select coalesce(array_agg(r.route order by r.route), '{}')
    from (select distinct r.route from unnest(routes_) r (route)) r
   cross join (select recoup.delivery_policy() as p offset 0) x
   where x.p -> 'routes' ? r.route
     and (select count(*) from (
            select from recoup.delivery_queue q where q.part = r.route and q.token is null
             limit (x.p ->> 'max_waiting')::integer) q) < (x.p ->> 'max_waiting')::integer
$$;
comment on function recoup.routes_with_room(text[]) is
'Those of these routes that the policy has, and for which not too many deliveries wait.';

create or replace function recoup.fall_back_deliveries() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  route_ constant text := recoup.delivery_policy() ->> 'fallback_route';
begin
  perform recoup.require_table(tg_relid, 'recoup.delivery');
  -- Once: what replaces another has no fallback, and neither has a heartbeat, whose absence is the message.
  if route_ <> '' and exists (select from new_rows n where n.status = 'dead' and n.outcome <> 'CANCELLED')
     and recoup.routes_with_room(array[route_]) <> '{}' then
    insert into recoup.delivery (route, subject, body, about, dedup_key, origin, instead_of)
    select route_, n.subject, n.body, n.about, 'fallback/' || n.delivery_id, 'fallback', n.delivery_id
      from new_rows n
     where n.status = 'dead' and n.outcome <> 'CANCELLED' and n.route <> route_
       and n.origin not in ('fallback', 'heartbeat')
    on conflict do nothing;
  end if;
  return null;
end $$;
revoke execute on function recoup.fall_back_deliveries() from public;
comment on function recoup.fall_back_deliveries() is
'Queues a delivery that died once more, by the fallback route of the policy.';

create or replace function recoup.check_routes() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  -- The program's own check has better words; this is for a policy that is written by SQL. Never repeats the value.
  select format('deliveries.routes.%s.%s', r.name, f.name) into bad
    from jsonb_each(new.figures -> 'deliveries' -> 'routes') r (name, route)
   cross join lateral jsonb_each_text(r.route) f (name, value)
   where f.name in ('url_env', 'secret_env') and f.value !~ '^[A-Z][A-Z0-9_]{0,99}$'
      or f.name in ('url', 'secret', 'password', 'token', 'key')
   limit 1;
  if bad is null and concat(new.figures -> 'deliveries', new.figures -> 'alerts') ~ '://' then
    bad := 'a value in deliveries or alerts';
  end if;
  if bad is not null then
    raise exception using errcode = 'RC114',
      message = format('%s holds an address or a secret, which no policy may.', bad),
      hint = 'Put it into an environment variable of the worker, and its name into the policy: url_env, secret_env.',
      detail = jsonb_build_object('key', bad);
  end if;
  return new;
end $$;
comment on function recoup.check_routes() is
'Refuses a policy that holds the address or the secret of a route: only names of environment variables.';

call recoup.put_trigger('recoup.policy', 'c_check_routes', 'before', 'insert', 'row', 'recoup.check_routes');
