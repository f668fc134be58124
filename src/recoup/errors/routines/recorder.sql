-- The recorders of errors: they write the events of births, moves and exits to recoup.error_event, and the archive.
--
-- SECURITY DEFINER and owned by the tables' owner, like every recorder. A deleted error is written to its archive by
-- the database itself, in the same statement: there is no other way out of a live table, and none into an archive.

create or replace function recoup.record_error_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = utc set datestyle = iso, ymd
as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'recoup.error');
  insert into recoup.error_event (
    incarnation, logged_at, error_table, error_id, event_type, to_status, disposition, retry_count, reason, facts,
    actor, actor_id, authority, form, digest)
  select incarnation_, n.updated_at, n.error_table, n.error_id, 'RECORDED', n.status, n.disposition, n.retry_count,
         n.park_reason,
         -- As little as possible: every birth has one, and the row itself has the rest.
         case when num_nonnulls(n.clamped_from, n.overruled, n.superseded_by) > 0 or n.parked_at < n.updated_at
                or n.retry_count > 0 and n.park_reason is not null
              then nullif(jsonb_strip_nulls(jsonb_build_object(
                'decided_by', case when num_nonnulls(n.clamped_from, n.overruled, n.superseded_by) > 0
                                   then n.decided_by end,
                'clamped_from', n.clamped_from, 'overruled', n.overruled, 'superseded_by', n.superseded_by,
                'at_least', case when n.superseded_by is not null then n.disposition end,
                -- Parked before, as the error that it supersedes; or that one's retries end with it.
                'parked_since', case when n.parked_at < n.updated_at then n.parked_at end,
                'ended_by', case when n.retry_count > 0 and n.status in ('PARKED', 'ACTIVE')
                                  and n.parked_at is not distinct from case n.status when 'PARKED' then n.updated_at end
                                  and n.park_reason in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED')
                                 then n.park_reason end)), '{}') end,
         kind, id, role_,
         2, sha256(convert_to(array[
           n.error_table, n.error_id::text, n.outreach_id::text, n.work_key, n.error_code, n.error_signature,
           n.severity, n.category, n.ttl_tier, n.decided_by, n.clamped_from, n.overruled, n.policy_version::text,
           n.created_at::text, n.lineage_id::text, n.error_message, n.payload::text]::text, 'UTF8'))
    from new_rows n;
  return null;
end $$;
revoke execute on function recoup.record_error_births() from public;
comment on function recoup.record_error_births() is
'RECORDED, with clamped_from and overruled where they are set.';

create or replace function recoup.record_error_moves() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- A join by hash is right for one row and for a hundred thousand, so its plan may be kept.
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
  why          constant text := nullif(current_setting('recoup.reason', true), '');
begin
  perform recoup.require_table(tg_relid, 'recoup.error');
  if not exists (select from new_rows) then
    return null;
  end if;
  insert into recoup.error_event (
    incarnation, logged_at, error_table, error_id, event_type, from_status, to_status, disposition, retry_count, reason,
    facts, token, actor, actor_id, authority)
  select incarnation_, n.updated_at, n.error_table, n.error_id, said.event_type, o.status, n.status, n.disposition,
         n.retry_count,
         case said.event_type when 'FAILED' then n.last_failure when 'LAPSED' then n.last_failure
                              when 'PARKED' then n.park_reason when 'WINDOW_CLOSED' then n.park_reason
                              when 'ESCALATED' then n.escalation_reason
                              when 'SLA_BREACHED' then null
                              else why end,
         case when num_nonnulls(told.facts, was.sla, was.facts) > 0
              then coalesce(told.facts, '{}') || coalesce(was.sla, '{}') || coalesce(was.facts, '{}') end,
         case when n.retry_count > o.retry_count then n.token end,
         kind, id, role_
    from new_rows n
    join old_rows o on o.error_id = n.error_id and o.error_table = n.error_table
   cross join lateral (select case
       when n.archive_reason = 'SUPERSEDED' then 'SUPERSEDED'
       when n.archive_reason = 'TTL_EXPIRED' then 'EXPIRED'
       when n.archive_reason = 'MANUAL' then 'RETIRED'
       when recoup.decides_errors(role_) then case
         when n.status = 'RESOLVED' then 'RESOLVED'
         when n.status = 'PARKED' and o.status <> 'PARKED' then 'PARKED'
         when n.status = 'RETRY_PENDING' and o.status <> 'RETRY_PENDING' then 'UNPARKED'
         when n.status = 'ESCALATED' and o.status <> 'ESCALATED' then 'ESCALATED'
         when n.assigned_to is distinct from o.assigned_to then 'ASSIGNED'
         when n.escalation_level <> o.escalation_level then 'ESCALATED'
         else 'REVIEWED' end
       when n.status in ('PARKED', 'ESCALATED') and n.status = o.status then
         case when n.escalation_level <> o.escalation_level then 'ESCALATED' else 'SLA_BREACHED' end
       when n.status = 'RESOLVED' and n.last_outcome is distinct from 'SUCCEEDED' then 'CLEARED'
       when n.retry_count > o.retry_count then coalesce(n.last_outcome, 'FAILED')
       else 'WINDOW_CLOSED' end as event_type) said
   cross join lateral (select case said.event_type
       when 'SUPERSEDED'
         then jsonb_build_object('superseded_by', n.superseded_by, 'at_least', n.disposition)  -- is the newer one
       when 'ESCALATED' then jsonb_build_object('to', n.escalated_to, 'level', n.escalation_level) || case
         when recoup.decides_errors(role_) then '{}'
         else recoup.tier_facts(o.escalation_level, n.escalation_level, n.parked_since,
                                (select recoup.error_policy())) end
       when 'SLA_BREACHED'
         then jsonb_build_object('to', n.escalated_to, 'level', n.escalation_level, 'due_at', n.sla_due_at)
       when 'ASSIGNED' then jsonb_build_object('to', n.assigned_to)
       when 'UNPARKED' then jsonb_build_object('max_retries', n.max_retries) || case
         when n.retry_with is null then '{}'
         else jsonb_build_object('retry_with', recoup.retry_with_digest(n.retry_with)) end
       -- Parked again, in the tier where it was.
       else case when n.status = 'PARKED' and n.escalation_level > 1 and o.status <> 'PARKED'
                 then jsonb_build_object('to', n.escalated_to, 'level', n.escalation_level) end
       end as facts) told
   -- What is no longer in the row afterwards: the level that a parked error had reached, what became of the clock of
   -- a tier that it leaves, and why no retry follows.
   cross join lateral (
     select case when o.sla_due_at is not null and o.status in ('PARKED', 'ESCALATED')
                      and said.event_type in ('ESCALATED', 'UNPARKED', 'RESOLVED', 'RETIRED')
                 then case
                   when o.sla_breached_at is not null then jsonb_build_object('sla', 'breached')
                   when coalesce(o.sla_met_at, n.updated_at) <= o.sla_due_at then jsonb_build_object('sla', 'met')
                   -- Before the task on tiers came: no event SLA_BREACHED tells it, so this one counts.
                   else jsonb_build_object('sla', 'breached', 'unmarked', true) end end as sla,
            case when said.event_type in ('FAILED', 'LAPSED') and n.status in ('PARKED', 'ACTIVE')
                 then jsonb_build_object('ended_by', n.park_reason)
                 when said.event_type in ('SUPERSEDED', 'UNPARKED', 'RESOLVED', 'RETIRED', 'EXPIRED')
                      and o.status in ('PARKED', 'ESCALATED') and o.escalation_level >= 2
                 then jsonb_build_object('level', o.escalation_level) end as facts) was
   -- Erasing texts is in the control log. The end of a retry has its own event.
   where n.retry_count <> o.retry_count
      or (n.error_message, n.payload, n.last_failure) is not distinct from (o.error_message, o.payload, o.last_failure);
  return null;
end $$;
revoke execute on function recoup.record_error_moves() from public;
comment on function recoup.record_error_moves() is
'The event of a move: an outcome, a decision, being superseded.';

create or replace function recoup.retry_with_digest(retry_with jsonb) returns text
language sql immutable as $$ select encode(sha256(convert_to(retry_with::text, 'UTF8')), 'hex') $$;
comment on function recoup.retry_with_digest(jsonb) is
'Digest of an alternative, as the event of the unparking has it.';

create or replace function recoup.archive_digest(r recoup.error_archive) returns text
language sql stable as $$
  -- Without nulls: a column that is added later changes no digest. Times are in the caller's zone: UTC.
  select encode(sha256(convert_to(jsonb_strip_nulls(to_jsonb(r))::text, 'UTF8')), 'hex')
$$;
comment on function recoup.archive_digest(recoup.error_archive) is 'Digest of an archived error, as its event has it.';

-- Made from the catalogue, because there is one right list of columns: all that are written. A migration that adds one
-- to recoup.error and to its archive has to change this file too, or the function stays as it was.
do $make$
declare
  columns text;
  taken   text;  -- what each of them gets
begin
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
         string_agg(case a.attname when 'status' then '''ARCHIVED'''
                                   when 'archived_at' then 'coalesce(o.archived_at, now_)'
                                   when 'archive_reason' then 'coalesce(o.archive_reason, ''TTL_EXPIRED'')'
                                   else 'o.' || quote_ident(a.attname) end, ', ' order by a.attnum)
    into columns, taken
    from pg_attribute a
   where a.attrelid = 'recoup.error'::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '';
  execute format($function$
create or replace function recoup.archive_errors_gone() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = utc
-- Archived and deleted rows are joined by hash, however they were deleted.
set enable_hashjoin = on set enable_nestloop = off
as $body$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
  now_         constant timestamptz := recoup.now();
  blocking     constant text[] := recoup.blocking_tables();
begin
  perform recoup.require_table(tg_relid, 'recoup.error');
  if not exists (select from old_rows) then
    return null;
  end if;
  with archived as (
    insert into recoup.error_archive (%1$s, archived_by, final_disposition, was_blocking)
    select %2$s, coalesce(v.actor_id, id), o.disposition,
           coalesce(o.archive_reason, 'TTL_EXPIRED') = 'TTL_EXPIRED' and o.disposition in ('RETRY', 'PARKED')
           and o.error_table = any(blocking)
      from old_rows o
      -- Who closed it: a closed error does not move, so its last event is the one that closed it.
      left join lateral (
        select v.actor_id from recoup.error_event v
         where o.archived_at is not null and v.error_id = o.error_id order by v.seq desc limit 1) v on true
    -- The archive is not sealed, so that its months can be dropped; the digests of its rows are.
    returning error_table, error_id, archive_reason, was_blocking, recoup.archive_digest(error_archive) as digest)
  insert into recoup.error_event (
    incarnation, logged_at, error_table, error_id, event_type, from_status, to_status, disposition, retry_count, reason,
    facts, actor, actor_id, authority)
  select incarnation_, now_, o.error_table, o.error_id, 'ARCHIVED', o.status, 'ARCHIVED', o.disposition, o.retry_count,
         a.archive_reason,
         jsonb_strip_nulls(jsonb_build_object(
           'was_blocking', nullif(a.was_blocking, false), 'digest', a.digest,
           -- Found expired before: it has EXPIRED.
           'was_closed', case when o.archive_reason = 'TTL_EXPIRED' then true end,
           'level', case when o.archived_at is null and o.status in ('PARKED', 'ESCALATED') and o.escalation_level >= 2
                         then o.escalation_level end)),
         kind, id, role_
    from old_rows o join archived a on a.error_id = o.error_id and a.error_table = o.error_table;
  return null;
end $body$ $function$, columns, taken);
end $make$;
revoke execute on function recoup.archive_errors_gone() from public;
comment on function recoup.archive_errors_gone() is
'Writes rows that were deleted from a live table to its archive, and ARCHIVED to the log.';
