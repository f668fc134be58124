-- What the checks of an attempt found, recorded before it ends. Its outcome then points at it: evidence:<attempt_id>.

create or replace function cl.has_evidence(attempt uuid, payload_ref text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select payload_ref = 'evidence:' || attempt
     and exists (select from cl.gate_zero_evidence e where e.attempt_id = attempt)
$$;
comment on function cl.has_evidence(uuid, text) is
'Whether a payload_ref points at evidence of this attempt that is recorded.';

create or replace function cl.rule_evidence_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_  constant timestamptz := recoup.now();
  began constant timestamptz := recoup.statement_time();
  bad   record;
begin
  -- LATERAL with a limit: one lookup per row, in a plan that may be kept.
  select n.attempt_id, n.recorded_at, a.status into bad
    from new_rows n
    left join lateral (select a.status from cl.gate_zero_attempt a where a.attempt_id = n.attempt_id limit 1) a on true
   where a.status is distinct from 'open' or not recoup.is_now(n.recorded_at, began, now_) limit 1;
  if found then
    raise exception using errcode = case when bad.status is distinct from 'open' then 'RC066' else 'RC026' end,
      message = case when bad.status is distinct from 'open'
                     then format('Attempt %s is %s: evidence is recorded while it is open.', bad.attempt_id,
                                 coalesce(bad.status, 'unknown'))
                     else format('The evidence of attempt %s has the time %s, which is not now.', bad.attempt_id,
                                 bad.recorded_at) end,
      hint = case when bad.status is distinct from 'open' then 'Report evidence together with the outcome.'
                  else 'Take recorded_at from recoup.now().' end,
      detail = jsonb_build_object('attempt_id', bad.attempt_id, 'status', bad.status, 'now', now_);
  end if;
  return null;
end $$;
comment on function cl.rule_evidence_births() is 'Evidence is recorded now, and while its attempt is open.';

create or replace function cl.record_evidence(attempts uuid[], tokens uuid[], numbers integer[], names text[],
  findings text[], messages text[], durations integer[], out recorded uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ timestamptz;
begin
  perform recoup.require_same_length('evidence', cardinality(attempts), cardinality(tokens), cardinality(numbers),
    cardinality(names), cardinality(findings), cardinality(messages), cardinality(durations));
  -- The locks of cl.finish_attempts, in the same order: these attempts stay open until their outcome is written.
  perform from (select distinct a.intake_id
                  from unnest(attempts) g (attempt_id)
                 cross join lateral (select a.intake_id from cl.gate_zero_attempt a
                                      where a.attempt_id = g.attempt_id limit 1) a
                 order by a.intake_id) a
   cross join lateral (select from cl.gate_zero_intake i where i.intake_id = a.intake_id limit 1 for no key update) i;
  now_ := recoup.now();
  with made as (
    insert into cl.gate_zero_evidence (attempt_id, check_number, check_name, finding, message, duration_ms, recorded_at)
    select g.attempt_id, g.number, g.name, g.finding, g.message, g.duration, now_
      from unnest(attempts, tokens, numbers, names, findings, messages, durations)
             g (attempt_id, token, number, name, finding, message, duration)
     cross join lateral (
       select from cl.gate_zero_attempt a
        where a.attempt_id = g.attempt_id and a.token = g.token and a.status || '' = 'open' and a.lease_until > now_
        limit 1) a
    returning attempt_id)
  select coalesce(array_agg(distinct m.attempt_id), '{}') into recorded from made m;
end $$;
comment on function cl.record_evidence(uuid[], uuid[], integer[], text[], text[], text[], integer[]) is
'Records what the checks of open attempts found, one row per check; returns the attempts whose evidence was recorded. '
'An attempt that has ended, or whose lease has expired, is left out.';
