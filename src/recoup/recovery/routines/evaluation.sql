-- Evaluations: claimed from the queue of matches, ended in sets. Whatever happens to a match, its candidates, scopes or
-- subject wakes it; an evaluation decides from the rows.

create or replace function recovery.end_evaluations(
  units uuid[], tokens uuid[], outcomes text[], failures text[],
  targets text[] default null, reasons text[] default null, next_at timestamptz[] default null,
  seen_wakes integer[] default null,
  out ended uuid[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recovery.policy();
  most   constant integer := (policy ->> 'evaluation_failures_max')::integer;
begin
  perform recoup.require_reports(units, tokens, outcomes, cardinality(failures),
    coalesce(cardinality(targets), cardinality(units)), coalesce(cardinality(reasons), cardinality(units)),
    coalesce(cardinality(next_at), cardinality(units)), coalesce(cardinality(seen_wakes), cardinality(units)));
  with applied as (
    update recovery.failure_match m
       set status = d.status, evaluation_no = m.evaluation_no + 1, token = g.token,
           -- What stays stuck keeps why: an operator looks for it by its failures.
           evaluation_failures = case when g.failed then m.evaluation_failures + 1
                                      when d.status = 'stuck' then m.evaluation_failures else 0 end,
           last_failure = case when g.failed then g.failure when d.status = 'stuck' then m.last_failure end,
           end_reason = case when d.status in ('recovered', 'accepted', 'unrecovered')
                             then case when g.failed then 'EVALUATION_FAILED' else g.reason end end,
           ended_at = case when d.status in ('recovered', 'accepted', 'unrecovered') then now_ end,
           recovered_at = case when d.status = 'recovered' then now_ end,
           evaluate_at = case
             when d.status in ('recovered', 'accepted', 'unrecovered') then recoup.never()
             when d.status = 'stuck' and g.failed then greatest(m.match_until, now_ + interval '1 hour')
             -- Woken since it was claimed: what woke it may not have been seen.
             when m.wakes is distinct from coalesce(g.wakes, m.wakes) then now_
             when g.failed then now_ + make_interval(secs => least(3600, 5 * power(2, m.evaluation_failures)))
             -- A deadline may be farther than a match may wait: then it is evaluated before, too.
             else least(coalesce(g.next_at, now_), greatest(m.match_until, now_) + interval '366 days') end,
           updated_at = greatest(m.updated_at, now_)
      from (select g.*, g.outcome <> 'SUCCEEDED' as failed
              from unnest(units, tokens, outcomes, failures,
                     coalesce(targets, array_fill(null::text, array[cardinality(units)])),
                     coalesce(reasons, array_fill(null::text, array[cardinality(units)])),
                     coalesce(next_at, array_fill(null::timestamptz, array[cardinality(units)])),
                     coalesce(seen_wakes, array_fill(null::integer, array[cardinality(units)])))
                   g (unit, token, outcome, failure, target, reason, next_at, wakes)) g
      join recovery.match_queue q on q.unit = g.unit and q.token = g.token
           and (q.wake_at >= now_ or g.outcome = 'LAPSED')
     cross join lateral (
       select m.status as was, m.match_until <= now_ and not exists (
                select from recovery.candidate c
                 where c.failure_match_id = m.failure_match_id and c.finished_at is null) as is_over
         from recovery.failure_match m where m.failure_match_id = g.unit limit 1) w
     cross join lateral (
       select case when not g.failed then case when w.was = 'stuck' and g.target in ('new', 'evaluated') then 'stuck'
                                               else coalesce(g.target, w.was) end
                   -- Nothing waits for ever, also if nobody resumes it.
                   when w.was = 'stuck' then case when w.is_over then 'unrecovered' else 'stuck' end
                   when (select m.evaluation_failures + 1 >= most from recovery.failure_match m
                          where m.failure_match_id = g.unit limit 1) then 'stuck'
                   else w.was end as status) d
     where m.failure_match_id = any(array[g.unit]) and m.evaluation_no = q.round and num_nulls(m.ended_at) = 1
    returning m.failure_match_id, m.status)
  select coalesce(array_agg(a.failure_match_id), '{}'), coalesce(array_agg(a.status), '{}') into ended, statuses
    from applied a;
  if cardinality(ended) < cardinality(units) then
    select * into ended, statuses
      from recovery.late_failure_match_reports(units, tokens, outcomes, failures, ended, statuses);
  end if;
end $$;
comment on function recovery.end_evaluations(
  uuid[], uuid[], text[], text[], text[], text[], timestamptz[], integer[]) is
'Ends evaluations: what each match is now, why, and when it is evaluated again; five failures in a row make it stuck.';

create or replace function recovery.wake_matches(ids uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_  constant timestamptz := recoup.now();
  woken integer;
begin
  with held as materialized (
    select m.failure_match_id
      from (select distinct i.id from unnest(ids) i (id) order by i.id) i
     cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = i.id limit 1
                            for no key update) m
     where m.ended_at is null)
  update recovery.failure_match m
     set wakes = m.wakes + 1, evaluate_at = least(m.evaluate_at, now_), updated_at = greatest(m.updated_at, now_)
    from held h where m.failure_match_id = any(array[h.failure_match_id]);
  get diagnostics woken = row_count;
  return woken;
end $$;
comment on function recovery.wake_matches(uuid[]) is 'Makes open matches due for evaluation now.';

create or replace function recovery.kept_errors(error_table_ text, ids bigint[], now_ timestamptz) returns bigint[]
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  -- An open candidate, an evaluation that is due, or a started unit that has not ended, which is what one awaits.
  select array(
    select l.id
      from unnest(ids) l (id)
     where exists (
       select from recovery.failure_match m
        where m.subject_ref = error_table_ || '/' || l.id and m.subject_kind = 'error' and m.ended_at is null
          and (m.evaluate_at <= now_
               or exists (select from recovery.candidate c
                           where c.failure_match_id = m.failure_match_id and c.finished_at is null))))
$$;
revoke execute on function recovery.kept_errors(text, bigint[], timestamptz) from public;
grant execute on function recovery.kept_errors(text, bigint[], timestamptz) to recoup_reader;
comment on function recovery.kept_errors(text, bigint[], timestamptz) is
'Lineages of errors that recovery works on: their errors are not archived yet, although they have expired.';
