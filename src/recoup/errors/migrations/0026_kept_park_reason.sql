-- An error that was to be parked, in a table that does not allow it, keeps the park reason; also while it is retried.

alter table recoup.error
  drop constraint error_parked,
  add constraint error_parked check (
    case when status in ('PARKED', 'ESCALATED') then parked_at is not null
         when status <> 'RESOLVED' then parked_at is null else true end
    and (parked_at is null) = (parked_by is null)
    and (park_reason is not null or parked_at is null)
    and (park_reason is null or status <> 'RETRY_PENDING' or clamped_from is not distinct from 'PARK'));
comment on column recoup.error.park_reason is
'Why the error is parked, or would be if its table allowed it (code or text).';
comment on column recoup.error_archive.park_reason is
'Why the error was parked, or would have been if its table allowed it (code or text).';
comment on column recoup.error.parked_by is 'Who parked the error: system, or the person who asked for it.';
comment on column recoup.error_archive.parked_by is 'Who parked the error: system, or the person who asked for it.';
