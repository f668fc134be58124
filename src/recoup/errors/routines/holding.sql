-- Promotion and recording of one entity exclude each other; those of different entities do not.
--
-- Advisory locks, all of them until the end of the transaction:
--   7701, key of an entity   exclusive: a promotion of it; shared: an error of it, where a transaction has few
--   7702, pid                exclusive: a transaction with errors of many entities; each has its own
--   7703, 0                  exclusive: a promotion of very many; shared: a transaction with few errors
--   7704, seconds            shared: since when a promotion's transaction is open, for those who wait
--
-- One lock per entity would fill the server's lock table. So a transaction that records many takes 7702, and then reads
-- which entities are being promoted (pg_locks). Later promotions see the 7702 and wait for it; it waits for earlier
-- ones, and releases the 7702 meanwhile. Keys are taken in order, against deadlocks.

create or replace function recoup.entity_key(entity uuid) returns integer
language sql immutable parallel safe as $$ select pg_catalog.uuid_hash(entity) $$;
comment on function recoup.entity_key(uuid) is 'The key of an entity''s lock.';

create or replace function recoup.entity_keys(entities uuid[]) returns integer[]
language sql immutable parallel safe as $$
  select array_agg(distinct recoup.entity_key(e)) from unnest(entities) e where e is not null  -- distinct: in order
$$;
comment on function recoup.entity_keys(uuid[]) is
'The keys of entities'' locks, distinct and in order. Null: there are none.';

create or replace function recoup.common(these integer[], others integer[]) returns integer[]
language sql immutable parallel safe as $$
  select array(select unnest(these) intersect select unnest(others) order by 1)
$$;
comment on function recoup.common(integer[], integer[]) is 'The elements of both arrays, in order.';

create or replace function recoup.add_held(more integer) returns integer
language sql volatile as $$
  select set_config('recoup.entities_held', h.count::text, true)::integer
    from (select coalesce(nullif(current_setting('recoup.entities_held', true), ''), '0')::integer + more as count) h
$$;
comment on function recoup.add_held(integer) is
'How many locks of entities this transaction has asked for, with these.';

create or replace function recoup.entity_locks()
returns table (pid integer, class integer, key integer, exclusive boolean)
language sql volatile as $$
  select l.pid, l.classid::integer, l.objid::integer, l.mode = 'ExclusiveLock' from pg_catalog.pg_locks l
   where l.locktype = 'advisory' and l.classid between 7701 and 7704 and l.objsubid = 2 and l.granted
     and l.pid <> pg_backend_pid()
     and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
$$;
comment on function recoup.entity_locks() is 'The locks that other sessions have of entities.';

create or replace function recoup.refuse_held(entities uuid[], recording boolean) returns void
language plpgsql as $$
declare
  held   uuid[];
  holder record;
begin
  select array_agg(distinct e) into held
    from recoup.entity_locks() l
    join unnest(entities) e on l.class in (7702, 7703) or l.class = 7701 and l.key = recoup.entity_key(e)
   where e is not null and case when recording then l.exclusive and l.class <> 7702 else l.class <> 7704 end;
  -- The one that has held it longest.
  select l.pid, s.application_name, s.usename,
         coalesce(timestamptz '2020-01-01 00:00+00' + make_interval(secs => min(l.key) filter (where l.class = 7704)),
                  min(s.xact_start)) as since into holder
    from recoup.entity_locks() l
    left join pg_stat_activity s on s.pid = l.pid
   group by l.pid, s.application_name, s.usename
  having bool_or(case when recording then l.exclusive and l.class <> 7702 else true end
                 and (l.class in (7702, 7703) or l.class = 7701 and l.key = any(recoup.entity_keys(entities))))
   order by since nulls last limit 1;
  raise exception using errcode = 'RC062',
    message = format('Entity %s is %s by another transaction%s%s.', coalesce(held[1], entities[1]),
                     case when recording then 'being promoted' else 'held' end,
                     ', open since ' || to_char(holder.since at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC',
                     format(': session %s (application %s, login %s)', holder.pid,
                            coalesce(nullif(holder.application_name, ''), 'without a name'), holder.usename)),
    hint = coalesce(format('Let it commit or roll back; or end its session, as %s or a superuser: select'
                           ' pg_terminate_backend(%s). Then try again.', holder.usename, holder.pid), 'Try again.'),
    detail = jsonb_build_object('entities', coalesce(held, entities[:1]), 'pid', holder.pid,
                                'application', holder.application_name, 'login', holder.usename, 'since', holder.since);
end $$;
comment on function recoup.refuse_held(uuid[], boolean) is
'Refuses: which of the entities are locked, and by which session. Recording waits for promotions only.';

create or replace function recoup.wait_for_promotion(class integer, key_ integer, entities uuid[]) returns void
language plpgsql
set lock_timeout = '20s'  -- longer than for a row: a failure would not be recorded otherwise
as $$
declare
  wait constant text := nullif(current_setting('recoup.promotion_wait', true), '');
begin
  if wait = 'none' and not pg_try_advisory_xact_lock_shared(class, key_) then
    perform recoup.refuse_held(entities, true);
  elsif wait <> 'none' then
    perform set_config('lock_timeout', wait, true);  -- of this function
  end if;
  perform pg_advisory_xact_lock_shared(class, key_);
exception when lock_not_available then
  perform recoup.refuse_held(entities, true);
end $$;
comment on function recoup.wait_for_promotion(integer, integer, uuid[]) is
'Waits for a promotion for 20 s, or for recoup.promotion_wait (a duration, or none); then it refuses.';

create or replace function recoup.hold_few(keys integer[], entities uuid[]) returns void
language plpgsql as $$
declare
  key_ integer;
begin
  foreach key_ in array keys loop
    if not pg_try_advisory_xact_lock_shared(7701, key_) then
      perform recoup.wait_for_promotion(7701, key_, entities);
    end if;
  end loop;
  if not pg_try_advisory_xact_lock_shared(7703, 0) then
    perform recoup.wait_for_promotion(7703, 0, entities);
  end if;
end $$;
comment on function recoup.hold_few(integer[], uuid[]) is 'Takes the locks of entities, one by one.';

create or replace function recoup.hold_many(keys integer[], entities uuid[]) returns void
language plpgsql as $$
declare
  waited   integer[] := '{}';  -- all that were found promoted so far
  wait_all boolean := false;
  key_     integer;
  promoted integer[];
begin
  loop
    begin
      foreach key_ in array waited loop
        perform recoup.wait_for_promotion(7701, key_, entities);
      end loop;
      if wait_all then
        perform recoup.wait_for_promotion(7703, 0, entities);
      end if;
      perform pg_advisory_xact_lock(7702, pg_backend_pid());
      select coalesce(array_agg(l.key) filter (where l.class = 7701), '{}'), coalesce(bool_or(l.class = 7703), false)
        into promoted, wait_all from recoup.entity_locks() l where l.exclusive and l.class in (7701, 7703);
      if not wait_all and recoup.common(promoted, keys) = '{}' then
        -- Promotions from now on wait for us: this transaction has to wait for these only.
        perform set_config('recoup.promoted_before', promoted::text, true);
        return;
      end if;
      raise exception 'given back';  -- if the 7702 were kept, others would wait for those we wait for
    exception when raise_exception then
      waited := array(select unnest(waited) union select unnest(recoup.common(promoted, keys)) order by 1);
    end;
  end loop;
end $$;
comment on function recoup.hold_many(integer[], uuid[]) is
'Marks this transaction as one that records many, when none of the entities is being promoted.';

create or replace function recoup.hold_entities(entities uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  few_most constant integer := 256;
  keys     constant integer[] := recoup.entity_keys(entities);
  before   constant text := nullif(current_setting('recoup.promoted_before', true), '');
  key_     integer;
begin
  if keys is null then
    return;
  elsif before is not null then
    if before <> '{}' then
      foreach key_ in array recoup.common(before::integer[], keys) loop
        perform recoup.wait_for_promotion(7701, key_, entities);
      end loop;
    end if;
  elsif recoup.add_held(cardinality(keys)) <= few_most then
    perform recoup.hold_few(keys, entities);
  else
    perform recoup.hold_many(keys, entities);
  end if;
end $$;
comment on function recoup.hold_entities(uuid[]) is
'Makes promotions of these entities wait until this transaction ends, or waits for those under way.';

create or replace function recoup.hold_for_promotion(entities uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  each_most constant integer := 1000;
  keys      constant integer[] := recoup.entity_keys(entities);
  recorder  integer;
begin
  if keys is null then
    return;
  end if;
  perform pg_advisory_xact_lock_shared(7704, extract(epoch from now() - timestamptz '2020-01-01 00:00+00')::integer);
  if recoup.add_held(cardinality(keys)) <= each_most then
    perform pg_advisory_xact_lock(7701, k) from unnest(keys) k;
  else
    perform pg_advisory_xact_lock(7703, 0);
  end if;
  foreach recorder in array array(select l.key from recoup.entity_locks() l where l.class = 7702) loop
    begin
      perform pg_advisory_xact_lock_shared(7702, recorder);
      raise exception 'given back';  -- it has ended; its session may record many again
    exception when raise_exception then
      null;
    end;
  end loop;
exception when lock_not_available then
  perform recoup.refuse_held(entities, false);
end $$;
comment on function recoup.hold_for_promotion(uuid[]) is
'Makes errors of these entities wait until this transaction ends. For more than a thousand: all errors.';

-- Programs of release 3 call these before they record or park. Both lock their entities themselves now.
create or replace function recoup.entity_bucket(entity uuid) returns integer
language sql immutable parallel safe as $$ select 0 $$;
comment on function recoup.entity_bucket(uuid) is 'For programs of release 3 of errors.';
create or replace function recoup.hold_promotions(buckets integer[]) returns void language sql as $$ select $$;
comment on function recoup.hold_promotions(integer[]) is 'For programs of release 3 of errors: nothing.';
