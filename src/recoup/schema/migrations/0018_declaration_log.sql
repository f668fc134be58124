-- Every change of what is declared, so that a step that was there for a moment is found afterwards.

create table recoup.declaration_log (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  event_type  text not null check (event_type in ('ADDED', 'REMOVED')),
  declared_in text not null,
  row         jsonb not null,
  login       text not null default session_user
);
create index declaration_log_xid on recoup.declaration_log (xid);
comment on table recoup.declaration_log is 'Append-only: what was declared, and what is not any more, row by row.';
comment on column recoup.declaration_log.seq is 'Order over all logs.';
comment on column recoup.declaration_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.declaration_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.declaration_log.logged_at is 'When.';
comment on column recoup.declaration_log.event_type is 'ADDED or REMOVED; a changed row is both.';
comment on column recoup.declaration_log.declared_in is 'Table of the row.';
comment on column recoup.declaration_log.row is 'The row.';
comment on column recoup.declaration_log.login is 'Who was logged in.';
grant select on recoup.declaration_log to recoup_reader;

-- So that the audit sees whether it was set back.
grant select on sequence recoup.event_seq to recoup_reader;

-- What is declared is changed row by row, so a row that others refer to goes before its new form comes.
alter table recoup.lifecycle_step alter constraint lifecycle_step_subject_fkey deferrable;
alter table recoup.follower alter constraint follower_subject_fkey deferrable;
