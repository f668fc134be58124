-- What recovery asks the control plane for: one row for each candidate whose effect requeues or marks a partition.

create table partitions.requeue_request (
  candidate_id uuid primary key,
  seq          bigint not null default nextval('recoup.event_seq'),
  status       text not null default 'made' check (status = 'made'),
  partition_id bigint not null,
  verb         text not null check (verb in ('retry', 'mark')),
  alternative  jsonb,
  -- Who approved the candidate; null: it started by itself.
  approver     text check (octet_length(approver) between 1 and 500),
  requested_at timestamptz not null check (isfinite(requested_at)),
  constraint requeue_request_approved check (verb <> 'mark' or approver is not null),
  constraint requeue_request_alternative check (verb = 'retry' or alternative is null)
);
-- For whether a partition was requeued without a person last time.
create index requeue_request_partition on partitions.requeue_request (partition_id, seq);

grant select on partitions.requeue_request to recoup_reader;
-- The executor only as the consequence of a candidate, and of its request: by hand the guard refuses it.
grant insert (candidate_id, partition_id, verb, alternative, approver, requested_at)
  on partitions.requeue_request to recoup_executor;
grant update (status, next_run_at, dispatches, alternative, candidate_id, requested_at, requested_by, terminal_causes,
              terminal_at, terminal_policy, granted_attempts, aged_from, updated_at)
  on partitions.schedule to recoup_executor;
grant update (status, updated_at) on partitions.partition_state to recoup_executor;
