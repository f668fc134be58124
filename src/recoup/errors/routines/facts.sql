-- Which values the columns of an error may have at birth, and which of them a move may change: a move has one event,
-- and changes nothing that the event does not tell. What concerns a single row only is a constraint of the table.

create or replace function recoup.decides_errors(acting text) returns boolean
language sql immutable parallel safe as $$
  -- The executor and the reviewer for recovery candidates, and for few steps (recoup.lifecycle_step).
  select acting in ('recoup_operator', 'recoup_executor', 'recoup_reviewer')
$$;
comment on function recoup.decides_errors(text) is
'Whether moves of errors by this role are decisions, of a person or of a recovery candidate, and not retries.';

create or replace function recoup.error_birth_broken(n recoup.error, now_ timestamptz) returns text
language sql stable as $$
  -- An hour, because clocks are set back: inherited times are normally in the past, and where they are not, the failure
  -- must be recorded all the same. The audit checks whether they were inherited.
  select case
    when greatest(n.last_retry_at, n.parked_at, n.escalated_at, n.last_reviewed_at, n.parked_since, n.sla_met_at,
                  n.sla_breached_at) > now_ + interval '1 hour'
         or n.next_retry_at > now_ + interval '30 days'
         or greatest(n.retry_until, n.sla_due_at) > now_ + interval '8761 hours'
      then 'has a time in the future.'
    when least(n.last_retry_at, n.parked_at, n.escalated_at, n.last_reviewed_at, n.parked_since)
         < n.created_at - interval '1 hour'
      then 'has a time before it first failed.'
    when n.last_retry_at is not null and n.retry_count = 0 then 'has the time of a retry, and no retry.'
    when n.status in ('PARKED', 'ESCALATED') and num_nulls(n.parked_since, n.sla_due_at) > 0
      then 'is parked, and in no tier.' end
$$;
comment on function recoup.error_birth_broken(recoup.error, timestamptz) is
'What is wrong with an error at birth, as a text, or null.';

create or replace function recoup.error_change_broken(
  o recoup.error, n recoup.error, now_ timestamptz, acting text) returns text
language sql stable as $$
  -- STABLE, and part of recoup.error_move_broken: only then is it inlined there.
  select coalesce(
    case
      when n.retry_count = o.retry_count
           and (n.last_retry_at, n.last_outcome, n.last_failure)
               is distinct from (o.last_retry_at, o.last_outcome, o.last_failure) then 'no_retry_told'
      -- An hour, because clocks are set back.
      when n.last_retry_at > greatest(n.updated_at, now_) + interval '1 hour' then 'last_retry_at'
      when (n.parked_at, n.parked_by, n.park_reason) is distinct from (o.parked_at, o.parked_by, o.park_reason)
           and (n.status = o.status or n.status not in ('PARKED', 'RETRY_PENDING', 'ACTIVE')) then 'parking' end,
    -- An alternative comes with a recovery candidate, and goes with the next unparking.
    case when n.retry_with is distinct from o.retry_with
              and not (n.status = 'RETRY_PENDING' and o.status <> 'RETRY_PENDING'
                       and (acting = 'recoup_executor' or n.retry_with is null)) then 'retry_with' end,
    case when recoup.decides_errors(acting) then case
      when n.status = 'RETRY_PENDING' and o.status <> 'RETRY_PENDING' then case
        when n.next_retry_at > now_ + interval '1 second' then 'unparked_later'
        when n.retry_until is not null then 'retry_until' end
      when n.retry_until is distinct from o.retry_until then 'retry_until'
      when n.max_retries <> o.max_retries then 'grant'
      when n.status = 'PARKED' and o.status <> 'PARKED' and n.parked_by <> recoup.acting_id() then 'parked_by'
      -- The tier rises without the status only for a recovery candidate that nobody approved.
      when n.status = 'PARKED' and o.status = 'PARKED' and acting <> 'recoup_executor'
           and n.escalation_level <> o.escalation_level then 'escalation' end end,
    case when recoup.decides_errors(acting) then case
      when n.last_reviewed_at is distinct from o.last_reviewed_at
           and recoup.is_now(n.last_reviewed_at, now_ - interval '1 minute', now_) is not true then 'last_reviewed_at'
      -- Whatever a person does with a parked error is a review of it.
      when acting = 'recoup_operator' and o.status in ('PARKED', 'ESCALATED')
           and recoup.is_now(n.last_reviewed_at, now_ - interval '1 minute', now_) is not true then 'unreviewed'
      when (n.status <> o.status or n.archived_at is not null)::integer
           + (n.assigned_to is distinct from o.assigned_to)::integer
           + (n.status = o.status and n.escalation_level <> o.escalation_level)::integer
           -- Reviewed, and nothing else; also twice at one instant of a simulated clock.
           + (num_nulls(n.archived_at) = 1
              and (n.status, n.assigned_to, n.escalation_level)
                  is not distinct from (o.status, o.assigned_to, o.escalation_level)
              and recoup.is_now(n.last_reviewed_at, now_ - interval '1 minute', now_) is true)::integer <> 1
        then 'not_one_thing' end end)
$$;
comment on function recoup.error_change_broken(recoup.error, recoup.error, timestamptz, text) is
'The rule that a change breaks because its event would not tell it (recoup.error_move_rules), or null.';
