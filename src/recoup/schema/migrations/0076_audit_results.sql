-- Results of the audit that were kept.

create table recoup.audit_result (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  started_at  timestamptz not null check (isfinite(started_at)),
  finished_at timestamptz not null check (isfinite(finished_at)),
  selected    text[] not null check (cardinality(selected) <= 1000),
  checked     integer not null,
  held        integer not null,
  not_checked integer not null,
  broken      integer not null,
  broken_rows jsonb not null check (octet_length(broken_rows::text) <= 1000000),
  seals_hold  boolean,
  recoup_version text not null check (octet_length(recoup_version) between 1 and 100),
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null,
  login       text default session_user,
  constraint audit_result_counts check (
    least(held, not_checked, broken) >= 0 and checked = held + not_checked + broken
    and jsonb_typeof(broken_rows) = 'object' and (broken = 0) = (broken_rows = '{}'))
);
create index audit_result_xid on recoup.audit_result (xid);
comment on table recoup.audit_result is
'Append-only: results of the audit that somebody kept. The audit itself writes nothing.';
comment on column recoup.audit_result.seq is 'Order over all logs.';
comment on column recoup.audit_result.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.audit_result.incarnation is 'Cluster that wrote it.';
comment on column recoup.audit_result.started_at is 'When the audit began: it saw what was committed then.';
comment on column recoup.audit_result.finished_at is 'When its result was kept.';
comment on column recoup.audit_result.selected is
'Beginnings of the ids of the invariants that were checked; none: all.';
comment on column recoup.audit_result.checked is 'How many invariants were selected.';
comment on column recoup.audit_result.held is 'How many of them hold.';
comment on column recoup.audit_result.not_checked is
'How many could not be checked, or not all of them, from where it ran.';
comment on column recoup.audit_result.broken is 'How many are broken.';
comment on column recoup.audit_result.broken_rows is 'The ids of these, and how many rows break each.';
comment on column recoup.audit_result.seals_hold is 'Whether the logs are as they were sealed. Null: not verified.';
comment on column recoup.audit_result.recoup_version is 'Version of the program that checked.';
comment on column recoup.audit_result.actor is 'system, ai or human.';
comment on column recoup.audit_result.actor_id is 'Who exactly.';
comment on column recoup.audit_result.authority is 'Database role that kept it.';
comment on column recoup.audit_result.login is 'Login of the session.';
grant select on recoup.audit_result to recoup_reader;
grant insert (started_at, selected, checked, held, not_checked, broken, broken_rows, seals_hold, recoup_version)
   on recoup.audit_result to recoup_operator;
