-- What holds of partitions and their runs. Every query gives rows whose first column, breaks, is the id of an invariant
-- of invariants.py.

-- name: states
-- Each partition compared with its attempts and its events.
with attempts as (
  select a.partition_id, count(*) as attempts, count(distinct a.number) as numbers, min(a.number) as first_number,
         max(a.number) as last_number, count(*) filter (where a.verdict = 'accepted') as accepted,
         (array_agg(a.run_id order by a.number desc) filter (where a.verdict = 'accepted'))[1] as accepted_run,
         (array_agg(a.message order by a.number desc))[1] as message
    from partitions.attempt a group by a.partition_id),
events as (
  select e.partition_id, count(*) filter (where e.event_type in ('accepted', 'rejected')) as counted,
         count(distinct e.facts ->> 'attempt_count') as counts,
         (array_agg(e.event_type order by e.seq desc))[1] as last_event,
         (array_agg(e.logged_at order by e.seq desc))[1] as last_at
    from partitions.partition_event e where e.subject = 'partition' group by e.partition_id),
compared as (
  select coalesce(p.partition_id, a.partition_id, e.partition_id) as partition_id, p.status, p.attempt_count,
         p.current_run_id, p.updated_at, a.attempts, a.accepted_run, e.last_event, e.last_at, array_remove(array[
    case when p.partition_id is null or p.attempt_count is distinct from coalesce(a.attempts, 0)
           or a.attempts > 0 and (a.numbers, a.first_number, a.last_number) is distinct from (a.attempts, 1, a.attempts)
           or e.counted is distinct from coalesce(a.attempts, 0) or e.counts is distinct from e.counted
         then 'partitions/9/every-attempt-counts-once' end,
    case when p.current_run_id is distinct from a.accepted_run
           or a.accepted_run is not null
              and (r.partition_id = p.partition_id and r.status = 'accepted' and r.published_at is not null) is not true
         then 'partitions/9/current-run-exists' end,
    case when p.status is distinct from case when a.accepted > 0 then 'success'
                                             when e.last_event = 'rejected' then 'failed' else 'pending' end
           or p.error_message is distinct from case when coalesce(a.accepted, 0) = 0 then a.message end
           or p.updated_at is distinct from e.last_at
         then 'partitions/9/state-is-the-sole-authority' end], null) as broken
    from partitions.partition_state p
    full join attempts a on a.partition_id = p.partition_id
    full join events e on e.partition_id = coalesce(p.partition_id, a.partition_id)
    left join partitions.run r on r.run_id = a.accepted_run)
select b.breaks, c.partition_id, c.status, c.attempt_count, c.attempts, c.current_run_id, c.accepted_run, c.last_event,
       c.updated_at, c.last_at
  from compared c cross join unnest(c.broken) b (breaks)
 where c.broken <> '{}'

-- name: runs
-- Each run compared with its events and its attempt.
with events as (
  select e.run_id, min(e.partition_id) as partition_id, count(*) filter (where e.event_type = 'dispatched') as times,
         (array_agg(e.reason order by e.seq desc) filter (where e.event_type = 'dispatched'))[1] as worker,
         (array_agg(e.token order by e.seq desc) filter (where e.event_type = 'dispatched'))[1] as token,
         (array_agg(e.logged_at order by e.seq desc) filter (where e.event_type = 'dispatched'))[1] as dispatched_at,
         (array_agg(e.facts ->> 'turn' order by e.seq desc) filter (where e.event_type = 'dispatched'))[1] as turn,
         (array_agg(e.token order by e.seq desc)
            filter (where e.event_type = 'started' or e.facts ->> 'started' = 'true'))[1] as started_with,
         count(*) filter (where e.event_type = 'published') as publications,
         (array_agg(e.facts) filter (where e.event_type = 'published'))[1] as published,
         max(e.logged_at) filter (where e.event_type = 'published') as published_at,
         (array_agg(e.reason order by e.seq desc) filter (where e.event_type in ('lost', 'released')))[1] as reason,
         (array_agg(e.facts ->> 'message' order by e.seq desc)
            filter (where e.event_type in ('lost', 'released')))[1] as message,
         (array_agg(e.event_type order by e.seq desc))[1] as last_event,
         (array_agg(e.logged_at order by e.seq desc))[1] as last_at
    from partitions.partition_event e where e.subject = 'run' group by e.run_id),
attempts as (select a.*, count(*) over (partition by a.run_id) as times from partitions.attempt a),
runs as (
  select r.*, count(*) over (partition by r.sink_id, r.location) as in_place,
         r.status in ('accepted', 'rejected') as judged,
         coalesce(r.reason in ('NOTHING_TO_VALIDATE', 'VALIDATOR_LOST'), false) as gave_up
    from partitions.run r),
compared as (
  select coalesce(r.run_id, e.run_id, a.run_id) as run_id, coalesce(r.partition_id, e.partition_id) as partition_id,
         r.status, r.updated_at, e.last_event, e.last_at, a.verdict, array_remove(array[
    case when (r.published_at is null) <> (coalesce(e.publications, 0) = 0) or e.publications > 1
           or r.published_at is distinct from e.published_at
           or (r.location, r.manifest_digest, r.rows::text, r.bytes::text, r.format, r.sink_id::text)
              is distinct from (e.published ->> 'location', e.published ->> 'digest', e.published ->> 'rows',
                                e.published ->> 'bytes', e.published ->> 'format', e.published ->> 'sink_id')
           or r.location is not null and (r.in_place > 1 or k.sink_id is null)
         then 'partitions/9/raw-partitions-are-immutable' end,
    case when coalesce(r.judged, false) <> (a.run_id is not null) or a.times > 1
           or a.authority <> 'recoup_validator'
           or r.judged and (r.partition_id, r.status, r.reason, r.rule, r.message, r.error_signature, r.category,
                            r.rows, r.bytes, r.manifest_digest, r.location, r.sink_id, r.validator, r.validator_version,
                            r.contract_digest, r.policy_version, r.opened_at, r.published_at, r.ended_at)
              is distinct from (a.partition_id, a.verdict, a.reason, a.rule, a.message, a.error_signature, a.category,
                                a.rows, a.bytes, a.digest, a.location, a.sink_id, a.validator, a.validator_version,
                                a.contract_digest, a.policy_version, a.opened_at, a.published_at, a.logged_at)
         then 'partitions/9/prior-attempts-stay' end,
    case when r.run_id is null or e.run_id is null or r.partition_id is distinct from e.partition_id
           or (r.worker, r.token, r.started_with, r.turn::text, r.validations + 1)
              is distinct from (e.worker, e.token, e.started_with, e.turn, e.times)
           or r.dispatched_at not between e.dispatched_at - interval '1 minute' and e.dispatched_at
           or not r.judged and ((r.reason, r.message) is distinct from (e.reason, e.message)
                or num_nonnulls(r.rule, r.error_signature, r.category, r.validator, r.validator_version,
                                r.contract_digest) > 0)
           or r.ended_with is distinct from case when r.judged and not r.gave_up then r.token end
           or case when r.status in ('open', 'published')
                   then r.ended_at is not null or r.updated_at < e.last_at
                        or (r.lease_until is null) <> (e.last_event = 'released')
                   else r.ended_at is distinct from e.last_at or r.updated_at <> r.ended_at
                        or r.lease_until is not null end
         then 'partitions/runs/as-logged' end], null) as broken
    from runs r
    full join events e on e.run_id = r.run_id
    full join attempts a on a.run_id = coalesce(r.run_id, e.run_id)
    left join partitions.sink k on k.sink_id = r.sink_id)
select b.breaks, c.run_id, c.partition_id, c.status, c.verdict, c.last_event, c.updated_at, c.last_at
  from compared c cross join unnest(c.broken) b (breaks)
 where c.broken <> '{}'

-- name: numbers
select 'partitions/9/one-run-at-a-time' as breaks, r.partition_id, count(*) as runs, max(r.number) as last_number,
       count(*) filter (where r.status in ('open', 'published')) as under_way
  from partitions.run r group by r.partition_id
having count(*) filter (where r.status in ('open', 'published')) > 1
    or (count(distinct r.number), min(r.number), max(r.number)) is distinct from (count(*), 1, count(*))

-- name: requeued
-- With its dispatch, or with the request, in the same transaction; by the executor only with
-- what a candidate asked for.
select 'partitions/2/requeued' as breaks, e.seq, e.partition_id, e.from_status, e.to_status, e.authority, e.actor_id,
       e.logged_at
  from partitions.partition_event e
  left join (select distinct x.partition_id, x.incarnation, x.xid from partitions.partition_event x
              where x.subject = 'schedule' and (x.to_status = 'open' or x.facts ? 'asked')) c
         on (c.partition_id, c.incarnation, c.xid) = (e.partition_id, e.incarnation, e.xid)
 where e.subject = 'partition' and (e.event_type = 'requeued' or e.from_status = 'failed')
   and (e.authority <> 'recoup_control_plane' and not partitions.is_requested(e) or c.xid is null
        or (e.event_type, e.from_status, e.to_status) is distinct from ('requeued', 'failed', 'pending'))

-- name: late_results
-- One that presents the token of a run under a lease, within it, was to be applied: unless it came before there was
-- anything to judge, or crossed it within a second.
with started as (
  select e.run_id, e.token, min(e.logged_at) as at from partitions.partition_event e
   where e.subject = 'run' and (e.event_type = 'started' or e.facts ->> 'started' = 'true') group by 1, 2)
select 'laws/L5/late-verdicts' as breaks, l.late_result_id, l.unit_id, l.received_at, r.status, r.ended_at,
       r.lease_until
  from recoup.late_result l
  left join partitions.run r on r.run_id::text = l.unit_id
  left join started s on (s.run_id, s.token) = (r.run_id, r.token)
 where l.subject = 'partitions.run'
   and (r.run_id is null
        or r.token = l.token and greatest(r.published_at, s.at) < l.received_at - interval '1 second'
           and num_nulls(r.published_at, s.at) = 0
           and (r.lease_until > l.received_at + interval '1 second'
                or r.ended_at > l.received_at + interval '1 second' and r.ended_with is not distinct from l.token))

-- name: stamped
-- Within a minute, because a policy may be applied while others work.
with versions as (
  select p.version, p.applied_at, lead(p.applied_at) over (order by p.version) as replaced_at from recoup.policy p)
select 'laws/L8/partitions-stamped' as breaks, r.run_id, r.policy_version, r.opened_at, v.applied_at, v.replaced_at
  from partitions.run r
  left join versions v on v.version = r.policy_version
 where v.version is null or r.opened_at < v.applied_at - interval '1 minute'
    or r.opened_at > v.replaced_at + interval '1 minute'
