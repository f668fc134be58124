-- Recording, claiming and ending, in sets. Each is one call of one function, whose plans are kept.
--
-- There is one right plan for each statement here: a look-up for each row, along an index. So scanning and hashing are
-- switched off, and the plan is kept. Results are one row of arrays: a thousand rows of many columns would cost the way to
-- the client what it costs to write them.

create or replace function recoup.hold_open_errors(places integer[], entities uuid[], signatures text[], later integer[], tables text[],
  tiers text[], policy jsonb, now_ timestamptz,
  out by_row bigint[], out of_table text[], out ids bigint[], out parked boolean[], out expired boolean[], out leased boolean[])
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  table_ text;
begin
  -- In the order of tables and ids, as everybody does who locks several. One table after the other, each planned for what
  -- it holds now: a plan that was made while a table was empty, and kept, read all of it for each row.
  for table_ in select distinct t.name from unnest(tables, tiers) t (name, tier) where t.tier <> 'INFINITE' order by 1 loop
    execute format($look$
      select $8 || array_agg(f.place), $9 || array_agg(f.error_table), $10 || array_agg(f.error_id), $11 || array_agg(f.parked),
             $12 || array_agg(f.expired), $13 || array_agg(f.leased)
        from (select r.place, e.error_table, e.error_id, e.status in ('PARKED', 'ESCALATED') as parked,
                     coalesce(recoup.may_expire(e, $6, $7), false) as expired, e.token is not null as leased
                from (select u.place, e.error_id
                        from unnest($1, $2, $3, $4) with ordinality u (decision, entity, signature, later, place)
                       cross join lateral (select e.error_id from recoup.error e
                                            where e.error_table = %1$L and e.outreach_id = u.entity and e.error_signature = u.signature
                                              and e.archived_at is null limit 1) e
                       where u.entity is not null and u.later is null and ($5)[u.decision] = %1$L
                       order by e.error_id) r
               cross join lateral (select e.* from recoup.error e where e.error_table = %1$L and e.error_id = r.error_id
                                      and e.archived_at is null limit 1 for no key update) e) f $look$, table_)
      into by_row, of_table, ids, parked, expired, leased
      using places, entities, signatures, later, tables, now_, policy, by_row, of_table, ids, parked, expired, leased;
  end loop;
end $$;
comment on function recoup.hold_open_errors(integer[], uuid[], text[], integer[], text[], text[], jsonb, timestamptz) is
'Locks what is open of the failures of a call; for each, the row of the call that takes its place. Null: none is.';

create or replace function recoup.record_errors(
  -- Each row: which of the decisions below, its entity, message, signature and payload, and which later row of this call supersedes it.
  places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], later integer[],
  -- Each decision, once.
  tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[], budgets integer[],
  park_reasons text[], deciders text[], clamps text[], decided_under integer) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  policy   constant jsonb := recoup.error_policy();
  ends     constant jsonb := recoup.ends_as(policy);
  now_     timestamptz;
  ids      bigint[];
  table_   text;
  old_     record;  -- what is superseded, or has expired: recoup.hold_open_errors
begin
  select t into table_ from unnest(tables) t where to_regclass(t) is null limit 1;
  if found then
    raise exception using errcode = 'RC053', message = format('%s is in the policy, and has not been made yet.', table_),
      hint = 'Run: recoup migrate', detail = jsonb_build_object('error_table', table_);
  end if;
  perform recoup.hold_promotions((select array_agg(distinct recoup.entity_bucket(e)) from unnest(entities) e where e is not null));
  for turn in 1 .. 10 loop
    begin
      now_ := recoup.now();
      -- The newest row of a call supersedes what is open of the same failure.
      old_ := recoup.hold_open_errors(places, entities, signatures, later, tables, tiers, policy, now_);
      -- Not before all has been waited for: what is decided by a policy that is not in force any more is decided anew, and
      -- what supersedes has the greater id.
      if recoup.policy_version() <> decided_under then
        return null;
      end if;
      select array_agg(nextval('recoup.error_seq')) into ids from generate_series(1, cardinality(places));
      if old_.ids is not null then
        update recoup.error e
           set archived_at = now_, updated_at = greatest(e.updated_at, now_),
               archive_reason = case when o.expired then 'TTL_EXPIRED' else 'SUPERSEDED' end,
               superseded_by = case when not o.expired then ids[o.place] end,
               retry_count = e.retry_count + o.leased::integer,
               last_outcome = case when o.leased then 'FAILED' else e.last_outcome end,
               last_failure = case when o.leased then 'superseded by error ' || ids[o.place] else e.last_failure end,
               token = null, leased_by = null, lease_until = null, next_retry_at = null
          from unnest(old_.by_row, old_.of_table, old_.ids, old_.expired, old_.leased) o (place, error_table, error_id, expired, leased)
         where e.error_table = o.error_table and e.error_id = o.error_id;
      end if;
      -- Each row finds what it supersedes by its place: by hash, because a thousand rows may supersede a thousand.
      perform set_config('enable_hashjoin', 'on', true), set_config('enable_nestloop', 'off', true);
      insert into recoup.error (error_table, error_id, outreach_id, error_code, error_message, error_signature, severity, category, disposition, status,
        ttl_tier, expires_at, retry_count, max_retries, last_retry_at, next_retry_at, retry_until, last_outcome, last_failure,
        parked_at, parked_by, park_reason, assigned_to, escalation_level, last_reviewed_at, escalated_at, escalated_to, escalation_reason,
        payload, decided_by, clamped_from, policy_version, created_at, updated_at, superseded_by, archived_at, archive_reason)
      select r.error_table, r.error_id, r.entity, codes[r.decision], r.message, r.signature, severities[r.decision], categories[r.decision],
             s.disposition,
             case s.disposition when 'RETRY' then 'RETRY_PENDING' when 'PARKED' then 'PARKED' else 'ACTIVE' end,
             tiers[r.decision],
             greatest(r.created_at + make_interval(hours => 24 * days[r.decision]), r.old_expires_at),
             r.retry_count, r.max_retries, r.last_retry_at,
             case when s.disposition = 'RETRY' and r.superseded_by is null then s.next_retry_at end,
             r.retry_until, r.last_outcome, r.last_failure,
             case when s.disposition = 'PARKED' then coalesce(r.parked_at, now_) end,
             case when s.disposition = 'PARKED' then coalesce(r.parked_by, 'system') end,
             case when s.disposition = 'PARKED' or s.exhausted then coalesce(r.park_reason, park_reasons[r.decision], 'MAX_RETRIES_EXCEEDED') end,
             r.assigned_to, r.escalation_level, r.last_reviewed_at, r.escalated_at, r.escalated_to, r.escalation_reason,
             r.payload, deciders[r.decision], clamps[r.decision], decided_under, r.created_at, now_,
             r.superseded_by, case when r.superseded_by is not null then now_ end, case when r.superseded_by is not null then 'SUPERSEDED' end
        from (select u.decision, tables[u.decision] as error_table, ids[u.place] as error_id, u.entity, u.message, u.signature, u.payload, u.place,
                     ids[u.later] as superseded_by, coalesce(p.created_at, now_) as created_at, coalesce(p.retry_count, 0) as retry_count,
                     greatest(p.max_retries, budgets[u.decision]) as max_retries, p.last_retry_at, p.last_outcome, p.last_failure,
                     case when p.is_retry then p.retry_until else coalesce(p.created_at, now_) + k.time_window end as retry_until,
                     p.parked_at, p.parked_by, p.park_reason, p.is_parked, p.assigned_to, coalesce(p.escalation_level, 0) as escalation_level,
                     p.last_reviewed_at, p.escalated_at, p.escalated_to, p.escalation_reason, p.expires_at as old_expires_at,
                     coalesce(now_ + recoup.retry_wait(k.backoff, k.base_s, k.cap_s, k.jitter_percent, coalesce(p.retry_count, 0) + 1),
                              -- A person may start what is not retried by itself.
                              case when deciders[u.decision] = 'person' and clamps[u.decision] is null then now_ end) as next_retry_at
                from unnest(places, entities, messages, signatures, coalesce(payloads, array_fill(null::jsonb, array[cardinality(places)])), later)
                       with ordinality u (decision, entity, message, signature, payload, later, place)
                join (select * from recoup.retry_rules(policy) offset 0) k on k.category = categories[u.decision]
                left join (
                  select o.place, e.created_at, e.retry_count, e.max_retries, e.last_retry_at, e.last_outcome, e.last_failure, e.retry_until,
                         e.status = 'RETRY_PENDING' as is_retry, o.was_parked and ends ->> o.error_table = 'PARKED' as is_parked,
                         case when o.was_parked then e.parked_at end as parked_at, case when o.was_parked then e.parked_by end as parked_by,
                         case when o.was_parked then e.park_reason end as park_reason, e.assigned_to, e.escalation_level, e.last_reviewed_at,
                         e.escalated_at, e.escalated_to, e.escalation_reason, e.expires_at
                    from unnest(old_.by_row, old_.of_table, old_.ids, old_.parked, old_.expired) o (place, error_table, error_id, was_parked, expired)
                    join lateral (select e.* from recoup.error e where e.error_table = o.error_table and e.error_id = o.error_id limit 1) e on true
                   where not o.expired) p on p.place = u.place) r
       cross join lateral (select dispositions[r.decision] = 'RETRY' and not coalesce(r.is_parked, false)
                                  and (r.retry_count >= r.max_retries or r.next_retry_at is null or coalesce(r.next_retry_at > r.retry_until, false)) as exhausted) x
       cross join lateral (select case when r.is_parked then 'PARKED'
                                       when not x.exhausted then dispositions[r.decision]
                                       else ends ->> r.error_table end as disposition,
                                  x.exhausted, r.next_retry_at) s
       order by r.error_table, r.entity, r.signature, r.place;
      return ids;
    exception
      when unique_violation or deadlock_detected then
        -- Somebody recorded the same failure of the same entity at the same moment: look again, and supersede it.
        if turn = 10 then
          raise;
        end if;
      when sqlstate 'RC044' then
        -- It was allowed when it was decided, and a moment later not any more.
        if recoup.policy_version() = decided_under then
          raise;
        end if;
        return null;
    end;
  end loop;
end $$;
comment on function recoup.record_errors(integer[], uuid[], text[], text[], jsonb[], integer[], text[], text[], text[], text[], text[], text[],
  integer[], integer[], text[], text[], text[], integer) is
'Records errors, superseding what is open of the same failure; ids in the order given, or null when another policy is in force.';

create or replace function recoup.claim_errors(among text[], most integer, worker_ text, lease interval,
  out tables text[], out ids bigint[], out entities uuid[], out codes text[], out messages text[], out signatures text[], out severities text[],
  out categories text[], out counts integer[], out budgets integer[], out payloads jsonb[], out created timestamptz[],
  out token_ uuid, out until_ timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  if exists (select from recoup.pause where status = 'PAUSED') then
    if (recoup.paused('table:recoup.error')).scope is not null then
      return;
    end if;
    -- Of which tables, if some of them are paused.
    select coalesce(array_agg(t), '{}') into among
      from unnest(coalesce(among, (select array_agg(k) from jsonb_object_keys(recoup.error_policy() -> 'tables') k))) t
     where not exists (select from recoup.pause p where p.status = 'PAUSED' and p.scope = 'table' and p.scope_id = t);
  end if;
  token_ := gen_random_uuid();
  until_ := now_ + coalesce(lease, make_interval(secs => (recoup.error_policy() ->> 'retry_lease_s')::integer));
  with picked as materialized (
    select e.error_table, e.error_id from recoup.error e
     where (among is null or e.error_table = any(among)) and e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null
       and e.next_retry_at <= now_ and (e.retry_until is null or e.retry_until > now_)
     order by e.next_retry_at
     limit greatest(most, 0)
       for no key update skip locked),
  claimed as (
    update recoup.error e
       set token = token_, leased_by = worker_, lease_until = until_, last_retry_at = now_, updated_at = greatest(e.updated_at, now_)
      from picked p
     where e.error_table = p.error_table and e.error_id = p.error_id
    returning e.*)
  select array_agg(c.error_table), array_agg(c.error_id), array_agg(c.outreach_id), array_agg(c.error_code), array_agg(c.error_message),
         array_agg(c.error_signature), array_agg(c.severity), array_agg(c.category), array_agg(c.retry_count), array_agg(c.max_retries),
         case when bool_or(c.payload is not null) then array_agg(c.payload) end, array_agg(c.created_at)
    into tables, ids, entities, codes, messages, signatures, severities, categories, counts, budgets, payloads, created
    from claimed c;
end $$;
comment on function recoup.claim_errors(text[], integer, text, interval) is 'Takes errors of these tables (null: of all) whose retry is due, longest due first, under one lease.';

create or replace function recoup.end_retries(tables text[], ids bigint[], tokens uuid[], outcomes text[], failures text[],
  out ended bigint[], out statuses text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  policy   jsonb;
  ends     jsonb;
  now_     timestamptz;
  held     record;
  late     bigint[];
begin
  if (select count(distinct i) from unnest(ids) i) is distinct from cardinality(ids)
     or cardinality(tables) is distinct from cardinality(ids) or cardinality(tokens) is distinct from cardinality(ids)
     or cardinality(outcomes) is distinct from cardinality(ids) or cardinality(failures) is distinct from cardinality(ids)
     or array_position(tokens, null) is not null or not coalesce(outcomes <@ '{SUCCEEDED,FAILED,LAPSED}', false) then
    raise exception using errcode = 'RC039',
      message = format('%s errors, %s tokens and %s outcomes do not make reports.', coalesce(cardinality(ids), 0),
                       coalesce(cardinality(tokens), 0), coalesce(cardinality(outcomes), 0)),
      hint = 'Give each error once, and arrays of one length: its table, a token, SUCCEEDED or FAILED, and what was said or null.',
      detail = jsonb_build_object('errors', cardinality(ids), 'tokens', cardinality(tokens), 'outcomes', cardinality(outcomes));
  end if;
  -- In the order of tables and ids, so that two sets that share some wait for each other instead of deadlocking. Fenced by the token.
  select array_agg(g.error_table) as tables, array_agg(g.error_id) as ids, array_agg(g.outcome) as outcomes, array_agg(g.failure) as failures,
         array_agg(e.category) as categories, array_agg(e.retry_count) as counts, array_agg(e.max_retries) as budgets, array_agg(e.retry_until) as windows
    into held
    from (select * from unnest(tables, ids, tokens, outcomes, failures) g (error_table, error_id, token, outcome, failure) order by error_table, error_id) g
   cross join lateral (select e.* from recoup.error e where e.error_table = g.error_table and e.error_id = g.error_id limit 1 for no key update) e
   where e.token = g.token;
  -- Not before all has been waited for.
  now_ := recoup.now();
  policy := recoup.error_policy();
  ends := recoup.ends_as(policy);
  -- Succeeded and failed alike, in one statement.
  with applied as (
    update recoup.error e
       set status = s.status,
           disposition = case when s.status in ('PARKED', 'ACTIVE') then ends ->> e.error_table else e.disposition end,
           retry_count = e.retry_count + 1,
           last_outcome = s.outcome,
           last_failure = case when s.outcome = 'SUCCEEDED' then e.last_failure else s.failure end,
           next_retry_at = case when s.status = 'RETRY_PENDING' then s.next_retry_at end,
           parked_at = case when s.status = 'PARKED' then now_ end,
           parked_by = case when s.status = 'PARKED' then 'system' end,
           park_reason = case when s.status in ('PARKED', 'ACTIVE') then 'MAX_RETRIES_EXCEEDED' end,
           token = null, leased_by = null, lease_until = null,
           updated_at = greatest(e.updated_at, now_),
           archived_at = case when s.status = 'RESOLVED' then now_ end,
           archive_reason = case when s.status = 'RESOLVED' then 'RESOLVED' end
      from (select w.*, case
                when w.outcome = 'SUCCEEDED' then 'RESOLVED'
                when w.retry_count + 1 < w.max_retries and w.next_retry_at <= coalesce(w.retry_until, w.next_retry_at) then 'RETRY_PENDING'
                when ends ->> w.error_table = 'PARKED' then 'PARKED' else 'ACTIVE' end as status
              from (select g.*, now_ + recoup.retry_wait(k.backoff, k.base_s, k.cap_s, k.jitter_percent, g.retry_count + 2) as next_retry_at
                      from unnest(held.tables, held.ids, held.outcomes, held.failures, held.categories, held.counts, held.budgets, held.windows)
                             g (error_table, error_id, outcome, failure, category, retry_count, max_retries, retry_until)
                      join (select * from recoup.retry_rules(policy) offset 0) k on k.category = g.category offset 0) w offset 0) s
     where e.error_table = s.error_table and e.error_id = s.error_id
    returning e.error_id, e.status)
  select coalesce(array_agg(a.error_id), '{}'), coalesce(array_agg(a.status), '{}') into ended, statuses from applied a;

  if cardinality(ended) < cardinality(ids) then
    with stored as (
      insert into recoup.late_result (subject, unit_id, token, result)
      select 'recoup.error', g.error_table || '/' || g.error_id, g.token, jsonb_build_object('outcome', g.outcome, 'failure', g.failure)
        from unnest(tables, ids, tokens, outcomes, failures) g (error_table, error_id, token, outcome, failure)
       where g.error_id <> all(ended)
         and (exists (select from recoup.error e where e.error_table = g.error_table and e.error_id = g.error_id)
              or exists (select from recoup.error_archive a where a.error_table = g.error_table and a.error_id = g.error_id))
      returning split_part(unit_id, '/', 2)::bigint as error_id)
    select array_agg(s.error_id) into late from stored s;
    ended := ended || coalesce(late, '{}');
    statuses := statuses || array_fill('late'::text, array[coalesce(cardinality(late), 0)]);
  end if;
end $$;
comment on function recoup.end_retries(text[], bigint[], uuid[], text[], text[]) is
'Ends retries, succeeded and failed alike: resolved, once more later, parked, or left to the archive. Late ones are stored, and not applied.';

create or replace function recoup.lapse_retries(most integer, only_ bigint default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_   constant timestamptz := recoup.now();
  lapsed record;
begin
  select array_agg(l.error_table) as tables, array_agg(l.error_id) as ids, array_agg(l.token) as tokens, array_agg(l.leased_by) as workers into lapsed
    from (select e.error_table, e.error_id, e.token, e.leased_by from recoup.error e
           where e.token is not null and e.lease_until < now_ and (only_ is null or e.error_id = only_)
           order by e.lease_until limit most for no key update skip locked) l;
  if lapsed.ids is null then
    return 0;
  end if;
  perform recoup.end_retries(lapsed.tables, lapsed.ids, lapsed.tokens, array_fill('LAPSED'::text, array[cardinality(lapsed.ids)]),
    (select array_agg('The lease of ' || w || ' lapsed without a result.') from unnest(lapsed.workers) w));
  return cardinality(lapsed.ids);
end $$;
comment on function recoup.lapse_retries(integer, bigint) is 'Counts as failed every retry that outlived its lease, or one of them.';

create or replace function recoup.close_windows(most integer, only_ bigint default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_     constant timestamptz := recoup.now();
  ends     constant jsonb := recoup.ends_as(recoup.error_policy());
  closed   integer;
begin
  with picked as materialized (
    select e.error_table, e.error_id from recoup.error e
     where e.status = 'RETRY_PENDING' and e.token is null and e.archived_at is null and e.retry_until is not null and e.retry_until <= now_
       and (only_ is null or e.error_id = only_)
     order by e.retry_until limit most for no key update skip locked)
  update recoup.error e
     set status = case when ends ->> e.error_table = 'PARKED' then 'PARKED' else 'ACTIVE' end,
         disposition = ends ->> e.error_table,
         next_retry_at = null,
         parked_at = case when ends ->> e.error_table = 'PARKED' then now_ end,
         parked_by = case when ends ->> e.error_table = 'PARKED' then 'system' end,
         park_reason = 'MAX_RETRIES_EXCEEDED',
         updated_at = greatest(e.updated_at, now_)
    from picked p
   where e.error_table = p.error_table and e.error_id = p.error_id;
  get diagnostics closed = row_count;
  return closed;
end $$;
comment on function recoup.close_windows(integer, bigint) is 'Parks what was not retried within its window, or one of it.';

-- The archiver's side ------------------------------------------------------------------------------------------------------

create or replace function recoup.sweep_errors(error_table_ text, most integer, only_ bigint default null, out gone integer, out was_blocking integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_     constant timestamptz := recoup.now();
  figures  constant jsonb := recoup.error_policy();
  blocking constant boolean := coalesce((figures -> 'tables' -> error_table_ ->> 'blocks')::boolean, false);
  leaving  bigint[];
  months   date[];
begin
  -- First what is over, then what has expired.
  select array_agg(l.error_id), array_agg(distinct l.month) into leaving, months
    from (select e.error_id, date_trunc('month', e.archived_at at time zone 'UTC')::date as month from recoup.error e
           where e.error_table = error_table_ and e.archived_at is not null and (only_ is null or e.error_id = only_)
           order by e.archived_at limit most for update skip locked) l;
  was_blocking := 0;
  if coalesce(cardinality(leaving), 0) < most then
    select coalesce(leaving, '{}') || array_agg(l.error_id),
           coalesce(months, '{}') || case when count(*) > 0 then date_trunc('month', now_ at time zone 'UTC')::date end,
           count(*) filter (where l.disposition in ('RETRY', 'PARKED'))
      into leaving, months, was_blocking
      from (select e.error_id, e.disposition from recoup.error e
             where e.error_table = error_table_ and e.archived_at is null and e.expires_at < now_
               and e.token is null and recoup.may_expire(e, now_, figures) and (only_ is null or e.error_id = only_)
             order by e.expires_at limit most - coalesce(cardinality(leaving), 0) for update skip locked) l;
    was_blocking := case when blocking then was_blocking else 0 end;
  end if;
  gone := coalesce(cardinality(leaving), 0);
  if gone = 0 then
    return;
  end if;
  insert into recoup.error_archive_month (error_table, month, made_at)
  select error_table_, m, now_ from (select distinct unnest(months)) d (m)
   where m is not null and not exists (select from recoup.error_archive_month k where k.error_table = error_table_ and k.month = m)
  on conflict do nothing;
  delete from recoup.error e where e.error_table = error_table_ and e.error_id = any(leaving);
end $$;
comment on function recoup.sweep_errors(text, integer, bigint) is 'Moves up to so many errors of one table to its archive: those that are over, then those that have expired.';
