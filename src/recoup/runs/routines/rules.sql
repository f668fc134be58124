-- What a run may be born as, and which moves it may make. A run begins, beats and ends now; it is marked crashed only
-- when it is silent or its worker is gone; and a retry is a copy of a run that failed or crashed.

create or replace function recovery.run_policy() returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'queued_within_hours', coalesce((p.figures -> 'runs' ->> 'queued_within_hours')::integer, 24),
    -- While claims are paused nobody can claim: the time begins again when they are resumed.
    'paused', (recoup.paused('table:recovery.run')).scope is not null,
    'resumed_at', (select max(s.changed_at) from recoup.pause s
                    where s.scope = 'global' or s.scope = 'table' and s.scope_id = 'recovery.run'))
    from recoup.policy p order by p.version desc limit 1
$$;
comment on function recovery.run_policy() is 'What the rules of runs read: values of the policy, and pauses.';

create or replace function recovery.last_claim(kind_ text) returns timestamptz
language sql stable as $$
  select r.started_at from recovery.run r
   where r.kind = kind_ and r.queued_at is not null and r.started_at is not null
   order by r.started_at desc limit 1
$$;
comment on function recovery.last_claim(text) is 'When a queued run of this kind was last claimed.';

create or replace function recovery.was_shut(kind_ text, source_ text, since timestamptz) returns boolean
language sql stable as $$
  select exists (select from recovery.breaker b
                  where b.parts && array['run_kind:' || kind_, 'source:' || source_, 'table:recovery.run']
                    and (b.status in ('open', 'half_open') or b.closed_at > since))
$$;
comment on function recovery.was_shut(text, text, timestamptz) is
'Whether runs of a kind and source were behind a breaker at some time since.';

create or replace function recovery.is_orphaned(o recovery.run, now_ timestamptz, policy jsonb) returns boolean
language sql stable as $$
  -- A run that sent a heartbeat after its worker had ended is alive: then only its own silence counts.
  select exists (select from recoup.worker w
                  where w.worker_id = o.worker_id and w.status <> 'running'
                    and (o.heartbeat_at is null or o.heartbeat_at <= w.ended_at))
      or case o.status
           when 'running' then o.heartbeat_at <= now_ - interval '60 seconds'
           else not (policy ->> 'paused')::boolean
                and not recovery.was_shut(o.kind, o.source,
                                          now_ - make_interval(hours => (policy ->> 'queued_within_hours')::integer))
                and greatest(o.queued_at, recovery.last_claim(o.kind), (policy ->> 'resumed_at')::timestamptz)
                    <= now_ - make_interval(hours => (policy ->> 'queued_within_hours')::integer) end
$$;
comment on function recovery.is_orphaned(recovery.run, timestamptz, jsonb) is
'Whether a run may be marked crashed: its worker is gone, it has been silent for a minute at least, or nobody claims its
kind.';

create or replace function recovery.run_move_broken(
  o recovery.run, n recovery.run, now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  select coalesce(
    case when n.status = 'crashed' and not recovery.is_orphaned(o, now_, policy) then 'orphaned' end,
    case when o.status = 'queued' and n.status = 'running' then
           case when n.started_at <> n.heartbeat_at then 'times' when n.notes <> o.notes then 'notes' end
         when (n.owner, n.worker_id) is distinct from (o.owner, o.worker_id) then 'owner'
         when n.ended_with <> o.token then 'token'
         when n.notes = o.notes and n.note is distinct from o.note
              or n.notes <> o.notes and (n.notes <> o.notes + 1 or n.note is null or n.status <> 'running')
           then 'notes' end,
    -- Now: not before this statement began. After a clock was set back, the only time left may be the last one.
    case when exists (
           select from (values (o.started_at, n.started_at), (o.heartbeat_at, n.heartbeat_at),
                               (o.finished_at, n.finished_at)) t (was, told)
            where t.told is distinct from t.was
              and t.told not between least(now_, recoup.statement_time())
                                 and greatest(now_ + interval '10 microseconds', o.heartbeat_at, o.created_at))
         then 'times' end)
$$;
comment on function recovery.run_move_broken(recovery.run, recovery.run, timestamptz, text, jsonb) is
'The rule that a move of a run breaks (recovery.run_move_refusal), or null.';

create or replace function recovery.run_move_refusal(code text, o recovery.run, n recovery.run,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select case code when 'orphaned' then 'RC103' when 'times' then 'RC101' else 'RC104' end,
         format('Run %s: ', o.run_id) || case code
           when 'orphaned' then format(
             case o.status when 'running' then 'its last heartbeat was at %s: it has not crashed.'
                           else 'it was queued at %s, and may still be claimed.' end,
             coalesce(o.heartbeat_at, o.queued_at))
           when 'times' then 'it starts, beats and ends now, and at no other time.'
           when 'owner' then 'its owner changes when it is claimed, and at no other time.'
           when 'token' then 'it is ended with its token.'
           else 'a note is counted, and written while it runs.' end,
         case code
           when 'orphaned' then 'Wait until it is silent: recoup runs orphans lists what would be marked.'
           when 'times' then 'Take times from recoup.now().'
           when 'token' then 'Give its token in ended_with.'
           else 'Use the verbs: recoup runs --help.' end,
         jsonb_build_object('run_id', o.run_id, 'why', code, 'from', o.status, 'to', n.status, 'now', recoup.now())
$$;
comment on function recovery.run_move_refusal(text, recovery.run, recovery.run) is
'The refusal of a move that breaks a rule of recovery.run_move_broken.';

create or replace function recovery.rule_run_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- look-ups along a key, for any number of rows
as $$
declare
  now_  constant timestamptz := recoup.now();
  began constant timestamptz := recoup.statement_time();
  role_ constant text := recoup.acting_role();
  bad   record;
begin
  select found.* into bad from (
    select n.run_id, n.retry_of, w.status as worker_status, o.status as retried_status,
           case when not recoup.is_now(n.created_at, began, now_)
                     or coalesce(n.queued_at, n.started_at) <> n.created_at
                     or n.status = 'running' and (n.queued_at is not null or n.heartbeat_at <> n.created_at)
                  then 'times'
                when n.notes <> 0 or n.note is not null then 'notes'
                when n.worker_id is not null and w.status is distinct from 'running' then 'worker'
                when n.retry_of is null then case when n.retry_with is not null then 'retry' end
                when role_ <> 'recoup_executor' then 'retry'
                when o.status is null or o.status not in ('failed', 'crashed') then 'retried'
                when (n.kind, n.source, n.input) is distinct from (o.kind, o.source, o.input) then 'copy' end as why
      from new_rows n
      left join lateral (select w.status from recoup.worker w where w.worker_id = n.worker_id limit 1) w on true
      left join lateral (select r.status, r.kind, r.source, r.input from recovery.run r
                          where r.run_id = n.retry_of limit 1) o on true) found
   where found.why is not null limit 1;
  if bad.why is not null then
    raise exception using errcode = case bad.why when 'times' then 'RC101' else 'RC100' end,
      message = format('Run %s: ', bad.run_id) || case bad.why
        when 'times' then 'it is created now, and at no other time.'
        when 'notes' then 'it begins without notes.'
        when 'worker' then format('its worker is %s.', coalesce(bad.worker_status, 'unknown'))
        when 'retry' then 'only a recovery candidate retries a run.'
        when 'retried' then format('run %s is %s, and is not retried.', bad.retry_of,
                                   coalesce(bad.retried_status, 'unknown'))
        else format('a retry has the kind, the source and the input of run %s.', bad.retry_of) end,
      hint = case bad.why
        when 'times' then 'Take times from recoup.now().'
        when 'notes' then 'Write notes once it runs: recoup runs note.'
        when 'worker' then 'Give the id of a worker that runs, or none.'
        when 'retry' then 'Leave retry_of, retry_with and candidate_id empty.'
        when 'retried' then 'Only a failed or crashed run is retried.'
        else 'Copy them from that run.' end,
      detail = jsonb_build_object('run_id', bad.run_id, 'why', bad.why, 'retry_of', bad.retry_of, 'now', now_);
  end if;
  return null;
end $$;
comment on function recovery.rule_run_births() is
'A run is created now; its worker runs; a retry is the copy of a run that failed or crashed.';
