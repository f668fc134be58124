-- The machinery every domain plugs into: policy, control log, pause register, workers, seals.

-- Policy: the figures that decisions go by -------------------------------------------------------------------------------

create table recoup.policy (
  version     integer primary key check (version > 0),
  figures     jsonb not null check (jsonb_typeof(figures) = 'object'),
  document    text not null,
  reason      text not null check (btrim(reason) <> ''),
  seq         bigint not null unique default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  applied_at  timestamptz not null check (isfinite(applied_at)),
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null
);
comment on table recoup.policy is 'Append-only: every policy that was ever in force. The highest version is. What a policy decided carries its version.';
comment on column recoup.policy.version is 'One more than the version before it.';
comment on column recoup.policy.figures is 'Every figure, complete: what the document does not say is filled in from the defaults of its day.';
comment on column recoup.policy.document is 'The TOML document, as it was given.';
comment on column recoup.policy.reason is 'Why it was applied.';
comment on column recoup.policy.seq is 'Order over all logs.';
comment on column recoup.policy.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.policy.incarnation is 'Cluster that wrote it.';
comment on column recoup.policy.applied_at is 'When.';
comment on column recoup.policy.actor is 'Kind of actor: system, ai, human.';
comment on column recoup.policy.actor_id is 'Who.';
comment on column recoup.policy.authority is 'Database role that acted.';

drop function if exists cl.gate_zero_wait(integer);
drop function if exists cl.gate_zero_recovery_window();

-- Stamps. What exists was decided by the figures that version 1 holds.
alter table cl.gate_zero_attempt add column policy_version integer not null default 1;
alter table cl.gate_zero_attempt alter column policy_version drop default;
comment on column cl.gate_zero_attempt.policy_version is 'The policy in force when it opened: its lease and the wait after it come from there.';
-- Filled before any guard of the batch table can ask who does it: the column is new, and so is the rule about it.
alter table cl.gate_zero_batch add column policy_version integer;
alter table cl.gate_zero_batch disable trigger user;
update cl.gate_zero_batch set policy_version = 1 where completed_at is not null;
alter table cl.gate_zero_batch enable trigger user;
alter table cl.gate_zero_batch add constraint gate_zero_batch_policy_check check ((completed_at is null) = (policy_version is null));
comment on column cl.gate_zero_batch.policy_version is 'The policy in force when it was completed: its window comes from there. Set once.';
grant update (policy_version) on cl.gate_zero_batch to recoup_hub, recoup_gate, recoup_operator;

-- Two foreign keys that say what the rules say already, row by row and at a price (a sixth of a claim): an attempt opens on
-- an intake that waits for it or a recovery that is due, a recovery is born of an attempt, and intakes are never deleted.
alter table cl.gate_zero_attempt drop constraint gate_zero_attempt_intake_id_fkey;
alter table cl.gate_zero_recovery drop constraint gate_zero_recovery_intake_id_fkey;

-- The control log: births and moves of what has no log of its own --------------------------------------------------------

create table recoup.control_log (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  subject     text not null,
  key         text not null,
  event_type  text not null check (event_type in ('BIRTH', 'MOVE', 'EXIT')),
  from_status text,
  to_status   text,
  facts       jsonb not null,
  reason      text not null,
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null,
  check ((event_type = 'BIRTH') = (from_status is null)),
  check ((event_type = 'EXIT') = (to_status is null))
);
create index control_log_xid on recoup.control_log (xid);
create index control_log_key on recoup.control_log (subject, key, seq);
comment on table recoup.control_log is 'Append-only: who began, moved or ended what, for subjects that have no log of their own.';
comment on column recoup.control_log.seq is 'Order over all logs.';
comment on column recoup.control_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.control_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.control_log.logged_at is 'When.';
comment on column recoup.control_log.subject is 'Table of the row.';
comment on column recoup.control_log.key is 'Key of the row, as text.';
comment on column recoup.control_log.event_type is 'BIRTH, MOVE or EXIT.';
comment on column recoup.control_log.from_status is 'Status before; null for a birth.';
comment on column recoup.control_log.to_status is 'Status after; null for an exit.';
comment on column recoup.control_log.facts is 'What else the step wrote.';
comment on column recoup.control_log.reason is 'Why, in the actor''s words.';
comment on column recoup.control_log.actor is 'Kind of actor: system, ai, human.';
comment on column recoup.control_log.actor_id is 'Who.';
comment on column recoup.control_log.authority is 'Database role that acted.';

-- The pause register -----------------------------------------------------------------------------------------------------

create table recoup.pause (
  scope      text not null check (scope in ('global', 'duty', 'table', 'source', 'action')),
  scope_id   text not null check (btrim(scope_id) <> ''),
  status     text not null check (status in ('PAUSED', 'RUNNING')),
  changed_at timestamptz not null check (isfinite(changed_at)),
  changed_by text not null,
  reason     text not null check (btrim(reason) <> ''),
  primary key (scope, scope_id),
  check (scope <> 'global' or scope_id = 'everything')
);
comment on table recoup.pause is 'What is paused at present, and what was. A batch is paused in its own row; recoup.pauses shows both.';
comment on column recoup.pause.scope is 'global, duty, table, source (of partitions) or action.';
comment on column recoup.pause.scope_id is 'Which one; "everything" for the global scope.';
comment on column recoup.pause.status is 'PAUSED, or RUNNING again.';
comment on column recoup.pause.changed_at is 'Since when.';
comment on column recoup.pause.changed_by is 'Who paused or resumed it.';
comment on column recoup.pause.reason is 'Why.';

alter table recoup.pause_log drop constraint pause_log_scope_check;
alter table recoup.pause_log add constraint pause_log_scope_check
  check (scope in ('global', 'duty', 'table', 'batch', 'source', 'action'));
alter table recoup.pause_log add constraint pause_log_actor_check check (actor in ('system', 'ai', 'human'));

create view recoup.pauses as
  select p.scope, p.scope_id, p.changed_at as paused_at, p.changed_by as paused_by, p.reason
    from recoup.pause p where p.status = 'PAUSED'
  union all
  select 'batch', b.batch_id, b.paused_at, b.paused_by, b.pause_reason
    from cl.gate_zero_batch b where b.paused_at is not null;
create index gate_zero_batch_paused on cl.gate_zero_batch (paused_at) where paused_at is not null;
comment on view recoup.pauses is 'Everything that is paused at present.';
comment on column recoup.pauses.scope is 'global, duty, table, batch, source (of partitions) or action.';
comment on column recoup.pauses.scope_id is 'Which one; "everything" for the global scope.';
comment on column recoup.pauses.paused_at is 'Since when.';
comment on column recoup.pauses.paused_by is 'Who paused it.';
comment on column recoup.pauses.reason is 'Why.';

-- Workers ----------------------------------------------------------------------------------------------------------------

create table recoup.worker (
  worker_id      uuid primary key default recoup.new_id(),
  name           text not null check (name <> ''),
  host           text not null,
  pid            integer not null,
  recoup_version text not null,
  duties         text[] not null,
  status         text not null default 'running' check (status in ('running', 'stopped', 'lost')),
  started_at     timestamptz not null check (isfinite(started_at)),
  heartbeat_at   timestamptz not null check (isfinite(heartbeat_at)),
  ended_at       timestamptz check (isfinite(ended_at)),
  check ((status = 'running') = (ended_at is null))
) with (fillfactor = 50);
create index worker_running on recoup.worker (heartbeat_at) where status = 'running';
comment on table recoup.worker is 'One row per life of a worker process. A process that comes back after it was declared lost is a new row.';
comment on column recoup.worker.worker_id is 'The worker''s incarnation: one process, one life.';
comment on column recoup.worker.name is 'Its name, as logs have it.';
comment on column recoup.worker.host is 'Machine it runs on.';
comment on column recoup.worker.pid is 'Process id there.';
comment on column recoup.worker.recoup_version is 'The program it runs.';
comment on column recoup.worker.duties is 'The duties it does.';
comment on column recoup.worker.status is 'running, stopped (said goodbye) or lost (fell silent).';
comment on column recoup.worker.started_at is 'When it registered.';
comment on column recoup.worker.heartbeat_at is 'When it was last heard of.';
comment on column recoup.worker.ended_at is 'When it stopped or was declared lost.';

create table recoup.duty_tally (
  worker_id       uuid not null references recoup.worker,
  duty            text not null check (duty <> ''),
  runs            bigint not null check (runs >= 0),
  done            bigint not null check (done >= 0),
  failures        bigint not null check (failures >= 0),
  last_run_at     timestamptz not null,
  last_done_at    timestamptz,
  last_failed_at  timestamptz,
  last_failure    text,
  primary key (worker_id, duty)
) with (fillfactor = 50);
comment on table recoup.duty_tally is 'What each worker did of each duty. Written with the batch it counts, in one transaction.';
comment on column recoup.duty_tally.worker_id is 'The worker.';
comment on column recoup.duty_tally.duty is 'The duty.';
comment on column recoup.duty_tally.runs is 'Batches run, idle ones between heartbeats not counted one by one.';
comment on column recoup.duty_tally.done is 'Units done.';
comment on column recoup.duty_tally.failures is 'Batches that raised, and were rolled back.';
comment on column recoup.duty_tally.last_run_at is 'When it last ran, whatever came of it.';
comment on column recoup.duty_tally.last_done_at is 'When it last did something.';
comment on column recoup.duty_tally.last_failed_at is 'When it last raised.';
comment on column recoup.duty_tally.last_failure is 'What it said then.';

-- Seals ------------------------------------------------------------------------------------------------------------------

-- Every sealed log has an order, a transaction and a cluster.
alter table recoup.late_result add column seq bigint not null unique default nextval('recoup.event_seq');
alter table recoup.late_result add column xid xid8 not null default pg_current_xact_id();
alter table recoup.late_result add column incarnation integer not null default 1;
create index late_result_xid on recoup.late_result (xid);
comment on column recoup.late_result.seq is 'Order over all logs.';
comment on column recoup.late_result.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.late_result.incarnation is 'Cluster that wrote it.';
-- Who reports it, and when, is not the reporter's to say.
alter table recoup.late_result alter column received_at set default recoup.now();
revoke insert (received_at, actor_id) on recoup.late_result from recoup_gate;
grant usage on sequence recoup.event_seq to recoup_gate, recoup_operator;

create table recoup.seal (
  number            bigint primary key check (number > 0),
  log               text not null,
  canon             integer not null,
  incarnation       integer not null,
  system_identifier bigint not null,
  since             pg_snapshot not null,
  until             pg_snapshot,
  after_seq         bigint not null,
  last_seq          bigint not null,
  closes            boolean not null,
  rows              bigint not null check (rows >= 0),
  rows_digest       bytea not null,
  sealed_at         timestamptz not null check (isfinite(sealed_at)),
  actor_id          text not null,
  previous          bytea not null,
  digest            bytea not null unique,
  check (last_seq >= after_seq)
);
create index seal_log on recoup.seal (log, number);
comment on table recoup.seal is 'Append-only: blocks of settled log rows, each with a digest over its rows, chained. What a superuser changes behind a seal is found.';
comment on column recoup.seal.number is 'Place in the chain, without gaps.';
comment on column recoup.seal.log is 'The log whose rows are sealed.';
comment on column recoup.seal.canon is 'Version of the canonical form of its rows: recoup.canon_<log>_<version>.';
comment on column recoup.seal.incarnation is 'Cluster that wrote the rows.';
comment on column recoup.seal.system_identifier is 'Identity of that cluster.';
comment on column recoup.seal.since is 'The block holds what was not visible in this snapshot …';
comment on column recoup.seal.until is '… and is in this one; null: the rest of a cluster that is over.';
comment on column recoup.seal.after_seq is 'A window is sealed in pages: this one begins behind this seq …';
comment on column recoup.seal.last_seq is '… and ends with this one.';
comment on column recoup.seal.closes is 'Whether it is the last page of its window, which then has no end.';
comment on column recoup.seal.rows is 'How many rows it holds.';
comment on column recoup.seal.rows_digest is 'SHA-256 over the SHA-256 of each row''s canonical text, in the order of seq.';
comment on column recoup.seal.sealed_at is 'When.';
comment on column recoup.seal.actor_id is 'Who.';
comment on column recoup.seal.previous is 'Digest of the seal before it; zeros for the first.';
comment on column recoup.seal.digest is 'SHA-256 over all that comes before, the previous digest included.';

-- Rights -----------------------------------------------------------------------------------------------------------------

grant select on all tables in schema recoup to recoup_reader;
grant insert (version, figures, document, reason) on recoup.policy to recoup_operator;
grant insert, update on recoup.pause to recoup_operator;
grant insert (worker_id, name, host, pid, recoup_version, duties, started_at, heartbeat_at) on recoup.worker to recoup_runner;
grant update (heartbeat_at, status, ended_at) on recoup.worker to recoup_runner;
grant update (status, ended_at) on recoup.worker to recoup_orphan_recovery;
-- The authorities that have duties.
grant insert, update on recoup.duty_tally to recoup_gate, recoup_archiver, recoup_orphan_recovery, recoup_runner;
