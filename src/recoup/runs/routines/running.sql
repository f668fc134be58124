-- Runs in sets: added, claimed, kept alive, ended. One plan is right for each statement, an index lookup per row, so
-- the others are disabled, and the plan is kept.

create or replace function recovery.add_runs(kinds text[], sources text[], inputs jsonb[], start_ boolean, owner_ text,
  worker_ uuid, out ids uuid[], out tokens uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_same_length('runs', cardinality(kinds), cardinality(sources),
                                     coalesce(cardinality(inputs), cardinality(kinds)));
  with added as (
    insert into recovery.run as r (kind, source, input, status, owner, worker_id, token, created_at, queued_at,
                                   started_at, heartbeat_at)
    select g.kind, coalesce(g.source, g.kind), g.input, case when start_ then 'running' else 'queued' end,
           coalesce(owner_, recoup.acting_id()), worker_, case when start_ then recoup.new_id() end, now_,
           case when not start_ then now_ end, case when start_ then now_ end, case when start_ then now_ end
      from unnest(kinds, sources, inputs) with ordinality g (kind, source, input, place) order by g.place
    returning r.run_id, r.token)
  select array_agg(a.run_id), array_agg(a.token) into ids, tokens from added a;
end $$;
comment on function recovery.add_runs(text[], text[], jsonb[], boolean, text, uuid) is
'Adds runs, queued or running, in the order given. A running one has a token.';

create or replace function recovery.queue_retries(wanted uuid[], candidates uuid[], alternatives jsonb[],
  out retried uuid[], out ids uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_same_length('retries', cardinality(wanted), cardinality(candidates),
                                     coalesce(cardinality(alternatives), cardinality(wanted)));
  with added as (
    insert into recovery.run as r (kind, source, input, status, retry_of, retry_with, candidate_id, owner,
                                   created_at, queued_at)
    select o.kind, o.source, o.input, 'queued', o.run_id, g.alternative, g.candidate, recoup.acting_id(), now_, now_
      from unnest(wanted, candidates, alternatives) g (run_id, candidate, alternative)
      join recovery.run o on o.run_id = g.run_id
    returning r.retry_of, r.run_id)
  select coalesce(array_agg(a.retry_of), '{}'), coalesce(array_agg(a.run_id), '{}') into retried, ids from added a;
  perform recoup.refuse_unknown('run', wanted, retried, 'RC105');
end $$;
comment on function recovery.queue_retries(uuid[], uuid[], jsonb[]) is
'Queues the retry of each run, a copy of its kind, source and input. For the consequence of a candidate only.';

create or replace function recovery.claim_runs(kind_ text, most integer, owner_ text, worker_ uuid,
  out ids uuid[], out tokens uuid[], out sources text[], out inputs jsonb[], out retries uuid[],
  out alternatives jsonb[], out queued timestamptz[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  picked uuid[];
  shut   text[] := '{}';  -- sources behind a breaker
  tried  text[];  -- those of which one run tries it now; of the kind itself: all
  held   record;
begin
  if exists (select from recoup.pause where status = 'PAUSED')
     and (recoup.paused('table:recovery.run')).scope is not null then
    return;
  end if;
  if exists (select from recovery.breaker b where b.status in ('open', 'half_open')) then
    select k.shut @> array[kind_] or t.shut @> '{recovery.run}' as is_shut,
           k.due @> array[kind_] or t.due @> '{recovery.run}' as is_due, s.shut, s.due into held
      from recovery.shut_parts('run_kind', array[kind_], now_) k,
           recovery.shut_parts('table', '{recovery.run}', now_) t, recovery.shut_parts('source', null, now_) s;
    if held.is_shut then
      return;
    end if;
    shut := held.shut;
    if held.is_due then
      tried := '{}';
    elsif exists (select from recovery.run r where r.kind = kind_ and r.status = 'queued'
                     and r.source = any(held.due) and r.source <> all(shut)) then
      tried := held.due;
    else
      shut := shut || held.due;
    end if;
    most := case when tried is null then most else least(most, 1) end;
  end if;
  picked := array(
    select r.run_id from recovery.run r
     where r.kind = kind_ and r.status = 'queued' and r.source <> all(shut)
       and (tried is null or tried = '{}' or r.source = any(tried))
     order by r.queued_at, r.run_id
     limit greatest(most, 0)
       for no key update skip locked);
  if picked = '{}' then
    return;
  end if;
  with claimed as (
    update recovery.run r
       set status = 'running', owner = coalesce(owner_, recoup.acting_id()), worker_id = worker_,
           token = recoup.new_id(), started_at = greatest(now_, r.created_at),
           heartbeat_at = greatest(now_, r.created_at)
     where r.run_id = any(picked) and r.status || '' = 'queued'
    returning r.run_id, r.token, r.source, r.input, r.retry_of, r.retry_with, r.queued_at)
  select array_agg(c.run_id), array_agg(c.token), array_agg(c.source), array_agg(c.input), array_agg(c.retry_of),
         array_agg(c.retry_with), array_agg(c.queued_at)
    into ids, tokens, sources, inputs, retries, alternatives, queued from claimed c;
  if tried is not null and ids is not null then
    -- A run has no lease: silence ends it.
    perform recovery.start_probe(array['run_kind:' || kind_, 'table:recovery.run', 'source:' || sources[1]],
                                 'recovery.run', ids[1]::text, tokens[1], now_ + interval '24 hours', now_);
  end if;
end $$;
comment on function recovery.claim_runs(text, integer, text, uuid) is
'Claims queued runs of a kind, oldest first. Those that another claim holds are skipped. None while runs are paused.';

create or replace function recovery.refuse_over(wanted uuid[], with_tokens uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  bad record;
begin
  perform recoup.refuse_unknown('run', wanted, array(select r.run_id from recovery.run r where r.run_id = any(wanted)),
                                'RC105');
  select r.run_id, r.status, r.crash_reason, r.status = 'running' as held into bad
    from unnest(wanted, with_tokens) g (run_id, token)
    join recovery.run r on r.run_id = g.run_id
   where r.status <> 'running' or g.token is distinct from r.token limit 1;
  if found then
    raise exception using errcode = 'RC102',
      message = format('Run %s %s.', bad.run_id, case
        when bad.held then 'has another token'
        when bad.status = 'crashed' then 'was marked crashed: ' || bad.crash_reason
        when bad.status = 'queued' then 'is queued, and nobody has claimed it'
        else 'has ended: it ' || bad.status end),
      hint = case when bad.held then 'Give the token that its start or its claim returned.'
                  when bad.status = 'crashed' then 'Stop this work: what it reports is stored, and does not count.'
                  when bad.status = 'queued' then 'Claim it first: recoup runs claim --kind KIND'
                  else 'Its history: recoup runs show ' || bad.run_id end,
      detail = jsonb_build_object('run_id', bad.run_id, 'status', bad.status, 'crash_reason', bad.crash_reason);
  end if;
end $$;
comment on function recovery.refuse_over(uuid[], uuid[]) is
'Refuses runs that do not exist, do not run, or have another token.';

create or replace function recovery.heartbeat_runs(wanted uuid[], with_tokens uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  beaten integer;
begin
  perform recoup.require_same_length('heartbeats', cardinality(wanted), cardinality(with_tokens));
  update recovery.run r set heartbeat_at = greatest(r.heartbeat_at, recoup.now())
    from unnest(wanted, with_tokens) g (run_id, token)
   where r.run_id = g.run_id and r.token = g.token and r.status || '' = 'running';
  get diagnostics beaten = row_count;
  if beaten < cardinality(wanted) then
    perform recovery.refuse_over(wanted, with_tokens);
  end if;
  return beaten;
end $$;
comment on function recovery.heartbeat_runs(uuid[], uuid[]) is
'Keeps runs alive, with their tokens. Refused, all of them, if one of them has ended or crashed.';

create or replace function recovery.note_run(run_id_ uuid, token_ uuid, note_ text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  number integer;
begin
  update recovery.run r
     set notes = r.notes + 1, note = note_, heartbeat_at = greatest(r.heartbeat_at, recoup.now())
   where r.run_id = run_id_ and r.token = token_ and r.status || '' = 'running'
  returning r.notes into number;
  if number is null then
    perform recovery.refuse_over(array[run_id_], array[token_]);
  end if;
  return number;
end $$;
comment on function recovery.note_run(uuid, uuid, text) is
'Writes a note of its runner to the trace of a run, and keeps it alive. Returns the number of the note.';

create or replace function recovery.finish_runs(wanted uuid[], with_tokens uuid[], outcomes text[], messages text[],
  results jsonb[], out ids uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform recoup.require_reports(wanted, with_tokens, array_replace(array_replace(outcomes, 'succeeded', 'SUCCEEDED'),
    'failed', 'FAILED'), cardinality(messages), coalesce(cardinality(results), cardinality(wanted)));
  with applied as (
    update recovery.run r
       set status = g.outcome, message = g.message, result = g.result, ended_with = g.token,
           finished_at = greatest(recoup.now(), r.heartbeat_at)
      from unnest(wanted, with_tokens, outcomes, messages, results) g (run_id, token, outcome, message, result)
     where r.run_id = g.run_id and r.token = g.token and r.status || '' = 'running'
    returning r.run_id, r.status)
  select coalesce(array_agg(a.run_id), '{}'), coalesce(array_agg(a.status), '{}') into ids, statuses from applied a;
  if cardinality(ids) = cardinality(wanted) then
    return;
  end if;
  perform recoup.refuse_unknown('run', wanted, array(select r.run_id from recovery.run r where r.run_id = any(wanted)),
                                'RC105');
  -- Reported again, because the answer was lost: the same answer. Otherwise it is late.
  with others as materialized (
    select g.*, r.status, coalesce(r.ended_with = g.token and r.status = g.outcome, false) as is_again
      from unnest(wanted, with_tokens, outcomes, messages, results) g (run_id, token, outcome, message, result)
      join recovery.run r on r.run_id = g.run_id
     where g.run_id <> all(ids)),
  stored as (
    insert into recoup.late_result (subject, unit_id, token, result)
    select 'recovery.run', o.run_id::text, o.token,
           jsonb_build_object('status', o.outcome, 'message', o.message, 'result', o.result)
      from others o where not o.is_again)
  select ids || array_agg(o.run_id), statuses || array_agg(case when o.is_again then o.status else 'late' end)
    into ids, statuses from others o;
end $$;
comment on function recovery.finish_runs(uuid[], uuid[], text[], text[], jsonb[]) is
'Ends runs, succeeded and failed alike, with their tokens. Late results are stored, and come back as late.';
