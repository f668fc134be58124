-- Escalation: the tier of a parked error is raised with time, and the owner of each tier has to review it in time.
-- No row is rewritten here: what was parked without a tier gets one from the duty.

alter table recoup.error
  add column parked_since timestamptz constraint error_parked_since_check check (isfinite(parked_since)),
  add column sla_due_at timestamptz constraint error_sla_due_at_check check (isfinite(sla_due_at)),
  add column sla_met_at timestamptz constraint error_sla_met_at_check check (isfinite(sla_met_at)),
  add column sla_breached_at timestamptz constraint error_sla_breached_at_check check (isfinite(sla_breached_at)),
  add constraint error_sla check (
    (sla_due_at is null or escalation_level > 0 and parked_since is not null and sla_due_at > escalated_at)
    and (num_nonnulls(sla_met_at, sla_breached_at) = 0 or sla_due_at is not null)
    and num_nonnulls(sla_met_at, sla_breached_at) < 2
    and (sla_met_at is null or sla_met_at <= sla_due_at)
    and (sla_breached_at is null or sla_breached_at > sla_due_at));
alter table recoup.error_archive
  add column parked_since timestamptz,
  add column sla_due_at timestamptz,
  add column sla_met_at timestamptz,
  add column sla_breached_at timestamptz;
do $$
declare
  table_ text;
begin
  foreach table_ in array array['recoup.error', 'recoup.error_archive'] loop
    execute format($sql$
      comment on column %1$s.parked_since is
        'When it was first parked: its tiers count from here, also when it is parked again after a retry.';
      comment on column %1$s.sla_due_at is 'Until when the owner of its tier has to review it.';
      comment on column %1$s.sla_met_at is 'When it was first reviewed in this tier, if that was in time.';
      comment on column %1$s.sla_breached_at is 'When it was found unreviewed after that time. Once per tier.';
    $sql$, table_);
  end loop;
end $$;

-- By tier, then by age: what is due is a range of each tier, and what is not due is not read.
create index error_tier on recoup.error (escalation_level, (coalesce(parked_since, parked_at)))
  where status in ('PARKED', 'ESCALATED') and archived_at is null;
-- Clocks that run, and those that ended with a breach: a row is in one of the two, or in none.
create index error_sla_running on recoup.error (sla_due_at)
  where status in ('PARKED', 'ESCALATED') and archived_at is null and sla_met_at is null and sla_breached_at is null;
create index error_sla_breached on recoup.error (sla_due_at)
  where status in ('PARKED', 'ESCALATED') and archived_at is null and sla_breached_at is not null;

alter table recoup.error_event
  drop constraint error_event_event_type_check,
  add constraint error_event_event_type_check check (event_type in (
    'RECORDED', 'CLAIMED', 'SUCCEEDED', 'FAILED', 'LAPSED', 'WINDOW_CLOSED', 'PARKED', 'UNPARKED', 'RESOLVED',
    'CLEARED', 'ESCALATED', 'ASSIGNED', 'REVIEWED', 'SLA_BREACHED', 'SUPERSEDED', 'EXPIRED', 'RETIRED', 'ARCHIVED'));
create index error_event_expired_blocking on recoup.error_event (logged_at)
  where event_type = 'ARCHIVED' and facts ? 'was_blocking';

-- Whoever parks an error sets its tier; whoever decides on it ends the clock of its review.
grant update (parked_since, escalation_level, escalated_at, escalated_to, escalation_reason, sla_due_at, sla_met_at,
  sla_breached_at) on recoup.error to recoup_hub, recoup_error_worker;
grant update (parked_since, sla_due_at, sla_met_at, sla_breached_at) on recoup.error
  to recoup_operator, recoup_executor;
grant update (sla_met_at) on recoup.error to recoup_reviewer;

-- Made again by the routines, with more results.
drop function if exists recoup.inherited(bigint[], text[], bigint[]);
