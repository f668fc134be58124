-- What actions make in this database, each as a consequence of the candidate's own move. They act as the tables' owner,
-- for the executor, and take subject and parameters from the candidate, never from a caller.

create or replace function recovery.retry_errors(ids uuid[], refs text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  changed integer;
begin
  -- As unparking does: one more retry than it has had, now, without a window.
  with t as materialized (select recoup.now() as now_, recoup.error_policy() as policy),
  heads as materialized (
    select h.error_table, h.error_id,
           (select c.parameters -> 'alternative' from recovery.candidate c
             where c.candidate_id = g.id and c.action_type = 'fallback') as alternative
      from unnest(ids, refs) g (id, ref)
      join recovery.error_heads(refs) h on h.ref = g.ref order by h.error_table, h.error_id)
  update recoup.error e
     set status = 'RETRY_PENDING', disposition = 'RETRY', max_retries = greatest(e.max_retries, e.retry_count + 1),
         next_retry_at = t.now_, retry_until = null,
         expires_at = greatest(e.expires_at, recoup.kept_until(e.ttl_tier, t.now_, t.policy)),
         parked_at = null, parked_by = null, park_reason = null,
         parked_since = coalesce(e.parked_since, e.parked_at),
         retry_with = h.alternative, updated_at = greatest(e.updated_at, t.now_)
    from t, heads h
   where e.error_table = h.error_table and e.error_id = any(array[h.error_id])
     and e.status in ('PARKED', 'ESCALATED') and num_nulls(e.archived_at) = 1;
  get diagnostics changed = row_count;
  return changed;
end $$;
comment on function recovery.retry_errors(uuid[], text[]) is
'The actions retry and fallback, for parked errors: requeued, with the alternative, if there is one.';

create or replace function recovery.skip_errors(ids uuid[], refs text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  changed integer;
begin
  with t as materialized (select recoup.now() as now_),
  heads as materialized (
    select h.error_table, h.error_id from recovery.error_heads(refs) h order by h.error_table, h.error_id)
  update recoup.error e
     set archived_at = t.now_, archive_reason = 'MANUAL', updated_at = greatest(e.updated_at, t.now_)
    from t, heads h
   where e.error_table = h.error_table and e.error_id = any(array[h.error_id])
     and e.status in ('PARKED', 'ESCALATED') and num_nulls(e.archived_at) = 1;
  get diagnostics changed = row_count;
  return changed;
end $$;
comment on function recovery.skip_errors(uuid[], text[]) is
'The action skip, for parked errors: archived by hand, so that the entity may move on.';

create or replace function recovery.is_at_highest_tier(ref text) returns boolean
language sql stable as $$
  select coalesce(bool_or(e.escalation_level >= 3), false)
    from recovery.error_heads(array[ref]) h
    join recoup.error e on e.error_table = h.error_table and e.error_id = h.error_id
$$;
comment on function recovery.is_at_highest_tier(text) is
'Whether there is no tier to which an error could be escalated.';

create or replace function recovery.escalate_errors(ids uuid[], refs text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  changed integer;
begin
  -- Parking is the first tier. Only a person's approval makes its status ESCALATED. Without an owner it goes to that of
  -- the next tier.
  with t as materialized (select recoup.now() as now_, recoup.error_policy() as policy),
  heads as materialized (
    select h.error_table, h.error_id, c.parameters ->> 'owner' as owner, c.action_name, c.decided_at is not null
             as is_approved
      from unnest(ids, refs) g (id, ref)
      join recovery.error_heads(refs) h on h.ref = g.ref
     cross join lateral (select c.* from recovery.candidate c where c.candidate_id = g.id limit 1) c
     order by h.error_table, h.error_id)
  update recoup.error e
     set status = case when h.is_approved then 'ESCALATED' else e.status end,
         escalation_level = greatest(e.escalation_level, 1) + 1, escalated_at = t.now_,
         escalated_to = coalesce(h.owner,
                                 recoup.tier_owner(e.error_table, greatest(e.escalation_level, 1) + 1, t.policy)),
         escalation_reason = 'recovery: ' || h.action_name, parked_since = coalesce(e.parked_since, e.parked_at),
         sla_due_at = t.now_ + recoup.sla_of(greatest(e.escalation_level, 1) + 1, t.policy), sla_met_at = null,
         sla_breached_at = null, updated_at = greatest(e.updated_at, t.now_)
    from t, heads h
   where e.error_table = h.error_table and e.error_id = any(array[h.error_id])
     and e.status in ('PARKED', 'ESCALATED') and num_nulls(e.archived_at) = 1 and e.escalation_level < 3;
  get diagnostics changed = row_count;
  return changed;
end $$;
comment on function recovery.escalate_errors(uuid[], text[]) is
'The action escalate, for parked errors: the next tier and its owner; with an approval, also the status.';

create or replace function recovery.retry_intakes(ids uuid[], refs text[], keys text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  made integer;
begin
  insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, linkedin_url, state, retry_of,
                                   created_at, updated_at)
  select g.key::uuid, i.batch_id, i.company_name, i.company_domain, i.linkedin_url, i.state, i.intake_id, t.now_, t.now_
    from unnest(refs, keys) g (ref, key)
   cross join (select recoup.now() as now_) t
   cross join lateral (select i.* from cl.gate_zero_intake i where i.intake_id = g.ref::uuid limit 1) i;
  get diagnostics made = row_count;
  return made;
end $$;
comment on function recovery.retry_intakes(uuid[], text[], text[]) is
'The action retry, for exhausted intakes: a new intake, once per lineage.';

create or replace function recovery.retry_runs(ids uuid[], refs text[], keys text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  made integer;
begin
  -- Of the newest run of the chain; it must have ended.
  insert into recovery.run (run_id, kind, source, input, status, retry_of, retry_with, candidate_id, owner, queued_at,
                            created_at)
  select g.key::uuid, r.kind, r.source, r.input, 'queued', r.run_id,
         (select c.parameters -> 'alternative' from recovery.candidate c
           where c.candidate_id = g.id and c.action_type = 'fallback'), g.id, 'recovery', t.now_, t.now_
    from unnest(ids, refs, keys) g (id, ref, key)
   cross join (select recoup.now() as now_) t
   cross join lateral (select s.unit from recovery.standings(array['run'], array[g.ref]) s
                        where s.standing = 'failed' limit 1) s
   cross join lateral (select r.* from recovery.run r where r.run_id = s.unit::uuid limit 1) r;
  get diagnostics made = row_count;
  return made;
end $$;
comment on function recovery.retry_runs(uuid[], text[], text[]) is
'The actions retry and fallback, for crashed runs: a new run; with the alternative, if there is one.';

create or replace function recovery.requeue_partitions(ids uuid[], refs text[], verb text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- The control plane moves their schedules as the consequence of these requests, and logs who approved them.
  return (
    select partitions.request(array_agg(g.id), array_agg(g.ref::bigint), array_agg(verb),
             array_agg(case when c.action_type = 'fallback' then c.parameters -> 'alternative' end),
             array_agg(c.decided_by))
      from unnest(ids, refs) g (id, ref)
     cross join lateral (select c.* from recovery.candidate c where c.candidate_id = g.id limit 1) c);
end $$;
comment on function recovery.requeue_partitions(uuid[], text[], text) is
'The actions retry and fallback, for terminal partitions: requeued; and skip: marked, so that the gap is accepted.';

create or replace function recovery.notify_of(ids uuid[], keys text[], incidents uuid[], actions text[],
  parameters jsonb[], matches uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- One open delivery for each incident, action and route: further candidates join it and await the same.
  insert into recoup.delivery (delivery_id, route, subject, body, about, dedup_key, origin, candidate_id)
  select distinct on (g.key) g.key::uuid, g.parameters ->> 'route',
         format('Recovery: %s failed (%s)', m.source, m.error_signature),
         jsonb_build_object('incident_id', g.incident, 'failure_match_id', g.match, 'source', m.source,
           'error_code', m.error_code, 'error_message', left(m.error_message, 2000), 'action', g.action),
         g.incident::text, recovery.delivery_key(g.incident, g.action, g.parameters), 'candidate', g.id
    from unnest(ids, keys, incidents, actions, parameters, matches) g (id, key, incident, action, parameters, match)
   cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = g.match limit 1) m
   where not exists (select from recoup.delivery d where d.delivery_id = g.key::uuid)
   order by g.key, g.id
  on conflict do nothing;
  -- The one that each awaits is open, and theirs.
  return (select count(*) from unnest(keys, incidents, actions, parameters) k (key, incident, action, parameters)
           cross join lateral (
             select from recoup.delivery d
              where d.delivery_id = k.key::uuid and d.status = 'queued'
                and d.dedup_key = recovery.delivery_key(k.incident, k.action, k.parameters) limit 1) d);
end $$;
comment on function recovery.notify_of(uuid[], text[], uuid[], text[], jsonb[], uuid[]) is
'The action notify: a delivery in the outbox.';

create or replace function recovery.delivery_key(incident uuid, action text, parameters jsonb) returns text
language sql immutable as $$ select format('recovery/%s/%s/%s', incident, action, parameters ->> 'route') $$;
comment on function recovery.delivery_key(uuid, text, jsonb) is 'What is delivered once while it is open.';

create or replace function recovery.ask_people(ids uuid[], keys text[], incidents uuid[], actions text[],
  parameters jsonb[], matches uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into recovery.task (task_id, incident_id, action_name, owner, subject, due_at, created_at)
  select distinct on (g.key) g.key::uuid, g.incident, g.action, g.parameters ->> 'owner',
         format('%s failed: %s', m.source, left(m.error_message, 1000)),
         t.now_ + make_interval(hours => (g.parameters ->> 'due_hours')::integer), t.now_
    from unnest(ids, keys, incidents, actions, parameters, matches) g (id, key, incident, action, parameters, match)
   cross join (select recoup.now() as now_) t
   cross join lateral (select m.* from recovery.failure_match m where m.failure_match_id = g.match limit 1) m
   where not exists (select from recovery.task d where d.task_id = g.key::uuid)
   order by g.key, g.id
  on conflict do nothing;
  return (select count(*) from unnest(keys, incidents, actions, parameters) k (key, incident, action, parameters)
           cross join lateral (
             select from recovery.task d
              where d.task_id = k.key::uuid and d.status = 'open' and d.incident_id = k.incident
                and d.action_name = k.action and d.owner = k.parameters ->> 'owner' limit 1) d);
end $$;
comment on function recovery.ask_people(uuid[], text[], uuid[], text[], jsonb[], uuid[]) is
'The action manual: a task for a person, with a due time.';

create or replace function recovery.review_errors(refs text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  with t as materialized (select recoup.now() as now_),
  heads as materialized (
    select h.error_table, h.error_id from recovery.error_heads(refs) h order by h.error_table, h.error_id)
  update recoup.error e
     set last_reviewed_at = t.now_,
         sla_met_at = recoup.sla_met(e.status, e.sla_due_at, e.sla_met_at, e.sla_breached_at, t.now_),
         updated_at = greatest(e.updated_at, t.now_)
    from t, heads h
   where e.error_table = h.error_table and e.error_id = any(array[h.error_id])
     and e.status in ('PARKED', 'ESCALATED') and num_nulls(e.archived_at) = 1;
end $$;
comment on function recovery.review_errors(text[]) is 'The decision on a candidate is a review of its error.';

create or replace function recovery.review_errors_of(matches uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if matches is not null then
    perform recovery.review_errors(array(
      select m.subject_ref from recovery.failure_match m where m.failure_match_id = any(matches)));
  end if;
end $$;
comment on function recovery.review_errors_of(uuid[]) is 'Reviews the errors of these matches.';
