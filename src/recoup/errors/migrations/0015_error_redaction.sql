-- Erasing what should not have been recorded: a row here replaces the texts of an error, live or archived.
create table recoup.error_redaction (
  redaction_id  bigint generated always as identity primary key,
  error_table   text not null,
  error_id      bigint not null,
  status        text not null default 'DONE' check (status = 'DONE'),
  error_message text,
  payload       jsonb,
  last_failure  text,
  digest        bytea not null,
  redacted_at   timestamptz not null check (isfinite(redacted_at))
);
create index error_redaction_error on recoup.error_redaction (error_id);
comment on table recoup.error_redaction is
'What was erased from errors after they were recorded. Making the row erases it; who and why is in the control log.';
comment on column recoup.error_redaction.redaction_id is 'Identity.';
comment on column recoup.error_redaction.error_table is 'The error''s table …';
comment on column recoup.error_redaction.error_id is '… and its id there.';
comment on column recoup.error_redaction.status is 'DONE.';
comment on column recoup.error_redaction.error_message is
'What its message is to be: as it was, with [redacted] in the place of what is erased. Not kept: the error has it.';
comment on column recoup.error_redaction.payload is 'What its payload is to be. Not kept.';
comment on column recoup.error_redaction.last_failure is 'What its last failed retry is to have said. Not kept.';
comment on column recoup.error_redaction.digest is 'SHA-256 of the three (recoup.redaction_digest).';
comment on column recoup.error_redaction.redacted_at is 'When.';
grant select on recoup.error_redaction to recoup_reader;
grant insert (error_table, error_id, error_message, payload, last_failure, digest, redacted_at)
  on recoup.error_redaction to recoup_operator;
-- By its consequence alone (recoup.lifecycle_step), which takes the texts out again.
grant update (error_message, payload, last_failure) on recoup.error_redaction to recoup_operator;
