-- Dispatch: which partitions go next. Of each ten dispatches of a pool at least one goes to backfill while one waits;
-- otherwise fresh ones go first. Within a lane sources take turns, and neither a source nor a query of it has more open
-- at once than its policy says.

create or replace function partitions.due_groups()
  returns table (lane text, source text, query_name text, priority smallint)
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  -- Lanes, sources, queries and priorities are few: each is found by one step along the index, however many wait.
  with recursive found as (
    (select s.lane, s.source, s.query_name, s.priority from partitions.schedule s
      where s.status = 'waiting' order by s.lane, s.source, s.query_name, s.priority limit 1)
    union all
    select n.* from found f
     cross join lateral (
       select s.lane, s.source, s.query_name, s.priority from partitions.schedule s
        where s.status = 'waiting'
          and (s.lane, s.source, s.query_name, s.priority) > (f.lane, f.source, f.query_name, f.priority)
        order by s.lane, s.source, s.query_name, s.priority limit 1) n)
  select f.lane, f.source, f.query_name, f.priority from found f
$$;
comment on function partitions.due_groups() is
'The lanes, sources, queries and priorities in which partitions wait.';

create or replace function partitions.one_less(counts jsonb, name text) returns jsonb
language sql immutable as $$
  select case when name is null then counts
              else jsonb_set(counts, array[name], to_jsonb((counts ->> name)::integer - 1)) end
$$;
comment on function partitions.one_less(jsonb, text) is
'The same numbers, with one less of this name, if there is one.';

create or replace function partitions.next_in_turn(pool_ text, most integer, served jsonb, now_ timestamptz,
  shut text[], only_ text[], sink_ uuid) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  policy   constant jsonb := partitions.policy();
  stopped  constant boolean := exists (select from recoup.pause p where p.status = 'PAUSED');
  fresh    bigint[];
  backfill bigint[];
  fresh_of      text[];  -- their sources
  backfill_of   text[];
  fresh_in      text[];  -- their queries, where these have fewer slots than their source
  backfill_in   text[];
  free          jsonb;  -- slots of each source
  free_in       jsonb;  -- slots of such queries
  taken    bigint[] := '{}';
  since    integer;  -- dispatches since the last one of a backfill
  last_fresh    text[];  -- the source whose turn it was last
  last_backfill text[];
  f        integer := 1;
  b        integer := 1;
begin
  -- Turns of a pool are numbered without a gap, also when a run is dispatched again.
  select array_agg(l.source) filter (where l.lane = 'fresh'), array_agg(l.source) filter (where l.lane = 'backfill'),
         greatest(coalesce(max(l.turn) filter (where l.lane = 'fresh'), 0)
                  - coalesce(max(l.turn) filter (where l.lane = 'backfill'), 0), 0)
    into last_fresh, last_backfill, since
    from (values ('fresh'), ('backfill')) v (lane)
   cross join lateral (
     select v.lane, s.source, r.turn
       from partitions.run r join partitions.schedule s on s.partition_id = r.partition_id
      where r.pool = pool_ and r.lane = v.lane and r.turn is not null order by r.turn desc limit 1) l;
  with due as materialized (
    select g.lane, g.source, d.partition_id, slots.free, slots.free_here,
           case when slots.free_here < slots.free then to_jsonb(array[g.source, g.query_name])::text end as capped,
           row_number() over (partition by g.lane, g.source order by g.priority, d.next_run_at, d.partition_id) as turn
      from partitions.due_groups() g
     cross join lateral (
       select (partitions.figures(policy, g.source, null) ->> 'at_once')::integer as of_source,
              (partitions.figures(policy, g.source, g.query_name) ->> 'at_once')::integer as of_query) most_
     cross join lateral (
       select greatest(greatest(most_.of_source, most_.of_query) - count(*), 0) as free,
              greatest(most_.of_query - count(*) filter (where s.query_name = g.query_name), 0) as free_here
         from partitions.schedule s where s.source = g.source and s.status = 'open') slots
     cross join lateral (
       select s.partition_id, s.next_run_at from partitions.schedule s
        where s.status = 'waiting' and s.lane = g.lane and s.source = g.source and s.query_name = g.query_name
          and s.priority = g.priority and s.next_run_at <= now_
          -- What is to be validated again is in the raw sink of its run: others would not find it.
          and (sink_ is null or s.run_id is null
               or not exists (select from partitions.run r
                               where r.run_id = s.run_id and r.status || '' = 'published' and r.sink_id <> sink_))
        order by s.next_run_at, s.partition_id limit least(slots.free, slots.free_here, most)) d
     where (served is null or served -> g.source ? g.query_name)
       and (not stopped
            or (recoup.paused('table:partitions.partition_state', 'partition-source:' || g.source)).scope is null)
       and g.source <> all(shut) and (only_ is null or g.source = any(only_))),
  lanes as (
    select d.lane, array_agg(d.partition_id order by d.turn, d.source <= coalesce(l.last, ''), d.source) as ids,
           array_agg(d.source order by d.turn, d.source <= coalesce(l.last, ''), d.source) as sources,
           array_agg(d.capped order by d.turn, d.source <= coalesce(l.last, ''), d.source) as capped
      from due d
     cross join lateral (select case d.lane when 'fresh' then last_fresh[1] else last_backfill[1] end as last) l
     group by d.lane)
  select f.ids, f.sources, f.capped, b.ids, b.sources, b.capped,
         (select jsonb_object_agg(x.source, x.free)
            from (select d.source, max(d.free) as free from due d group by d.source) x),
         (select jsonb_object_agg(d.capped, d.free_here) from due d where d.capped is not null)
    into fresh, fresh_of, fresh_in, backfill, backfill_of, backfill_in, free, free_in
    from (values (1)) one
    left join lanes f on f.lane = 'fresh'
    left join lanes b on b.lane = 'backfill';
  while cardinality(taken) < most loop
    -- Both lanes of a source share its slots, and those of a query.
    while f <= cardinality(fresh)
          and ((free ->> fresh_of[f])::integer = 0 or (free_in ->> fresh_in[f])::integer = 0) loop
      f := f + 1;
    end loop;
    while b <= cardinality(backfill)
          and ((free ->> backfill_of[b])::integer = 0 or (free_in ->> backfill_in[b])::integer = 0) loop
      b := b + 1;
    end loop;
    if b <= cardinality(backfill) and (since >= 9 or f > coalesce(cardinality(fresh), 0)) then
      taken := taken || backfill[b];
      free := partitions.one_less(free, backfill_of[b]);
      free_in := partitions.one_less(free_in, backfill_in[b]);
      b := b + 1;
      since := 0;
    elsif f <= cardinality(fresh) then
      taken := taken || fresh[f];
      free := partitions.one_less(free, fresh_of[f]);
      free_in := partitions.one_less(free_in, fresh_in[f]);
      f := f + 1;
      since := since + 1;
    else
      exit;
    end if;
  end loop;
  return taken;
end $$;
comment on function partitions.next_in_turn(text, integer, jsonb, timestamptz, text[], text[], uuid) is
'The partitions that a pool dispatches next, in order; none of the sources that are shut, or of these sources only; '
'and of what was published only what is in this raw sink.';

create or replace function partitions.next_past_breakers(pool_ text, most integer, served jsonb, now_ timestamptz,
  sink_ uuid, out turn bigint[], out tries boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  behind record;
begin
  tries := false;
  if not exists (select from recovery.breaker b where b.status in ('open', 'half_open')) then
    turn := partitions.next_in_turn(pool_, most, served, now_, '{}', null, sink_);
    return;
  end if;
  select t.shut @> '{partitions.partition_state}' as is_shut, t.due @> '{partitions.partition_state}' as is_due,
         s.shut, s.due into behind
    from recovery.shut_parts('table', '{partitions.partition_state}', now_) t,
         recovery.shut_parts('source', null, now_) s;
  turn := '{}';
  if behind.is_shut then
    return;
  end if;
  -- One alone tries a breaker whose wait has ended. If there is none, the others need not wait for it.
  if behind.is_due or behind.due <> '{}' then
    turn := partitions.next_in_turn(pool_, least(most, 1), served, now_, behind.shut,
                                    case when not behind.is_due then behind.due end, sink_);
    tries := turn <> '{}';
  end if;
  if turn = '{}' then
    turn := partitions.next_in_turn(pool_, most, served, now_, behind.shut || behind.due, null, sink_);
  end if;
end $$;
comment on function partitions.next_past_breakers(text, integer, jsonb, timestamptz, uuid) is
'The partitions that a pool dispatches next, none of them behind a breaker; or one alone that tries one.';

create or replace function partitions.dispatch(pool_ text, most integer, worker_ text, served jsonb, lease interval,
  starts boolean, sink_ uuid default null,
  out ids uuid[], out partitions_ bigint[], out sources text[], out customers text[], out queries text[],
  out dates date[], out statuses text[], out alternatives jsonb[], out locations text[], out digests text[],
  out token_ uuid, out until_ timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   timestamptz;
  turn   bigint[];
  held   bigint[];
  last_  bigint;  -- the last turn of the pool
  tries_ boolean;
begin
  perform recoup.require_read_committed('Dispatches');
  -- One dispatch of a pool at a time: whose turn it is depends on the last one, which is visible once it committed.
  perform pg_advisory_xact_lock(7742, hashtext(pool_));
  now_ := recoup.now();
  select n.turn, n.tries into turn, tries_
    from partitions.next_past_breakers(pool_, greatest(most, 0), served, now_, sink_) n;
  if turn = '{}' then
    return;
  end if;
  -- Those that somebody changes at this moment are left for the next time.
  held := array(
    select s.partition_id from partitions.schedule s
     where s.partition_id = any(turn) and s.status || '' = 'waiting' and s.next_run_at <= now_
     order by s.partition_id for no key update skip locked);
  if held = '{}' then
    return;
  end if;
  token_ := gen_random_uuid();
  until_ := now_ + lease;
  select max(l.turn) into last_
    from (values ('fresh'), ('backfill')) v (lane)
   cross join lateral (select r.turn from partitions.run r
                        where r.pool = pool_ and r.lane = v.lane and r.turn is not null
                        order by r.turn desc limit 1) l;
  with due as materialized (
    select s.*, t.place, coalesce(last_, 0) + row_number() over (order by t.place) as turn, r.run_id as published,
           coalesce(l.number, 0) + 1 as next_number
      from unnest(turn) with ordinality t (partition_id, place)
      join partitions.schedule s on s.partition_id = t.partition_id
      left join lateral (select r.run_id from partitions.run r
                          where r.partition_id = s.partition_id and r.status in ('open', 'published') limit 1) r on true
      left join lateral (select r.number from partitions.run r where r.partition_id = s.partition_id
                          order by r.number desc limit 1) l on true
     where s.partition_id = any(held)),
  opened as (
    insert into partitions.run as r (partition_id, number, turn, lane, pool, reprocesses, alternative, candidate_id,
                                     worker, token, lease_until, started_with, policy_version, opened_at,
                                     dispatched_at, updated_at)
    select d.partition_id, d.next_number, d.turn, d.lane, pool_, d.reprocesses, d.alternative, d.candidate_id, worker_,
           token_, until_, case when starts then token_ end, recoup.policy_version(), now_, now_, now_
      from due d where d.published is null order by d.place
    returning r.run_id, r.partition_id, r.status, r.alternative, r.location, r.manifest_digest, r.dispatch_no),
  again as (
    update partitions.run r
       set turn = case r.pool when pool_ then d.turn else r.turn end,  -- it counts in the pool that opened it
           worker = worker_, token = token_, lease_until = until_, dispatched_at = now_,
           validations = r.validations + 1, started_with = case when starts then token_ else r.started_with end,
           updated_at = greatest(r.updated_at, now_)
      from due d where r.run_id = d.published
    returning r.run_id, r.partition_id, r.status, r.alternative, r.location, r.manifest_digest, r.dispatch_no),
  all_ as (select * from opened union all select * from again)
  select array_agg(a.run_id order by d.place), array_agg(a.partition_id order by d.place),
         array_agg(p.source order by d.place), array_agg(p.customer_id order by d.place),
         array_agg(p.query_name order by d.place), array_agg(p.logical_date order by d.place),
         array_agg(a.status order by d.place), array_agg(a.alternative order by d.place),
         array_agg(a.location order by d.place), array_agg(a.manifest_digest order by d.place)
    into ids, partitions_, sources, customers, queries, dates, statuses, alternatives, locations, digests
    from all_ a join due d on d.partition_id = a.partition_id
    join partitions.partition_state p on p.partition_id = a.partition_id;
  if tries_ then
    -- Its lease may be extended, up to that; before, it is lost when its lease ends.
    perform recovery.start_probe(array['source:' || sources[1], 'table:partitions.partition_state'], 'partitions.run',
                                 ids[1]::text, token_, greatest(until_, now_ + make_interval(
                                   hours => (partitions.policy() ->> 'run_max_hours')::integer)), now_);
  end if;
end $$;
comment on function partitions.dispatch(text, integer, text, jsonb, interval, boolean, uuid) is
'Opens runs of the partitions whose turn it is, and validates again what was published, under one token and lease.';
