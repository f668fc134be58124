-- By CASE in place of COALESCE: under row-level security the planner takes no condition with COALESCE to an index.
-- The indexes of clocks are made again after it: of two that seem equal, the planner takes the one that was made later.

drop index recoup.error_tier, recoup.error_sla_running, recoup.error_sla_breached;
create index error_tier
  on recoup.error (escalation_level, (case when parked_since is null then parked_at else parked_since end))
  where status in ('PARKED', 'ESCALATED') and archived_at is null;
create index error_sla_running on recoup.error (sla_due_at)
  where status in ('PARKED', 'ESCALATED') and archived_at is null and sla_met_at is null and sla_breached_at is null;
create index error_sla_breached on recoup.error (sla_due_at)
  where status in ('PARKED', 'ESCALATED') and archived_at is null and sla_breached_at is not null;
