-- Partitions of data: what became of each (partition_state), its extractions (run), their verdicts (attempt), and when
-- the control plane works on it next (schedule). The log of all of it is partition_event.

create schema partitions;
grant usage on schema partitions to recoup_reader;
comment on schema partitions is 'Partitions of data: extracted into a raw sink, validated, retried as a whole.';

create sequence partitions.partition_seq;
create sequence partitions.dispatch_seq;

create table partitions.partition_state (
  source         text not null,
  customer_id    text not null,
  query_name     text not null,
  logical_date   date not null check (isfinite(logical_date)),
  partition_id   bigint not null default nextval('partitions.partition_seq'),
  status         text not null default 'pending' check (status in ('pending', 'success', 'failed')),
  current_run_id uuid,
  attempt_count  integer not null default 0 check (attempt_count >= 0),
  error_message  text,
  created_at     timestamptz not null check (isfinite(created_at)),
  updated_at     timestamptz not null check (isfinite(updated_at)),
  primary key (source, customer_id, query_name, logical_date),
  constraint partition_state_id unique (partition_id),
  -- Each becomes the name of a folder.
  constraint partition_state_named check (
    octet_length(source) between 1 and 200 and octet_length(customer_id) between 1 and 200
    and octet_length(query_name) between 1 and 200
    and source not in ('.', '..') and customer_id not in ('.', '..') and query_name not in ('.', '..')),
  constraint partition_state_current check ((status = 'success') = (current_run_id is not null)),
  constraint partition_state_message check (case status when 'failed' then error_message is not null
    when 'success' then error_message is null else true end),
  constraint partition_state_tried check (status = 'pending' or attempt_count > 0)
) with (fillfactor = 80);
create index partition_state_query on partitions.partition_state (source, query_name, logical_date);
create index partition_state_date on partitions.partition_state (logical_date, partition_id);
create index partition_state_customer on partitions.partition_state (customer_id, logical_date);
create index partition_state_failed on partitions.partition_state (updated_at) where status = 'failed';

create table partitions.run (
  run_id            uuid primary key default recoup.new_id(),
  partition_id      bigint not null,
  number            integer not null check (number > 0),
  dispatch_no       bigint not null default nextval('partitions.dispatch_seq'),
  status            text not null default 'open'
                    check (status in ('open', 'published', 'accepted', 'rejected', 'lost')),
  lane              text not null check (lane in ('fresh', 'backfill')),
  pool              text not null check (octet_length(pool) between 1 and 100),
  reprocesses       boolean not null,
  alternative       jsonb,
  candidate_id      uuid,
  worker            text not null check (octet_length(worker) between 1 and 200),
  token             uuid not null,
  lease_until       timestamptz check (isfinite(lease_until)),
  started_with      uuid,
  validations       integer not null default 0 check (validations >= 0),
  sink_id           uuid,
  location          text check (octet_length(location) between 1 and 2000),
  manifest_digest   text check (manifest_digest ~ '^[0-9a-f]{64}$'),
  format            text check (format in ('parquet', 'jsonl')),
  rows              bigint check (rows >= 0),
  bytes             bigint check (bytes >= 0),
  reason            text check (octet_length(reason) between 1 and 100),
  rule              text check (octet_length(rule) between 1 and 500),
  message           text check (octet_length(message) between 1 and 20000),
  error_signature   text check (octet_length(error_signature) between 1 and 200),
  category          text check (category in ('TRANSIENT', 'OPERATIONAL', 'STRUCTURAL')),
  validator         text check (octet_length(validator) between 1 and 500),
  validator_version text check (octet_length(validator_version) between 1 and 200),
  contract_digest   text check (octet_length(contract_digest) between 1 and 200),
  ended_with        uuid,
  policy_version    integer not null,
  opened_at         timestamptz not null check (isfinite(opened_at)),
  dispatched_at     timestamptz not null check (isfinite(dispatched_at)),
  published_at      timestamptz check (isfinite(published_at)),
  ended_at          timestamptz check (isfinite(ended_at)),
  updated_at        timestamptz not null check (isfinite(updated_at)),
  constraint run_numbered unique (partition_id, number),
  constraint run_published_whole check (num_nulls(published_at, sink_id, location, manifest_digest, format, rows, bytes)
                                  in (0, 7) and (status <> 'open' or published_at is null)
                                  and (status not in ('published', 'accepted') or published_at is not null)),
  constraint run_ended check ((ended_at is not null) = (status in ('accepted', 'rejected', 'lost'))
                              and (status = 'open' or status = 'published' or lease_until is null)),
  -- What is said of a run is said with its end; of a published one that is to be validated again, why.
  constraint run_verdict check (case status
    when 'accepted' then num_nonnulls(reason, rule, message, error_signature, category) = 0
    when 'rejected' then num_nonnulls(reason, message, error_signature, category) = 4
    when 'lost' then num_nonnulls(reason, message) = 2 and num_nonnulls(rule, error_signature, category) = 0
    else num_nonnulls(reason, message) in (0, 2) and num_nonnulls(rule, error_signature, category) = 0 end),
  constraint run_judged check (status in ('accepted', 'rejected')
    or num_nonnulls(validator, validator_version, contract_digest, ended_with) = 0),
  constraint run_nothing check (status <> 'rejected' or (reason = 'NOTHING_TO_VALIDATE') = (published_at is null))
) with (fillfactor = 70);
-- This prevents two open runs of one partition.
create unique index run_open on partitions.run (partition_id) where status in ('open', 'published');
-- What was published is never overwritten: no two runs are in one place.
create unique index run_location on partitions.run (sink_id, location);
create index run_lease on partitions.run (lease_until) where lease_until is not null;
-- For the turn of lanes and sources: the last dispatches of a pool.
create index run_dispatch on partitions.run (pool, lane, dispatch_no);
create index run_ended_at on partitions.run (ended_at) where status in ('rejected', 'lost');

create table partitions.attempt (
  seq               bigint primary key default nextval('recoup.event_seq'),
  xid               xid8 not null default pg_current_xact_id(),
  incarnation       integer not null,
  logged_at         timestamptz not null check (isfinite(logged_at)),
  partition_id      bigint not null,
  run_id            uuid not null,
  number            integer not null check (number > 0),
  verdict           text not null check (verdict in ('accepted', 'rejected')),
  accepted_run_id   uuid generated always as (case when verdict = 'accepted' then run_id end) stored,
  reason            text,
  rule              text,
  message           text,
  error_signature   text,
  category          text,
  rows              bigint,
  bytes             bigint,
  digest            text,
  location          text,
  sink_id           uuid,
  validator         text,
  validator_version text,
  contract_digest   text,
  policy_version    integer not null,
  opened_at         timestamptz not null,
  published_at      timestamptz,
  actor             text not null check (actor in ('system', 'ai', 'human')),
  actor_id          text not null,
  authority         text not null,
  login             text not null default session_user,
  constraint attempt_run unique (partition_id, run_id),
  constraint attempt_number unique (partition_id, number),
  constraint attempt_accepted unique (partition_id, accepted_run_id)
);
create index attempt_xid on partitions.attempt (xid);
-- What a partition points at is an accepted attempt of its own.
alter table partitions.partition_state add constraint partition_state_accepted
  foreign key (partition_id, current_run_id) references partitions.attempt (partition_id, accepted_run_id);

create table partitions.schedule (
  partition_id        bigint primary key,
  source              text not null,
  query_name          text not null,
  status              text not null default 'waiting' check (status in ('waiting', 'open', 'held', 'terminal', 'idle')),
  lane                text not null check (lane in ('fresh', 'backfill')),
  priority            smallint not null default 5 check (priority between 0 and 9),
  next_run_at         timestamptz check (isfinite(next_run_at)),
  backoff_strategy    text not null check (backoff_strategy in ('steps', 'fixed', 'none')),
  run_id              uuid,
  dispatches          integer not null default 0 check (dispatches >= 0),
  attempts_seen       integer not null default 0 check (attempts_seen >= 0),
  reprocesses         boolean not null default false,
  alternative         jsonb,
  candidate_id        uuid,
  requested_at        timestamptz check (isfinite(requested_at)),
  requested_by        text check (octet_length(requested_by) between 1 and 500),
  hold                text check (hold in ('OPERATOR', 'PAUSED', 'CANCELLED')),
  held_at             timestamptz check (isfinite(held_at)),
  terminal_causes     text[] check (terminal_causes <@ '{ATTEMPTS,AGE,MARKED}' and cardinality(terminal_causes) > 0),
  terminal_at         timestamptz check (isfinite(terminal_at)),
  terminal_policy     integer,
  granted_attempts    integer not null default 0 check (granted_attempts >= 0),
  first_enqueued_at   timestamptz not null check (isfinite(first_enqueued_at)),
  first_dispatched_at timestamptz check (isfinite(first_dispatched_at)),
  aged_from           timestamptz check (isfinite(aged_from)),
  backfill_id         uuid,
  updated_at          timestamptz not null check (isfinite(updated_at)),
  constraint schedule_waits check ((status = 'waiting') = (next_run_at is not null)),
  constraint schedule_open check (status <> 'open' or run_id is not null),
  constraint schedule_held check ((status = 'held') = (hold is not null) and (hold is null) = (held_at is null)),
  constraint schedule_terminal check ((status = 'terminal') = (terminal_causes is not null)
    and num_nulls(terminal_causes, terminal_at, terminal_policy) in (0, 3)),
  constraint schedule_requested check ((requested_at is null) = (requested_by is null)),
  constraint schedule_reprocesses check (not reprocesses or status in ('waiting', 'open', 'held'))
) with (fillfactor = 70);
-- For dispatch: of each lane, source, query and priority the longest due first.
create index schedule_waiting on partitions.schedule (lane, source, query_name, priority, next_run_at, partition_id)
  where status = 'waiting';
create index schedule_open on partitions.schedule (source) where status = 'open';
create index schedule_aged on partitions.schedule (aged_from) where status = 'waiting' and aged_from is not null;
create index schedule_terminal on partitions.schedule (terminal_at, partition_id) where status = 'terminal';
create index schedule_held on partitions.schedule (backfill_id) where status = 'held';
create index schedule_backfill on partitions.schedule (backfill_id) where backfill_id is not null;

create table partitions.backfill (
  backfill_id    uuid primary key default recoup.new_id(),
  status         text not null default 'planning'
                 check (status in ('planning', 'running', 'paused', 'done', 'cancelled')),
  selection      jsonb not null,
  reason         text not null check (octet_length(reason) between 1 and 2000),
  requested_by   text not null check (octet_length(requested_by) between 1 and 500),
  priority       smallint not null check (priority between 0 and 9),
  reprocess      boolean not null,
  with_terminal  boolean not null,
  expected       integer not null check (expected >= 0),
  planned        integer not null default 0 check (planned >= 0),
  policy_version integer not null,
  created_at     timestamptz not null check (isfinite(created_at)),
  updated_at     timestamptz not null check (isfinite(updated_at)),
  ended_at       timestamptz check (isfinite(ended_at)),
  constraint backfill_ended check ((ended_at is not null) = (status in ('done', 'cancelled')))
);
create index backfill_open on partitions.backfill (created_at) where ended_at is null;

create table partitions.partition_event (
  seq          bigint primary key default nextval('recoup.event_seq'),
  xid          xid8 not null default pg_current_xact_id(),
  incarnation  integer not null,
  logged_at    timestamptz not null check (isfinite(logged_at)),
  subject      text not null check (subject in ('partition', 'run', 'schedule')),
  partition_id bigint not null,
  run_id       uuid,
  event_type   text not null,
  from_status  text,
  to_status    text not null,
  reason       text,
  facts        jsonb,
  token        uuid,
  actor        text not null check (actor in ('system', 'ai', 'human')),
  actor_id     text not null,
  authority    text not null,
  login        text not null default session_user
);
create index partition_event_xid on partitions.partition_event (xid);
create index partition_event_partition on partitions.partition_event (partition_id, seq);

create table partitions.override_log (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  command     text not null,
  selection   text,
  partitions  bigint[] not null,
  before      jsonb not null,
  after       jsonb not null,
  reason      text,
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null,
  login       text not null default session_user
);
create index override_log_xid on partitions.override_log (xid);

grant select on all tables in schema partitions to recoup_reader;
grant usage on sequence partitions.partition_seq, partitions.dispatch_seq, recoup.event_seq to recoup_control_plane;
grant insert (source, customer_id, query_name, logical_date, created_at, updated_at)
  on partitions.partition_state to recoup_control_plane;
-- Only as the consequence of a step of its run or its schedule: by hand the guard refuses it.
grant update (status, current_run_id, attempt_count, error_message, updated_at)
  on partitions.partition_state to recoup_validator, recoup_control_plane;
grant insert (partition_id, number, lane, pool, reprocesses, alternative, candidate_id, worker, token, lease_until,
              started_with, policy_version, opened_at, dispatched_at, updated_at)
  on partitions.run to recoup_control_plane;
grant update (status, worker, token, lease_until, started_with, dispatched_at, validations, reason, message, ended_at,
              updated_at)
  on partitions.run to recoup_control_plane;
grant update (status, started_with, sink_id, location, manifest_digest, format, rows, bytes, published_at, updated_at)
  on partitions.run to recoup_extractor;
grant update (status, started_with, lease_until, reason, rule, message, error_signature, category, validator,
              validator_version, contract_digest, ended_with, ended_at, updated_at)
  on partitions.run to recoup_validator;
grant insert (partition_id, source, query_name, lane, priority, next_run_at, backoff_strategy, first_enqueued_at,
              backfill_id, updated_at)
  on partitions.schedule to recoup_control_plane;
grant update (status, lane, priority, next_run_at, backoff_strategy, run_id, dispatches, attempts_seen, reprocesses,
              alternative, candidate_id, requested_at, requested_by, hold, held_at, terminal_causes, terminal_at,
              terminal_policy, granted_attempts, first_dispatched_at, aged_from, backfill_id, updated_at)
  on partitions.schedule to recoup_control_plane;
grant insert (subject, unit_id, token, result) on recoup.late_result to recoup_validator, recoup_extractor,
  recoup_control_plane;
grant usage on sequence recoup.event_seq to recoup_validator, recoup_extractor;
