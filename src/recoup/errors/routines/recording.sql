-- Recording, in sets: one call of one function, whose plans are kept.
--
-- One plan is right for each statement here: an index lookup per row. So scans and hash joins are disabled, here and
-- in all that is called from here, and the plan is kept. Updated rows are found by error_id = any(array[...]), which
-- cannot be merged: for a table that was vacuumed while it was empty, the planner estimates reading a whole index as
-- cheap as a lookup. Rows come as one array per column: an array of composites takes four times as long.

create or replace function recoup.lock_open_errors(
  places integer[], entities uuid[], signatures text[], work_keys text[], later integer[], tables text[],
  tiers text[], policy jsonb, now_ timestamptz,
  out by_row bigint[], out of_table text[], out ids bigint[], out expired boolean[])
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  table_    text;
  of_rows   bigint[];  -- rows of the call whose failure is open in this table …
  open_ones bigint[];  -- … and its errors
begin
  -- In the order of tables and ids, as in every transaction that locks several. One table after the other, each planned
  -- for its present size: a plan from the time when a table was empty read all of it for each row. Mostly nothing is
  -- open, and a query on the partition itself takes a third of the time of planning for the parent.
  for table_ in
    select distinct t.name from unnest(tables, tiers) t (name, tier) where t.tier <> 'INFINITE' order by 1
  loop
    execute format($look$
      select array_agg(u.place order by e.error_id), array_agg(e.error_id order by e.error_id)
        from unnest($1, $2, $3, $4, $5) with ordinality u (decision, entity, signature, work_key, later, place)
       cross join lateral (
         select e.error_id from %s e
          where e.outreach_id = u.entity and e.error_signature = u.signature
            and coalesce(e.work_key, '') = coalesce(u.work_key, '') and e.archived_at is null limit 1) e
       where u.later is null and ($6)[u.decision] = $7 $look$, table_::regclass)
      into of_rows, open_ones using places, entities, signatures, work_keys, later, tables, table_;
    continue when open_ones is null;
    execute format($look$
      select $5 || array_agg(f.place), $6 || array_agg(f.error_table), $7 || array_agg(f.error_id),
             $8 || array_agg(f.expired)
        from (select r.place, e.error_table, e.error_id, coalesce(recoup.may_expire(e, $3, $4), false) as expired
                from unnest($1, $2) r (place, error_id)
               cross join lateral (
                 select e.* from recoup.error e where e.error_table = %L and e.error_id = r.error_id
                  limit 1 for no key update) e
                -- After the error, as in every transaction that locks both: then it cannot be claimed.
                left join lateral (
                  select from recoup.error_queue q
                   where e.status = 'RETRY_PENDING' and q.unit = e.error_id limit 1 for no key update) q on true
               where e.archived_at is null) f $look$, table_)
      into by_row, of_table, ids, expired
      using of_rows, open_ones, now_, policy, by_row, of_table, ids, expired;
  end loop;
end $$;
comment on function recoup.lock_open_errors(
  integer[], uuid[], text[], text[], integer[], text[], text[], jsonb, timestamptz) is
'Locks the open errors of the failures of a call; for each, the row of the call that supersedes it. Null: none.';

create or replace function recoup.supersede_errors(
  by_row bigint[], of_table text[], ids bigint[], expired boolean[],
  new_ids bigint[], now_ timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update recoup.error e
     set archived_at = now_, updated_at = greatest(e.updated_at, now_),
         archive_reason = case when o.expired then 'TTL_EXPIRED' else 'SUPERSEDED' end,
         superseded_by = case when not o.expired then new_ids[o.place] end,
         -- A retry that is under way ends, and counts.
         retry_count = e.retry_count + (q.token is not null)::integer,
         last_retry_at = coalesce(q.claimed_at, e.last_retry_at),
         last_outcome = case when q.token is not null then 'FAILED' else e.last_outcome end,
         last_failure = case when q.token is not null then 'superseded by error ' || new_ids[o.place]
                             else e.last_failure end,
         token = coalesce(q.token, e.token), next_retry_at = null
    from unnest(by_row, of_table, ids, expired) o (place, error_table, error_id, expired)
    left join recoup.error_queue q on q.unit = o.error_id
   where e.error_table = o.error_table and e.error_id = any(array[o.error_id]);
end $$;
comment on function recoup.supersede_errors(
  bigint[], text[], bigint[], boolean[], bigint[], timestamptz) is
'Closes what recoup.lock_open_errors found: superseded by the new error, or expired if it expired before.';

create or replace function recoup.inherited(by_row bigint[], of_table text[], ids bigint[])
returns table (
  heir bigint, old_lineage bigint, was_parked boolean, was_escalated boolean, was_retried boolean,
  old_created_at timestamptz, old_tier text, old_expires_at timestamptz,
  old_retry_count integer, old_max_retries integer, old_retry_until timestamptz,
  last_retry_at timestamptz, last_outcome text, last_failure text,
  old_parked_at timestamptz, old_parked_by text, old_park_reason text,
  assigned_to text, last_reviewed_at timestamptz,
  old_level integer, old_escalated_at timestamptz, old_owner text, old_reason text,
  old_parked_since timestamptz, old_due_at timestamptz, old_met_at timestamptz, old_breached_at timestamptz)
language sql stable as $$
  -- STABLE, and one SELECT: otherwise it is not inlined. LIMIT, for one lookup each.
  select h.heir, coalesce(e.lineage_id, e.error_id), s.was_parked, e.status = 'ESCALATED', s.was_retried,
         case when s.goes_on then e.created_at end, case when s.goes_on then e.ttl_tier end,
         case when s.goes_on then e.expires_at end,
         e.retry_count, case when s.goes_on then e.max_retries end, e.retry_until,
         e.last_retry_at, e.last_outcome, e.last_failure,
         case when s.was_parked then e.parked_at end, case when s.was_parked then e.parked_by end,
         case when s.was_parked then e.park_reason end,
         -- Without inherited age, a review would be before the first failure of the newer error.
         e.assigned_to, case when s.goes_on then e.last_reviewed_at end,
         case when s.goes_on then e.escalation_level end, case when s.goes_on then e.escalated_at end,
         case when s.goes_on then e.escalated_to end, case when s.goes_on then e.escalation_reason end,
         case when s.goes_on then coalesce(e.parked_since, e.parked_at) end,
         case when s.goes_on then e.sla_due_at end, case when s.goes_on then e.sla_met_at end,
         case when s.goes_on then e.sla_breached_at end
    from unnest(by_row, of_table, ids) h (heir, error_table, error_id)
   cross join lateral (
     select e.* from recoup.error e where e.error_table = h.error_table and e.error_id = h.error_id limit 1) e
   cross join lateral (
     select e.status in ('PARKED', 'ESCALATED') as was_parked, e.status = 'RETRY_PENDING' as was_retried,
            -- An error that was never to be retried passes on no age, window or tier; one that was retried does.
            e.status <> 'ACTIVE' or e.retry_count > 0
              or coalesce(e.park_reason in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED'), false) as goes_on) s
   where e.superseded_by is not null
$$;
comment on function recoup.inherited(bigint[], text[], bigint[]) is
'What a row of the call inherits from the error that it superseded (recoup.supersede_errors).';

create or replace function recoup.lineages_of_call(
  new_ids bigint[], later integer[], by_row bigint[], of_table text[], old_ids bigint[]) returns bigint[]
language plpgsql as $$
declare
  count_   constant integer := cardinality(later);
  newest   integer[] := array_fill(null::integer, array[count_]);  -- of each row, the last one of its failure
  lineages bigint[] := array_fill(null::bigint, array[count_]);
  old      record;
begin
  -- From the end: rows are superseded by later ones. What stays is the id of the first of each failure.
  for place in reverse count_ .. 1 loop
    newest[place] := coalesce(newest[later[place]], place);
    lineages[newest[place]] := new_ids[place];
  end loop;
  for old in select i.heir::integer as place, i.old_lineage from recoup.inherited(by_row, of_table, old_ids) i loop
    lineages[old.place] := old.old_lineage;
  end loop;
  for place in 1 .. count_ loop
    lineages[place] := lineages[newest[place]];
  end loop;
  return lineages;
end $$;
comment on function recoup.lineages_of_call(bigint[], integer[], bigint[], text[], bigint[]) is
'Lineages of a call whose rows supersede each other: that of the error that the newest supersedes, or the first''s id.';

create or replace function recoup.insert_errors(
  new_ids bigint[], places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[],
  work_keys text[], later integer[],
  tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[],
  budgets integer[], park_reasons text[], deciders text[], clamps text[], overruled text[],
  decided_under integer, by_row bigint[], of_table text[], old_ids bigint[], policy jsonb, now_ timestamptz,
  failed_at timestamptz[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
-- Decisions and inherited values are joined by hash, because a thousand rows may supersede a thousand.
set enable_hashjoin = on set enable_nestloop = off
as $$
declare
  ends constant jsonb := recoup.ends_as(policy);
  who  constant text := recoup.acting_id();
  -- Mostly no row of a call supersedes another: then each inherits alone.
  of_call constant bigint[] := case when array_remove(later, null) <> '{}'
    then recoup.lineages_of_call(new_ids, later, by_row, of_table, old_ids) end;
begin
  insert into recoup.error (
    error_table, error_id, outreach_id, work_key, error_code, error_message, error_signature, severity, category,
    payload, decided_by, clamped_from, overruled, policy_version, disposition, status, ttl_tier, expires_at,
    created_at, updated_at,
    retry_count, max_retries, next_retry_at, retry_until, last_retry_at, last_outcome, last_failure,
    parked_at, parked_by, park_reason,
    assigned_to, last_reviewed_at, escalation_level, escalated_at, escalated_to, escalation_reason,
    parked_since, sla_due_at, sla_met_at, sla_breached_at, superseded_by, archived_at, archive_reason, lineage_id)
  with given as (
    -- Each row with its decision, and with what it inherits.
    select d.*, i.*, r.place, r.entity, r.work_key, r.message, r.signature, r.payload,
           new_ids[r.place] as error_id, new_ids[r.later] as superseded_by,
           coalesce(of_call[r.place], i.old_lineage, new_ids[r.place]) as lineage_id,
           -- As old as the older of the two: neither an adoption nor a newer failure prolongs anything.
           coalesce(least(i.old_created_at, r.failed_at), now_) as created_at,
           coalesce(i.old_retry_count, 0) as retry_count,
           greatest(i.old_max_retries, d.budget) as max_retries,
           i.was_parked and ends ->> d.error_table = 'PARKED' as stays_parked,
           -- It never weakens an open error. A parked one stays parked, where that is allowed; one that was to be
           -- retried is at least retried.
           case when i.was_parked and ends ->> d.error_table = 'PARKED' then 'PARKED'
                when i.was_retried and d.wanted in ('ARCHIVE', 'IGNORE')
                  then case when policy -> 'tables' -> d.error_table -> 'allowed' ? 'RETRY' then 'RETRY'
                            else ends ->> d.error_table end
                else d.wanted end as held
      from unnest(places, entities, messages, signatures, payloads, work_keys, later, failed_at)
             with ordinality r (decision, entity, message, signature, payload, work_key, later, failed_at, place)
      join unnest(tables, codes, severities, categories, dispositions, tiers, days, budgets, park_reasons, deciders,
                  clamps, overruled)
             with ordinality d (error_table, code, severity, category, wanted, ttl_tier, ttl_days, budget, park_reason,
                                decided_by, clamped_from, overruled, decision) on d.decision = r.decision
      left join recoup.inherited(by_row, of_table, old_ids) i on i.heir = r.place),
  timed as (
    -- When it would be retried, and until when. A person may start a retry that is not automatic.
    select g.*, g.created_at + make_interval(hours => 24 * g.ttl_days) as expires_at,
           case when g.was_retried then g.old_retry_until else g.created_at + k.time_window end as retry_until,
           coalesce(now_ + recoup.retry_wait(k.backoff, k.base_s, k.cap_s, k.jitter_percent, g.retry_count + 1),
                    case when g.decided_by = 'person' and g.clamped_from is null then now_ end) as next_retry_at
      from given g
      join recoup.retry_rules(policy) k on k.category = g.category),
  spent as (
    select t.*, case when t.held = 'RETRY' then
             recoup.retries_end(t.retry_count, t.max_retries, t.next_retry_at, t.retry_until) end as ended_by
      from timed t),
  decided as (
    -- An error that should be retried and cannot be ends as its table allows.
    select s.*, case when s.ended_by is not null then ends ->> s.error_table else s.held end as disposition
      from spent s),
  placed as (
    -- It is parked now, in the first tier or where it was; or it keeps the tier of the one that it supersedes.
    select d.*, d.disposition = 'PARKED' and not coalesce(d.stays_parked and d.old_due_at is not null, false) as parks,
           case when d.disposition = 'PARKED' or d.ended_by is not null
                then coalesce(d.old_park_reason, d.ended_by, d.park_reason, 'ESCALATION_REQUIRED')
                -- The reason is kept where parking was asked for and its table does not allow it.
                when d.clamped_from = 'PARK' then d.park_reason end as why
      from decided d)
  select d.error_table, d.error_id, d.entity, d.work_key, d.code, d.message, d.signature, d.severity, d.category,
         d.payload, d.decided_by, d.clamped_from,
         coalesce(d.overruled, case when d.held <> d.wanted then replace(d.wanted, 'PARKED', 'PARK') end),
         decided_under, d.disposition,
         case when d.was_escalated and d.stays_parked then 'ESCALATED' else recoup.status_of(d.disposition) end,
         case when d.old_expires_at > d.expires_at then d.old_tier else d.ttl_tier end,
         greatest(d.expires_at, d.old_expires_at), d.created_at, now_,
         d.retry_count, d.max_retries,
         case when d.disposition = 'RETRY' and d.superseded_by is null then d.next_retry_at end, d.retry_until,
         d.last_retry_at, d.last_outcome, d.last_failure,
         case when d.disposition = 'PARKED' then coalesce(d.old_parked_at, now_) end,
         case when d.disposition = 'PARKED' then coalesce(d.old_parked_by, case
           when d.decided_by = 'person' and d.wanted = 'PARKED' and num_nulls(d.clamped_from, d.overruled) = 2 then who
           else 'system' end) end,
         d.why, d.assigned_to, d.last_reviewed_at,
         case when d.parks then recoup.tier_when_parked(d.old_level, d.old_parked_since, now_, policy)
              else coalesce(d.old_level, 0) end,
         case when d.parks then now_ else d.old_escalated_at end,
         case when d.parks then recoup.owner_when_parked(d.error_table, d.old_level, d.old_owner, d.old_parked_since,
                                                         now_, policy)
              else d.old_owner end,
         case when d.parks then d.why else d.old_reason end,
         case when d.disposition = 'PARKED' then coalesce(d.old_parked_since, now_) else d.old_parked_since end,
         case when d.parks then now_ + recoup.sla_of(
                recoup.tier_when_parked(d.old_level, d.old_parked_since, now_, policy), policy)
              else d.old_due_at end,
         case when not d.parks then d.old_met_at end, case when not d.parks then d.old_breached_at end,
         d.superseded_by, case when d.superseded_by is not null then now_ end,
         case when d.superseded_by is not null then 'SUPERSEDED' end, d.lineage_id
    from placed d
   order by d.error_table, d.entity, d.signature, d.work_key, d.place;
end $$;
comment on function recoup.insert_errors(
  bigint[], integer[], uuid[], text[], text[], jsonb[], text[], integer[],
  text[], text[], text[], text[], text[], text[], integer[], integer[], text[], text[], text[], text[],
  integer, bigint[], text[], bigint[], jsonb, timestamptz, timestamptz[]) is
'Writes new errors by their decisions and by what each inherits from the one that it supersedes.';

create or replace function recoup.record_errors(
  -- Each row: which of the decisions below, its entity, message, signature and payload, and which later row of this
  -- call supersedes it. Payloads and work keys may be missing altogether.
  places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], later integer[],
  -- Each decision, once.
  tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[],
  budgets integer[], park_reasons text[], deciders text[], clamps text[],
  decided_under integer,
  -- Of each row, which piece of its entity's work failed; of each decision, what an earlier row of this call overruled.
  work_keys text[] default null, overruled text[] default null,
  -- Of each row, when it first failed, if that was before now: rows of a table that is adopted.
  failed_at timestamptz[] default null,
  out ids bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  policy  constant jsonb := recoup.error_policy();
  missing text;
  now_    timestamptz;
  old     record;  -- what is open of the same failures: recoup.lock_open_errors
begin
  perform recoup.require_same_length('errors', cardinality(places), cardinality(entities), cardinality(messages),
    cardinality(signatures), coalesce(cardinality(payloads), cardinality(places)), cardinality(later),
    coalesce(cardinality(work_keys), cardinality(places)), coalesce(cardinality(failed_at), cardinality(places)));
  perform recoup.require_same_length('decisions', cardinality(tables), cardinality(codes), cardinality(severities),
    cardinality(categories), cardinality(dispositions), cardinality(tiers), cardinality(days), cardinality(budgets),
    cardinality(park_reasons), cardinality(deciders), cardinality(clamps),
    coalesce(cardinality(overruled), cardinality(tables)));
  missing := (select t from unnest(tables) t where to_regclass(t) is null limit 1);
  if missing is not null then
    raise exception using errcode = 'RC053',
      message = format('%s is in the policy, and has not been created yet.', missing),
      hint = 'Run: recoup migrate', detail = jsonb_build_object('error_table', missing);
  end if;
  if exists (select from unnest(failed_at) f where not (isfinite(f) and f <= recoup.now())) then
    raise exception using errcode = 'RC065',
      message = 'An error has a time of its first failure that is not in the past.',
      hint = 'Give the time at which it first failed, or none: then it is now.',
      detail = jsonb_build_object('failed_at', (select max(f) from unnest(failed_at) f), 'now', recoup.now());
  end if;
  perform recoup.hold_entities(entities);
  for turn in 1 .. 10 loop
    begin
      now_ := recoup.now();
      -- The newest row of a call supersedes what is open of the same failure.
      old := recoup.lock_open_errors(places, entities, signatures, work_keys, later, tables, tiers, policy, now_);
      ids := null;
      -- After all waiting: if another policy is active by now, everything is decided again; and the newer error has the
      -- greater id.
      if recoup.policy_version() <> decided_under then
        return;
      end if;
      select array_agg(nextval('recoup.error_seq')) into ids from generate_series(1, cardinality(places));
      if old.ids is not null then
        perform recoup.supersede_errors(old.by_row, old.of_table, old.ids, old.expired, ids, now_);
      end if;
      perform recoup.insert_errors(ids, places, entities, messages, signatures, payloads, work_keys, later,
        tables, codes, severities, categories, dispositions, tiers, days, budgets, park_reasons, deciders, clamps,
        overruled, decided_under, old.by_row, old.of_table, old.ids, policy, now_, failed_at);
      return;
    exception
      when unique_violation or deadlock_detected then
        -- Another transaction recorded the same failure of the same entity meanwhile: read again, and supersede it.
        if turn = 10 then
          raise;
        end if;
      when sqlstate 'RC044' or sqlstate 'RC045' then
        -- It was allowed when it was decided, and is not any more.
        if recoup.policy_version() = decided_under then
          raise;
        end if;
        ids := null;
        return;
    end;
  end loop;
end $$;
comment on function recoup.record_errors(
  integer[], uuid[], text[], text[], jsonb[], integer[],
  text[], text[], text[], text[], text[], text[], integer[], integer[], text[], text[], text[], integer,
  text[], text[], timestamptz[]) is
'Records errors, superseding open errors of the same failure; ids in their order. Null: another policy is active.';
