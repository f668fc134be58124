-- A later success of the same work closes an error: CLEARED.

alter table recoup.error_event
  drop constraint error_event_event_type_check,
  add constraint error_event_event_type_check check (
    event_type in ('RECORDED', 'CLAIMED', 'SUCCEEDED', 'FAILED', 'LAPSED', 'WINDOW_CLOSED', 'PARKED', 'UNPARKED',
                   'RESOLVED', 'ESCALATED', 'ASSIGNED', 'REVIEWED', 'SUPERSEDED', 'EXPIRED', 'RETIRED', 'ARCHIVED',
                   'CLEARED'));
