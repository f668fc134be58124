-- Runs: executions of work, each with a heartbeat, and the log of what became of them.

create schema if not exists recovery;
grant usage on schema recovery to recoup_reader;
comment on schema recovery is 'Runs, and how failures are recovered from.';

create table recovery.run (
  run_id       uuid primary key default recoup.new_id(),
  kind         text not null,
  source       text not null,
  input        jsonb,
  status       text not null,
  retry_of     uuid,
  retry_with   jsonb,
  candidate_id uuid,
  owner        text not null,
  worker_id    uuid,
  token        uuid,
  created_at   timestamptz not null,
  queued_at    timestamptz,
  started_at   timestamptz,
  heartbeat_at timestamptz,
  finished_at  timestamptz,
  notes        integer not null default 0,
  note         text,
  message      text,
  result       jsonb,
  ended_with   uuid,
  crash_reason text,
  constraint run_status_check check (status in ('queued', 'running', 'succeeded', 'failed', 'crashed')),
  constraint run_named_check check (char_length(kind) between 1 and 200 and char_length(source) between 1 and 200),
  constraint run_retry_check check ((retry_of is null) = (candidate_id is null) and retry_of <> run_id),
  constraint run_queued_check check (status <> 'queued' or queued_at is not null),
  -- What has begun has a token and a heartbeat; only a crashed run may never have begun.
  constraint run_started_check check (case when status = 'queued' then num_nonnulls(started_at, token, heartbeat_at) = 0
    when status = 'crashed' then num_nonnulls(started_at, token, heartbeat_at) in (0, 3)
    else num_nonnulls(started_at, token, heartbeat_at) = 3 end),
  constraint run_ended_check check ((finished_at is not null) = (status in ('succeeded', 'failed', 'crashed'))
    and (ended_with is not null) = (status in ('succeeded', 'failed'))
    and (crash_reason is not null) = (status = 'crashed')
    and (num_nonnulls(message, result) = 0 or status in ('succeeded', 'failed')))
);
-- A run is retried once: a further retry names the latest of the chain.
create unique index run_retry_of on recovery.run (retry_of) where retry_of is not null;
-- Waiting runs of a kind, oldest first: for claims.
create index run_queued on recovery.run (kind, queued_at, run_id) where status = 'queued';
-- For the sweep: silent ones, those of a worker, and when a kind was last claimed.
create index run_silent on recovery.run (heartbeat_at) where status = 'running';
create index run_worker on recovery.run (worker_id) where status in ('queued', 'running') and worker_id is not null;
create index run_claimed on recovery.run (kind, started_at) where queued_at is not null and started_at is not null;
-- For lists, newest first.
create index run_created on recovery.run (created_at desc, run_id);
create index run_candidate on recovery.run (candidate_id) where candidate_id is not null;

comment on table recovery.run is
'One execution of work. It ends once: succeeded, failed, or crashed. A retry is a new run.';
comment on column recovery.run.run_id is 'Identity.';
comment on column recovery.run.kind is 'What kind of work it is, such as nightly-import. Runs are claimed by kind.';
comment on column recovery.run.source is 'What its failures are counted under; by default its kind.';
comment on column recovery.run.input is 'What it works on, without secrets. A retry gets a copy.';
comment on column recovery.run.status is 'queued, running, succeeded, failed or crashed.';
comment on column recovery.run.retry_of is 'The run that failed or crashed, of which this is the retry.';
comment on column recovery.run.retry_with is 'Of a retry: the alternative that it is to use, if any.';
comment on column recovery.run.candidate_id is 'Of a retry: the recovery candidate that started it.';
comment on column recovery.run.owner is 'Who queued it; once it runs, who runs it.';
comment on column recovery.run.worker_id is
'The worker (recoup.worker) that queued it or runs it, if it is one of ours.';
comment on column recovery.run.token is 'Drawn when it starts. Heartbeats, notes and the end present it.';
comment on column recovery.run.created_at is 'When it was created.';
comment on column recovery.run.queued_at is 'When it was queued; null if it was started at once.';
comment on column recovery.run.started_at is 'When it was started or claimed.';
comment on column recovery.run.heartbeat_at is 'Last heartbeat. Not logged.';
comment on column recovery.run.finished_at is 'When it ended, or was marked crashed.';
comment on column recovery.run.notes is 'How many notes its runner wrote.';
comment on column recovery.run.note is 'The last note. All of them are in recovery.run_trace.';
comment on column recovery.run.message is 'Of an ended run: its message, without secrets.';
comment on column recovery.run.result is 'Of an ended run: its result, without secrets.';
comment on column recovery.run.ended_with is 'Of a run that succeeded or failed: the token that was presented.';
comment on column recovery.run.crash_reason is 'Of a crashed run: how that was found.';

create table recovery.run_trace (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null,
  run_id      uuid not null,
  event_type  text not null,
  from_status text,
  to_status   text not null,
  reason      text,
  facts       jsonb not null,
  token       uuid,
  actor       text not null,
  actor_id    text not null,
  authority   text not null,
  login       text not null default session_user,
  constraint run_trace_event_type_check
    check (event_type in ('queued', 'started', 'note', 'succeeded', 'failed', 'crashed')),
  constraint run_trace_actor_check check (actor in ('system', 'ai', 'human')),
  constraint run_trace_logged_at_check check (isfinite(logged_at))
);
create index run_trace_xid on recovery.run_trace (xid);
create index run_trace_run on recovery.run_trace (run_id, seq);

comment on table recovery.run_trace is
'Append-only: what became of each run, written by the recorder of its moves. Heartbeats are not in it.';
comment on column recovery.run_trace.seq is 'Order over all logs, drawn after the run is locked.';
comment on column recovery.run_trace.xid is 'Transaction that wrote it; for the settled read.';
comment on column recovery.run_trace.incarnation is 'Cluster that wrote it.';
comment on column recovery.run_trace.logged_at is 'When.';
comment on column recovery.run_trace.run_id is 'The run.';
comment on column recovery.run_trace.event_type is 'queued, started, note, succeeded, failed or crashed.';
comment on column recovery.run_trace.from_status is 'Status before; null at birth.';
comment on column recovery.run_trace.to_status is 'Status after.';
comment on column recovery.run_trace.reason is 'Why it crashed, the message of its end, or the text of a note.';
comment on column recovery.run_trace.facts is 'The values that the event gave the run; of a result, its digest.';
comment on column recovery.run_trace.token is 'Token of the run from its start on.';
comment on column recovery.run_trace.actor is 'system, ai or human.';
comment on column recovery.run_trace.actor_id is 'Who exactly.';
comment on column recovery.run_trace.authority is 'Database role that acted.';
comment on column recovery.run_trace.login is 'Login of the session.';

grant select on recovery.run, recovery.run_trace to recoup_reader;
grant insert (kind, source, input, status, owner, worker_id, token, created_at, queued_at, started_at, heartbeat_at)
  on recovery.run to recoup_runner;
-- As the consequence of a candidate only: by hand the guard refuses it.
grant insert (kind, source, input, status, owner, created_at, queued_at, retry_of, retry_with, candidate_id)
  on recovery.run to recoup_executor;
grant update (status, owner, worker_id, token, started_at, heartbeat_at, finished_at, notes, note, message,
              result, ended_with)
  on recovery.run to recoup_runner;
grant update (status, finished_at, crash_reason) on recovery.run to recoup_orphan_recovery;
grant insert (subject, unit_id, token, result) on recoup.late_result to recoup_runner;
grant usage on sequence recoup.event_seq to recoup_runner;
