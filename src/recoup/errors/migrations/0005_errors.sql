-- Errors: one parent whose partitions are the error tables, their archives, the log of every move, and bulk operations.
-- The partitions themselves are made from the policy (recoup.make_error_table), each with the same guards.

drop function if exists cl.require_read_committed();  -- recoup.require_read_committed takes its place

create sequence recoup.error_seq;
comment on sequence recoup.error_seq is 'Ids of errors, over all error tables.';

create table recoup.error (
  error_table       text not null,
  error_id          bigint not null default nextval('recoup.error_seq') check (error_id > 0),
  outreach_id       uuid,
  error_code        text check (octet_length(error_code) between 1 and 200),
  error_message     text not null,
  error_signature   text not null check (octet_length(error_signature) between 1 and 200),
  severity          text check (severity in ('CRITICAL', 'HIGH', 'MEDIUM', 'LOW')),
  category          text not null check (category in ('TRANSIENT', 'OPERATIONAL', 'STRUCTURAL')),
  disposition       text not null check (disposition in ('RETRY', 'PARKED', 'ARCHIVE', 'IGNORE')),
  status            text not null check (status in ('ACTIVE', 'RETRY_PENDING', 'PARKED', 'ESCALATED', 'RESOLVED')),
  ttl_tier          text not null check (ttl_tier in ('SHORT', 'MEDIUM', 'LONG', 'INFINITE')),
  expires_at        timestamptz check (isfinite(expires_at)),
  retry_count       integer not null default 0 check (retry_count >= 0),
  max_retries       integer not null check (max_retries >= 0),
  last_retry_at     timestamptz check (isfinite(last_retry_at)),
  next_retry_at     timestamptz check (isfinite(next_retry_at)),
  retry_exhausted   boolean generated always as (retry_count >= max_retries) stored,
  retry_until       timestamptz check (isfinite(retry_until)),
  last_outcome      text check (last_outcome in ('SUCCEEDED', 'FAILED', 'LAPSED')),
  last_failure      text,
  parked_at         timestamptz check (isfinite(parked_at)),
  parked_by         text,
  park_reason       text check (octet_length(park_reason) between 1 and 2000),
  assigned_to       text check (octet_length(assigned_to) between 1 and 500),
  escalation_level  integer not null default 0 check (escalation_level between 0 and 3),
  last_reviewed_at  timestamptz check (isfinite(last_reviewed_at)),
  escalated_at      timestamptz check (isfinite(escalated_at)),
  escalated_to      text check (octet_length(escalated_to) between 1 and 500),
  escalation_reason text check (octet_length(escalation_reason) between 1 and 2000),
  token             uuid,
  leased_by         text check (octet_length(leased_by) between 1 and 500),
  lease_until       timestamptz check (isfinite(lease_until)),
  payload           jsonb,
  decided_by        text not null check (decided_by in ('person', 'hub rule', 'code rule', 'severity', 'table')),
  clamped_from      text check (clamped_from in ('RETRY', 'PARK', 'ARCHIVE', 'IGNORE')),
  policy_version    integer not null,
  created_at        timestamptz not null check (isfinite(created_at)),
  updated_at        timestamptz not null check (isfinite(updated_at)),
  superseded_by     bigint,
  archived_at       timestamptz check (isfinite(archived_at)),
  archive_reason    text check (archive_reason in ('TTL_EXPIRED', 'MANUAL', 'RESOLVED', 'SUPERSEDED')),
  -- By id first: the table is the same in all of a partition, and an index that began with it would look like the way to
  -- whatever is asked of one table.
  primary key (error_id, error_table),
  constraint error_status_disposition check (status = 'RESOLVED' or disposition = case status when 'RETRY_PENDING' then 'RETRY'
    when 'PARKED' then 'PARKED' when 'ESCALATED' then 'PARKED' else case disposition when 'IGNORE' then 'IGNORE' else 'ARCHIVE' end end),
  constraint error_ttl check ((ttl_tier = 'INFINITE') = (expires_at is null)),
  constraint error_parked check (status not in ('PARKED', 'ESCALATED') or (parked_at is not null and parked_by is not null and park_reason is not null)),
  constraint error_retry_pending check (status <> 'RETRY_PENDING' or archived_at is not null or (next_retry_at is not null and retry_count < max_retries)),
  constraint error_retry_only_pending check (next_retry_at is null or status = 'RETRY_PENDING'),
  constraint error_lease check ((token is null) = (lease_until is null) and (token is null) = (leased_by is null)),
  constraint error_lease_pending check (token is null or (status = 'RETRY_PENDING' and archived_at is null)),
  constraint error_escalated check (status <> 'ESCALATED' or (escalation_level > 0 and escalated_at is not null and escalated_to is not null)),
  constraint error_archive_reason check ((archived_at is null) = (archive_reason is null)),
  constraint error_resolved check ((status = 'RESOLVED') = (archive_reason is not distinct from 'RESOLVED')),
  constraint error_superseded check ((superseded_by is not null) = (archive_reason is not distinct from 'SUPERSEDED')),
  constraint error_not_superseded_by_itself check (superseded_by <> error_id)
) partition by list (error_table);
-- In the order of the claim: due time first, or a million that wait would be read for each that is due.
create index error_due on recoup.error (next_retry_at) where status = 'RETRY_PENDING' and token is null and archived_at is null;
create index error_lease_until on recoup.error (lease_until) where token is not null;
create index error_window on recoup.error (retry_until) where status = 'RETRY_PENDING' and token is null and archived_at is null and retry_until is not null;
-- Not for what is merely open: a query for that must not take this for its way.
create index error_expiry on recoup.error (expires_at) where archived_at is null and expires_at is not null;
create index error_leaving on recoup.error (archived_at) where archived_at is not null;
create index error_parked_at on recoup.error (parked_at) where status in ('PARKED', 'ESCALATED') and archived_at is null;
comment on table recoup.error is 'Every failure of a hub, recorded once. Its partitions are the error tables; a row leaves only for the archive.';
comment on column recoup.error.error_table is 'The error table, with its schema.';
comment on column recoup.error.error_id is 'Unique over all error tables.';
comment on column recoup.error.outreach_id is 'The entity that failed. May be missing in global tables (schema public).';
comment on column recoup.error.error_code is 'Code of the failure, as its hub has it.';
comment on column recoup.error.error_message is 'What was said.';
comment on column recoup.error.error_signature is 'The same for the same failure, whatever the values in its message.';
comment on column recoup.error.severity is 'CRITICAL, HIGH, MEDIUM or LOW, if the reporter says so.';
comment on column recoup.error.category is 'TRANSIENT, OPERATIONAL or STRUCTURAL: how it is retried.';
comment on column recoup.error.disposition is 'RETRY, PARKED, ARCHIVE or IGNORE: what is to become of it.';
comment on column recoup.error.status is 'ACTIVE, RETRY_PENDING, PARKED, ESCALATED or RESOLVED; ARCHIVED in the archive.';
comment on column recoup.error.ttl_tier is 'SHORT, MEDIUM, LONG or INFINITE: how long it is kept.';
comment on column recoup.error.expires_at is 'After this time it is archived as TTL_EXPIRED; null: never.';
comment on column recoup.error.retry_count is 'Number of retry attempts that have ended, those of a worker that died included. Never falls.';
comment on column recoup.error.max_retries is 'Maximum allowed retries for this error; an unparking grants more.';
comment on column recoup.error.last_retry_at is 'Timestamp of last retry attempt.';
comment on column recoup.error.next_retry_at is 'Scheduled time for next retry; null when there is none.';
comment on column recoup.error.retry_exhausted is 'True if retry_count >= max_retries.';
comment on column recoup.error.retry_until is 'End of the window for automatic retries; null: none, or a person started the retry.';
comment on column recoup.error.last_outcome is 'How the last retry ended: SUCCEEDED, FAILED or LAPSED.';
comment on column recoup.error.last_failure is 'What the last failed retry said.';
comment on column recoup.error.parked_at is 'Timestamp when error was parked.';
comment on column recoup.error.parked_by is 'System or user that parked the error.';
comment on column recoup.error.park_reason is 'Why the error was parked (code or text); kept where nothing may be parked.';
comment on column recoup.error.assigned_to is 'Owner responsible for resolution; null: the owner of its table.';
comment on column recoup.error.escalation_level is '0 = not escalated, 1+ = escalation tier.';
comment on column recoup.error.last_reviewed_at is 'Last time a human reviewed this error.';
comment on column recoup.error.escalated_at is 'Timestamp of last escalation.';
comment on column recoup.error.escalated_to is 'Owner at current tier.';
comment on column recoup.error.escalation_reason is 'Why escalated.';
comment on column recoup.error.token is 'Fencing token of the retry that is under way; null: none is.';
comment on column recoup.error.leased_by is 'Who retries it.';
comment on column recoup.error.lease_until is 'After this time without a result the retry counts as failed.';
comment on column recoup.error.payload is 'What its hub gave with it; secrets are redacted before it is stored.';
comment on column recoup.error.decided_by is 'Who decided its disposition: person, hub rule, code rule, severity or table.';
comment on column recoup.error.clamped_from is 'What was wanted and is not allowed in this table; null: it was allowed.';
comment on column recoup.error.policy_version is 'The policy that decided it.';
comment on column recoup.error.created_at is 'When it first failed: a newer error inherits the age of the one it supersedes.';
comment on column recoup.error.updated_at is 'When it last moved; at birth, when it was recorded.';
comment on column recoup.error.superseded_by is 'The newer error of the same table, entity and signature.';
comment on column recoup.error.archived_at is 'Since when it is over and blocks nothing; the archiver comes for it.';
comment on column recoup.error.archive_reason is 'TTL_EXPIRED, MANUAL, RESOLVED or SUPERSEDED.';

create table recoup.error_archive (like recoup.error including generated including comments) partition by list (error_table);
alter table recoup.error_archive
  add column archived_by text not null,
  add column final_disposition text not null check (final_disposition in ('RETRY', 'PARKED', 'ARCHIVE', 'IGNORE')),
  add column was_blocking boolean not null,
  alter column archived_at set not null,
  alter column archive_reason set not null,
  add constraint error_archive_status check (status = 'ARCHIVED'),
  add constraint error_archive_why check (archive_reason in ('TTL_EXPIRED', 'MANUAL', 'RESOLVED', 'SUPERSEDED')),
  -- By time, because a month is dropped as a whole.
  add primary key (error_id, error_table, archived_at);
create index error_archive_entity on recoup.error_archive (outreach_id) where outreach_id is not null;
comment on table recoup.error_archive is 'Errors that are over, as they were, by table and month. Append-only; a month is dropped when its retention is over.';
comment on column recoup.error_archive.status is 'ARCHIVED.';
comment on column recoup.error_archive.archived_at is 'Timestamp when archived: when it was resolved, superseded, archived by hand, or found expired.';
comment on column recoup.error_archive.archived_by is 'System or user that archived.';
comment on column recoup.error_archive.final_disposition is 'Disposition at time of archive.';
comment on column recoup.error_archive.was_blocking is 'Whether it kept its entity from moving on when it expired.';

create table recoup.error_event (
  seq          bigint primary key default nextval('recoup.event_seq'),
  xid          xid8 not null default pg_current_xact_id(),
  incarnation  integer not null,
  logged_at    timestamptz not null check (isfinite(logged_at)),
  error_table  text not null,
  error_id     bigint not null,
  event_type   text not null check (event_type in ('RECORDED', 'CLAIMED', 'SUCCEEDED', 'FAILED', 'LAPSED', 'WINDOW_CLOSED', 'PARKED',
                 'UNPARKED', 'RESOLVED', 'ESCALATED', 'ASSIGNED', 'REVIEWED', 'SUPERSEDED', 'EXPIRED', 'RETIRED', 'ARCHIVED')),
  from_status  text,
  to_status    text,
  disposition  text not null,
  retry_count  integer not null,
  reason       text,
  facts        jsonb,
  actor        text not null check (actor in ('system', 'ai', 'human')),
  actor_id     text not null,
  authority    text not null
);
create index error_event_error on recoup.error_event (error_id, seq);
create index error_event_xid on recoup.error_event (xid);
comment on table recoup.error_event is 'Append-only: every birth, move and exit of an error, written by the move''s recorder.';
comment on column recoup.error_event.seq is 'Order over all logs, drawn after the error is locked.';
comment on column recoup.error_event.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.error_event.incarnation is 'Cluster that wrote it.';
comment on column recoup.error_event.logged_at is 'When.';
comment on column recoup.error_event.error_table is 'The error''s table …';
comment on column recoup.error_event.error_id is '… and its id there.';
comment on column recoup.error_event.event_type is 'What happened.';
comment on column recoup.error_event.from_status is 'Status before; null at birth.';
comment on column recoup.error_event.to_status is 'Status after; ARCHIVED when it left.';
comment on column recoup.error_event.disposition is 'Disposition after.';
comment on column recoup.error_event.retry_count is 'Ended retries after.';
comment on column recoup.error_event.reason is 'Why: a park reason, what a failed retry said, what a person said, an archive reason.';
comment on column recoup.error_event.facts is 'What else belongs to it.';
comment on column recoup.error_event.actor is 'system, ai or human.';
comment on column recoup.error_event.actor_id is 'Who exactly.';
comment on column recoup.error_event.authority is 'Database role that acted.';

create table recoup.error_archive_month (
  error_table text not null,
  month       date not null check (isfinite(month) and extract(day from month) = 1),
  status      text not null default 'KEPT' check (status in ('KEPT', 'DROPPED')),
  made_at     timestamptz not null check (isfinite(made_at)),
  dropped_at  timestamptz check (isfinite(dropped_at)),
  rows        bigint check (rows >= 0),
  digest      bytea,
  primary key (error_table, month),
  check ((status = 'DROPPED') = (dropped_at is not null) and (status = 'DROPPED') = (rows is not null) and (status = 'DROPPED') = (digest is not null))
);
comment on table recoup.error_archive_month is 'The months of the archives. A row that is made makes its partition; one that is dropped drops it, and keeps count and digest.';
comment on column recoup.error_archive_month.error_table is 'The error table whose archive it is.';
comment on column recoup.error_archive_month.month is 'First day of the month, in UTC.';
comment on column recoup.error_archive_month.status is 'KEPT or DROPPED.';
comment on column recoup.error_archive_month.made_at is 'When its partition was made.';
comment on column recoup.error_archive_month.dropped_at is 'When its partition was dropped.';
comment on column recoup.error_archive_month.rows is 'How many errors it held then.';
comment on column recoup.error_archive_month.digest is 'SHA-256 over its errors, chained page by page in the order of their ids.';

-- Bulk operations: the set is frozen when it is asked for, and each item has its own result.

create table recoup.error_operation (
  operation_id uuid primary key default recoup.new_id(),
  verb         text not null check (verb in ('park', 'unpark', 'resolve', 'escalate', 'assign', 'review', 'archive')),
  arguments    jsonb not null,
  filter       jsonb not null,
  items        integer not null check (items >= 0),
  status       text not null default 'OPEN' check (status in ('OPEN', 'DONE')),
  requested_at timestamptz not null check (isfinite(requested_at)),
  requested_by text not null,
  done_at      timestamptz check (isfinite(done_at)),
  check ((status = 'DONE') = (done_at is not null))
);
create index error_operation_open on recoup.error_operation (requested_at) where status = 'OPEN';
comment on table recoup.error_operation is 'One decision of an operator over many errors. What it is about is frozen when it is asked for.';
comment on column recoup.error_operation.operation_id is 'Unique identifier.';
comment on column recoup.error_operation.verb is 'What is done to each: park, unpark, resolve, escalate, assign, review or archive.';
comment on column recoup.error_operation.arguments is 'How: reason, to whom.';
comment on column recoup.error_operation.filter is 'Which errors were asked for.';
comment on column recoup.error_operation.items is 'How many they were.';
comment on column recoup.error_operation.status is 'OPEN until each item has its result, then DONE.';
comment on column recoup.error_operation.requested_at is 'When it was asked for.';
comment on column recoup.error_operation.requested_by is 'Who asked for it.';
comment on column recoup.error_operation.done_at is 'When the last item had its result.';

create table recoup.error_operation_item (
  operation_id uuid not null references recoup.error_operation,
  place        integer not null check (place > 0),
  error_table  text not null,
  error_id     bigint not null,
  status       text not null default 'PENDING' check (status in ('PENDING', 'DONE', 'REFUSED')),
  refusal      text,
  ended_at     timestamptz check (isfinite(ended_at)),
  primary key (operation_id, place),
  unique (operation_id, error_table, error_id),
  check ((status = 'REFUSED') = (refusal is not null)),
  check ((status = 'PENDING') = (ended_at is null))
) with (fillfactor = 85);
create index error_operation_item_pending on recoup.error_operation_item (operation_id, place) where status = 'PENDING';
comment on table recoup.error_operation_item is 'One error of a bulk operation, and what became of it.';
comment on column recoup.error_operation_item.operation_id is 'The operation.';
comment on column recoup.error_operation_item.place is 'Its place in it.';
comment on column recoup.error_operation_item.error_table is 'The error''s table …';
comment on column recoup.error_operation_item.error_id is '… and its id there.';
comment on column recoup.error_operation_item.status is 'PENDING, DONE or REFUSED.';
comment on column recoup.error_operation_item.refusal is 'Why it was not done.';
comment on column recoup.error_operation_item.ended_at is 'When.';

-- A unit of work is not always named by a uuid. The text of those that are is what it was, and so is what was sealed.
alter table recoup.late_result alter column unit_id type text using unit_id::text;
comment on column recoup.late_result.unit_id is 'The unit of work: its id, or table and id.';

-- Rights. All writing goes through the parent; on the partitions themselves there is nothing but SELECT.
grant select on recoup.error, recoup.error_archive, recoup.error_event, recoup.error_archive_month, recoup.error_operation,
  recoup.error_operation_item to recoup_reader;
grant insert on recoup.error to recoup_hub;
grant usage on sequence recoup.error_seq to recoup_hub;
grant update (status, disposition, retry_count, last_retry_at, next_retry_at, last_outcome, last_failure, parked_at, parked_by, park_reason,
  token, leased_by, lease_until, superseded_by, archived_at, archive_reason, updated_at) on recoup.error to recoup_hub;
grant update (status, disposition, retry_count, last_retry_at, next_retry_at, last_outcome, last_failure, parked_at, parked_by, park_reason,
  token, leased_by, lease_until, archived_at, archive_reason, updated_at) on recoup.error to recoup_error_worker;
grant update (status, disposition, retry_count, max_retries, next_retry_at, retry_until, parked_at, parked_by, park_reason, assigned_to,
  escalation_level, last_reviewed_at, escalated_at, escalated_to, escalation_reason, token, leased_by, lease_until, archived_at, archive_reason,
  updated_at) on recoup.error to recoup_operator;
-- FOR UPDATE needs a column to update; the archiver changes none (recoup.rule_error_moves).
grant delete, update (updated_at) on recoup.error to recoup_archiver;
grant insert (error_table, month, made_at), update (status, dropped_at, rows, digest) on recoup.error_archive_month to recoup_archiver;
grant insert (operation_id, verb, arguments, filter, items, requested_at, requested_by), update (status, done_at) on recoup.error_operation to recoup_operator;
grant insert (operation_id, place, error_table, error_id), update (status, refusal, ended_at) on recoup.error_operation_item to recoup_operator;
grant insert (subject, unit_id, token, result) on recoup.late_result to recoup_hub, recoup_error_worker;
grant usage on sequence recoup.event_seq to recoup_hub, recoup_error_worker;
grant insert, update on recoup.duty_tally to recoup_error_worker;
