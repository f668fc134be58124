-- Tracebacks of failed retries, apart from the sealed log of events: they can be deleted when they hold a secret, and
-- they go when the archive of their error does.
create table recoup.retry_traceback (
  traceback_id bigint generated always as identity primary key,
  error_table  text not null,
  error_id     bigint not null,
  retry        integer not null check (retry > 0),
  token        uuid not null,
  status       text not null default 'KEPT' check (status = 'KEPT'),
  traceback    text not null check (length(traceback) between 1 and 20000),
  recorded_at  timestamptz not null check (isfinite(recorded_at)),
  unique (error_id, retry)
);
comment on table recoup.retry_traceback is
'Tracebacks of failed retries. Deleted by an operator when they hold a secret, and with the archive of their error.';
comment on column recoup.retry_traceback.traceback_id is 'Identity.';
comment on column recoup.retry_traceback.error_table is 'Table of the error …';
comment on column recoup.retry_traceback.error_id is '… and its id there.';
comment on column recoup.retry_traceback.retry is 'Number of the retry, from 1: retry_count of its event FAILED.';
comment on column recoup.retry_traceback.token is 'Token of the claim.';
comment on column recoup.retry_traceback.status is 'KEPT.';
comment on column recoup.retry_traceback.traceback is 'Innermost frames and message, without secrets that are known.';
comment on column recoup.retry_traceback.recorded_at is 'When.';
grant select on recoup.retry_traceback to recoup_reader;
grant insert (error_table, error_id, retry, token, traceback, recorded_at)
  on recoup.retry_traceback to recoup_hub, recoup_error_worker;
grant delete on recoup.retry_traceback to recoup_operator, recoup_archiver;
