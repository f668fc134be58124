-- Tiers and clocks of reviews, compared with the log and with the policy; in the form of invariants.sql.
--
-- A minute is allowed where times of a row and of its event are compared, and where a policy may just have changed.
-- Errors that were parked before there were tiers have no parked_since until the duty has raised them.

-- name: tier_rows
with policies as (
  select p.figures -> 'errors' as figures, p.applied_at as since, lead(p.applied_at) over (order by p.version) as until
    from recoup.policy p),
kept as (
  select true as live, e.error_table, e.error_id, e.status, e.disposition, e.parked_since, e.parked_at,
         e.escalation_level, e.escalated_at, e.escalated_to, e.sla_due_at, e.sla_met_at, e.sla_breached_at,
         e.last_reviewed_at, e.created_at, e.archived_at, e.archive_reason
    from recoup.error e
  union all
  select false, a.error_table, a.error_id, a.status, a.disposition, a.parked_since, a.parked_at, a.escalation_level,
         a.escalated_at, a.escalated_to, a.sla_due_at, a.sla_met_at, a.sla_breached_at, a.last_reviewed_at,
         a.created_at, a.archived_at, a.archive_reason
    from recoup.error_archive a),
-- What the log says of each: when it was parked, what raised it last, and which reviews were overdue.
told as (
  select e.error_table, e.error_id, min(e.logged_at) filter (where e.event_type = 'RECORDED') as recorded_at,
         array_agg(e.logged_at) filter (
           where e.to_status in ('PARKED', 'ESCALATED')
             and coalesce(e.from_status, '') not in ('PARKED', 'ESCALATED')) as parkings,
         bool_or(e.event_type = 'ESCALATED') as was_escalated,
         max(e.logged_at) filter (where e.event_type = 'SLA_BREACHED') as breached_at,
         (array_agg(coalesce(e.facts ->> 'level', '1') order by e.seq desc)
            filter (where e.event_type = 'ESCALATED'
                      or e.to_status in ('PARKED', 'ESCALATED')
                         and coalesce(e.from_status, '') not in ('PARKED', 'ESCALATED')))[1]
           as level
    from recoup.error_event e group by 1, 2),
heirs as (
  select distinct v.error_table, (v.facts ->> 'superseded_by')::bigint as error_id
    from recoup.error_event v where v.facts ? 'superseded_by'),
beside as (
  select k.*, t.recorded_at, t.parkings, t.was_escalated, t.breached_at, t.level, h.error_id is not null as inherits,
         k.parked_since is not null and k.escalation_level > 0 as in_tier,
         p.hours, p.owners
    from kept k
    left join told t on t.error_table = k.error_table and t.error_id = k.error_id
    left join heirs h on h.error_table = k.error_table and h.error_id = k.error_id
    -- Of the policies that may have been active when it reached its tier.
   cross join lateral (
     select array_agg((p.figures #>> array['escalation', 'tier_' || k.escalation_level, 'sla_hours'])::integer)
              as hours,
            array_agg(recoup.tier_owner(k.error_table, k.escalation_level, p.figures)) as owners
       from policies p
      where k.escalation_level > 0 and p.since <= k.escalated_at + interval '1 minute'
        and (p.until is null or p.until >= k.escalated_at - interval '1 minute')) p)
select b.breaks, r.error_table, r.error_id, r.live, r.status, r.parked_since, r.parkings, r.escalation_level,
       r.level as told_level, r.escalated_at, r.escalated_to, r.owners, r.sla_due_at, r.sla_met_at, r.sla_breached_at,
       r.last_reviewed_at, r.archived_at
  from (
    select r.*, array_remove(array[
      -- It has no parked_since only where an older release parked it.
      case when r.status in ('PARKED', 'ESCALATED') and r.parked_since is not null
                and (r.escalation_level = 0 or num_nulls(r.escalated_at, r.escalated_to, r.sla_due_at) > 0)
           then 'errors/10/every-parked-error-has-a-tier' end,
      case when r.in_tier and not r.inherits and r.level is distinct from r.escalation_level::text
           then 'errors/10/escalation-level' end,
      -- A person escalates to anybody; in the first tier it is the team of the table.
      case when r.in_tier and r.escalation_level = 1 and not r.inherits and not r.was_escalated
                and not coalesce(r.escalated_to = any(r.owners), false)
           then 'errors/10/hub-team' end,
      case when r.parked_since is not null and not r.inherits
                and not exists (select from unnest(r.parkings) p
                                 where p between r.parked_since - interval '1 minute'
                                             and r.parked_since + interval '1 minute')
           then 'errors/10/parked-since' end,
      case when r.in_tier and r.sla_due_at is not null
                and not coalesce(extract(epoch from r.sla_due_at - r.escalated_at) / 3600 = any(r.hours), false)
           then 'errors/10/sla-hours' end,
      case when r.sla_met_at > r.sla_due_at or r.sla_met_at < r.escalated_at or r.sla_met_at > r.last_reviewed_at
             or r.sla_met_at is not null and num_nulls(r.sla_due_at, r.last_reviewed_at) > 0
             or r.sla_met_at is not null and r.sla_breached_at is not null
           then 'errors/10/sla-met' end,
      case when r.sla_breached_at is not null
                and (r.sla_due_at is null or r.sla_breached_at <= r.sla_due_at
                     or not r.inherits
                        and (abs(extract(epoch from r.sla_breached_at - r.breached_at)) < 60) is not true)
           then 'errors/10/sla-breached' end,
      case when not r.live and r.archive_reason = 'TTL_EXPIRED' and r.disposition = 'PARKED'
                and r.parked_since is not null
                and not coalesce(r.escalation_level = 3 and r.sla_due_at < r.archived_at, false)
           then 'errors/10/kept-for-every-tier' end
    ], null) as broken
      from beside r) r
 cross join unnest(r.broken) b (breaks)
 where r.broken <> '{}'

-- name: tier_events
-- What time did: each step to a tier, and each review that was overdue.
with policies as (
  select p.figures -> 'errors' as figures, p.applied_at as since, lead(p.applied_at) over (order by p.version) as until
    from recoup.policy p),
events as (
  select e.error_table, e.error_id, e.seq, e.event_type, e.logged_at, e.facts, e.authority,
         (e.facts ->> 'level')::integer as level, (e.facts ->> 'due_at')::timestamptz as due_at,
         e.facts ->> 'to' as owner,
         lag((e.facts ->> 'level')::integer) over of_error as before_level,
         lag(e.event_type) over of_error as before_type
    from recoup.error_event e
   where e.event_type in ('ESCALATED', 'SLA_BREACHED')
  window of_error as (partition by e.error_table, e.error_id order by e.seq)),
beside as (
  select e.*,
         (select bool_or(recoup.tier_owner(e.error_table, e.level, p.figures) = e.owner) from policies p
           where p.since <= e.logged_at + interval '1 minute'
             and (p.until is null or p.until >= e.logged_at - interval '1 minute')) as to_owner
    from events e where e.authority = 'recoup_error_worker')
select b.breaks, r.error_table, r.error_id, r.seq, r.event_type, r.logged_at, r.level, r.before_level, r.due_at,
       r.owner, r.facts
  from (
    select r.*, array_remove(array[
      case when r.event_type = 'ESCALATED'
                and (num_nulls(r.level, r.due_at, r.owner) > 0 or r.due_at > r.logged_at
                     or r.level <= r.before_level
                     or coalesce(r.facts -> 'skipped', '[]')
                        <> coalesce((select jsonb_agg(t) from generate_series(
                                       r.level - jsonb_array_length(coalesce(r.facts -> 'skipped', '[]')),
                                       r.level - 1) t), '[]'))
           then 'errors/10/tier-is-due' end,
      case when r.event_type = 'ESCALATED' and r.to_owner is not true
           then 'errors/10/tier-owner' end,
      case when r.event_type = 'SLA_BREACHED'
                and (num_nulls(r.level, r.due_at, r.owner) > 0 or r.due_at >= r.logged_at
                     or r.before_type = 'SLA_BREACHED' and r.before_level = r.level
                        and not exists (
                          select from recoup.error_event v
                           where v.error_id = r.error_id and v.error_table = r.error_table and v.seq < r.seq
                             and v.to_status = 'PARKED' and v.from_status not in ('PARKED', 'ESCALATED')))
           then 'errors/10/sla-once' end
    ], null) as broken
      from beside r) r
 cross join unnest(r.broken) b (breaks)
 where r.broken <> '{}'
