-- Columns of an error that say one thing together are set together, whoever writes them.

-- No program of ours wrote what the constraints refuse, but by hand it was possible. Such a row could not move any
-- more: what its status has no room for is taken out. As a change of types, because a row is updated by its lifecycle
-- alone.
do $$
begin
  if exists (
    select from recoup.error e
     where (e.parked_at is null) <> (e.parked_by is null) or e.parked_at is not null and e.park_reason is null
        or e.parked_at is not null and e.status not in ('PARKED', 'ESCALATED', 'RESOLVED')
        or e.park_reason is not null and e.status = 'RETRY_PENDING'
        or num_nulls(nullif(e.escalation_level, 0), e.escalated_at, e.escalated_to) not in (0, 3)
        or e.escalation_reason is not null and e.escalation_level = 0
        or e.last_outcome is not null and (e.retry_count = 0 or e.last_outcome = 'SUCCEEDED' and e.status <> 'RESOLVED')
        or e.last_failure is not null and e.last_outcome is null) then
    alter table recoup.error
      alter column parked_at type timestamptz using case
        when status in ('PARKED', 'ESCALATED', 'RESOLVED') and num_nulls(parked_by, park_reason) = 0 then parked_at end,
      alter column parked_by type text using case
        when status in ('PARKED', 'ESCALATED', 'RESOLVED') and num_nulls(parked_at, park_reason) = 0 then parked_by end,
      alter column park_reason type text using case when status <> 'RETRY_PENDING' then park_reason end,
      alter column escalation_level type integer using case
        when num_nulls(escalated_at, escalated_to) = 0 then escalation_level else 0 end,
      alter column escalated_at type timestamptz using case
        when escalation_level > 0 and escalated_to is not null then escalated_at end,
      alter column escalated_to type text using case
        when escalation_level > 0 and escalated_at is not null then escalated_to end,
      alter column escalation_reason type text using case
        when escalation_level > 0 and num_nulls(escalated_at, escalated_to) = 0 then escalation_reason end,
      alter column last_outcome type text using case
        when retry_count > 0 and (last_outcome <> 'SUCCEEDED' or status = 'RESOLVED') then last_outcome end,
      alter column last_failure type text using case
        when retry_count > 0 and (last_outcome <> 'SUCCEEDED' or status = 'RESOLVED') then last_failure end;
  end if;
end $$;

alter table recoup.error
  drop constraint error_parked, drop constraint error_escalated,
  add constraint error_parked check (
    case when status in ('PARKED', 'ESCALATED') then parked_at is not null
         when status <> 'RESOLVED' then parked_at is null else true end
    and (parked_at is null) = (parked_by is null)
    -- Where nothing may be parked the reason is kept alone.
    and (park_reason is not null or parked_at is null) and (park_reason is null or status <> 'RETRY_PENDING')),
  add constraint error_escalated check (
    (status <> 'ESCALATED' or escalation_level > 0) and (escalation_reason is null or escalation_level > 0)
    and (escalation_level > 0) = (escalated_at is not null) and (escalation_level > 0) = (escalated_to is not null)),
  add constraint error_outcome check (
    (last_outcome is null or retry_count > 0) and (last_failure is null or last_outcome is not null)
    and (last_outcome <> 'SUCCEEDED' or status = 'RESOLVED'));
