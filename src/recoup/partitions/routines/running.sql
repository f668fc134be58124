-- What workers report of runs, in sets, each fenced by its token. Late reports are stored, and not applied.

create or replace function partitions.start_run(run_ uuid, token_ uuid) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_   constant timestamptz := recoup.now();
  stands partitions.run;
begin
  update partitions.run r set started_with = token_, updated_at = greatest(r.updated_at, now_)
   where r.run_id = run_ and r.token = token_ and r.status in ('open', 'published')
     and r.started_with is distinct from token_ and r.lease_until >= now_;
  if found then
    return 'started';
  end if;
  select * into stands from partitions.run r where r.run_id = run_;
  return case when stands.run_id is null then 'unknown'
              when stands.token <> token_ then 'late'
              when stands.status in ('accepted', 'rejected', 'lost') then stands.status
              when coalesce(stands.lease_until < now_, true) then 'late'
              else 'started before' end;
end $$;
comment on function partitions.start_run(uuid, uuid) is
'Starts the work on a run, once under its token: started; otherwise its status, and there is nothing to do.';

create or replace function partitions.publish_runs(run_ids uuid[], tokens uuid[], sinks uuid[], locations_ text[],
  digests_ text[], formats text[], row_counts bigint[], byte_counts bigint[], out published uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_same_length('published runs', cardinality(run_ids), cardinality(tokens), cardinality(sinks),
    cardinality(locations_), cardinality(digests_), cardinality(formats), cardinality(row_counts),
    cardinality(byte_counts));
  with done as (
    update partitions.run r
       set status = 'published', sink_id = g.sink, location = g.location, manifest_digest = g.digest,
           format = g.format, rows = g.rows, bytes = g.bytes, published_at = greatest(r.updated_at, now_),
           updated_at = greatest(r.updated_at, now_)
      from unnest(run_ids, tokens, sinks, locations_, digests_, formats, row_counts, byte_counts)
             g (run_id, token, sink, location, digest, format, rows, bytes)
     where r.run_id = any(array[g.run_id]) and r.token = g.token and r.status || '' = 'open'
       and r.started_with = g.token and r.lease_until >= now_
    returning r.run_id)
  select coalesce(array_agg(d.run_id), '{}') into published from done d;
end $$;
comment on function partitions.publish_runs(uuid[], uuid[], uuid[], text[], text[], text[], bigint[], bigint[]) is
'The data of runs is in the raw sink. Returns those whose lease still held; the others are lost.';

create or replace function partitions.end_runs(run_ids uuid[], tokens uuid[], verdicts text[], reasons text[],
  rules text[], messages text[], signatures text[], categories text[], validators text[], versions text[],
  contracts text[], out ended uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_same_length('verdicts', cardinality(run_ids), cardinality(tokens), cardinality(verdicts),
    cardinality(reasons), cardinality(rules), cardinality(messages), cardinality(signatures), cardinality(categories),
    cardinality(validators), cardinality(versions), cardinality(contracts));
  with judged as (
    update partitions.run r
       set status = g.verdict, reason = g.reason, rule = g.rule, message = g.message, error_signature = g.signature,
           category = g.category, validator = g.validator, validator_version = g.version, contract_digest = g.contract,
           lease_until = null, ended_with = g.token, ended_at = greatest(r.updated_at, now_),
           updated_at = greatest(r.updated_at, now_)
      from unnest(run_ids, tokens, verdicts, reasons, rules, messages, signatures, categories, validators, versions,
                  contracts) g (run_id, token, verdict, reason, rule, message, signature, category, validator, version,
                                contract)
     where r.run_id = any(array[g.run_id]) and r.token = g.token and r.status || '' = 'published'
       and r.started_with = g.token and r.lease_until >= now_
    returning r.run_id, r.status)
  select coalesce(array_agg(j.run_id), '{}'), coalesce(array_agg(j.status), '{}') into ended, statuses from judged j;
  if cardinality(ended) < cardinality(run_ids) then
    -- Reported again because the answer was lost: the same answer. Otherwise it is late.
    with others as materialized (
      select g.*, r.status as stands, r.run_id is not null as known,
             coalesce(r.ended_with = g.token and r.status = g.verdict, false) as again
        from unnest(run_ids, tokens, verdicts, reasons, messages) g (run_id, token, verdict, reason, message)
        left join partitions.run r on r.run_id = g.run_id
       where g.run_id <> all(ended)),
    stored as (
      insert into recoup.late_result (subject, unit_id, token, result)
      select 'partitions.run', o.run_id::text, o.token,
             jsonb_build_object('verdict', o.verdict, 'reason', o.reason, 'message', o.message)
        from others o where o.known and not o.again)
    select ended || coalesce(array_agg(o.run_id), '{}'),
           statuses || coalesce(array_agg(case when o.again then o.verdict else 'late' end), '{}')
      into ended, statuses from others o where o.known;
    if cardinality(ended) < cardinality(run_ids) then
      perform recoup.refuse_unknown('run', run_ids, ended, 'RC146');
    end if;
  end if;
end $$;
comment on function partitions.end_runs(uuid[], uuid[], text[], text[], text[], text[], text[], text[], text[], text[],
  text[]) is 'The verdicts on published runs: accepted, rejected, or late.';

create or replace function partitions.at_cap(r partitions.run, policy jsonb) returns boolean
language sql stable as $$
  select s.dispatches + 1 >= (partitions.figures(policy, s.source, s.query_name) ->> 'dispatch_cap')::integer
    from partitions.schedule s where s.partition_id = r.partition_id
$$;
comment on function partitions.at_cap(partitions.run, jsonb) is
'Whether the dispatches of a partition are used up with this one.';

create or replace function partitions.lose_runs(run_ids uuid[], tokens uuid[], reasons text[], messages text[],
  out ended uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := partitions.policy();
begin
  perform recoup.require_same_length('lost runs', cardinality(run_ids), cardinality(tokens), cardinality(reasons),
    cardinality(messages));
  with said as materialized (
    select g.*, partitions.at_cap(x.run, policy) and g.reason <> 'SINK_UNAVAILABLE' as cap
      from unnest(run_ids, tokens, reasons, messages) g (run_id, token, reason, message)
     cross join lateral (
       select r as run from partitions.run r
        where r.run_id = g.run_id and r.token = g.token and r.status || '' in ('open', 'published')
          and r.lease_until + interval '0' is not null limit 1) x),  -- by its key, not by leases
  -- What was published stays, and is validated again; unless it is gone from the raw sink.
  lost as (
    update partitions.run r
       set status = case when r.status = 'open' or s.reason = 'RAW_GONE' then 'lost' else r.status end,
           lease_until = null, reason = s.reason, message = s.message,
           ended_at = case when r.status = 'open' or s.reason = 'RAW_GONE' then greatest(r.updated_at, now_) end,
           updated_at = greatest(r.updated_at, now_)
      from said s
     where r.run_id = any(array[s.run_id]) and r.token = s.token and not s.cap
       and r.lease_until + interval '0' is not null
    returning r.run_id, case r.status when 'lost' then 'lost' else 'released' end as status)
  select coalesce(array_agg(x.run_id), '{}'), coalesce(array_agg(x.status), '{}') into ended, statuses
    from (select l.run_id, l.status from lost l
          union all select s.run_id, 'cap' from said s where s.cap
          -- Also what somebody ended since it was read.
          union all select g.run_id, 'late' from unnest(run_ids) g (run_id)
                     where g.run_id <> all(array(select l.run_id from lost l union all
                                                 select s.run_id from said s where s.cap))) x;
end $$;
comment on function partitions.lose_runs(uuid[], uuid[], text[], text[]) is
'Nothing came of these dispatches: lost, or released to be validated again. cap: the validator has to reject it.';

create or replace function partitions.reject_lost(run_ids uuid[], tokens uuid[], messages text[], signatures text[],
  categories text[], out ended uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_same_length('rejected runs', cardinality(run_ids), cardinality(tokens), cardinality(messages),
    cardinality(signatures), cardinality(categories));
  with judged as (
    update partitions.run r
       set status = 'rejected',
           reason = case r.status when 'open' then 'NOTHING_TO_VALIDATE' else 'VALIDATOR_LOST' end,
           message = g.message, error_signature = g.signature, category = g.category, lease_until = null,
           ended_at = greatest(r.updated_at, now_), updated_at = greatest(r.updated_at, now_)
      from unnest(run_ids, tokens, messages, signatures, categories) g (run_id, token, message, signature, category)
     where r.run_id = any(array[g.run_id]) and r.token = g.token and r.status || '' in ('open', 'published')
       and r.lease_until + interval '0' is not null
    returning r.run_id)
  select coalesce(array_agg(j.run_id), '{}') into ended from judged j;
end $$;
comment on function partitions.reject_lost(uuid[], uuid[], text[], text[], text[]) is
'The last dispatch came to nothing: the validator rejects it, and it is an attempt.';

create or replace function partitions.extend_leases(run_ids uuid[], tokens uuid[], lease interval, out held uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  longest constant interval := make_interval(hours => (partitions.policy() ->> 'run_max_hours')::integer);
begin
  perform recoup.require_same_length('runs', cardinality(run_ids), cardinality(tokens));
  with extended as (
    update partitions.run r
       set lease_until = greatest(least(now_ + lease, r.dispatched_at + longest), r.lease_until),
           updated_at = greatest(r.updated_at, now_)
      from unnest(run_ids, tokens) g (run_id, token)
     where r.run_id = any(array[g.run_id]) and r.token = g.token and r.status || '' in ('open', 'published')
       and r.lease_until >= now_
    returning r.run_id)
  -- One that has just ended under its token is not lost to anybody.
  select coalesce(array_agg(x.run_id), '{}') into held
    from (select e.run_id from extended e
          union all
          select r.run_id from unnest(run_ids, tokens) g (run_id, token)
            join partitions.run r on r.run_id = g.run_id and r.ended_with = g.token) x;
end $$;
comment on function partitions.extend_leases(uuid[], uuid[], interval) is
'Extends the leases of runs that are worked on, up to the hours that the policy allows. Returns those that still hold.';

create or replace function partitions.expired(most integer,
  out ids uuid[], out tokens uuid[], out messages text[], out partitions_ bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  if not recovery.leases_expire() then
    return;
  end if;
  select array_agg(r.run_id), array_agg(r.token),
         array_agg(format('No %s within its lease: %s is gone or hangs.', case r.status when 'open' then 'data'
                                                                          else 'verdict' end, r.worker)),
         array_agg(r.partition_id)
    into ids, tokens, messages, partitions_
    from (select r.run_id, r.token, r.status, r.worker, r.partition_id from partitions.run r
           where r.lease_until < now_ order by r.lease_until limit most for no key update skip locked) r;
end $$;
comment on function partitions.expired(integer) is 'Runs whose lease expired, for the control plane to end.';
