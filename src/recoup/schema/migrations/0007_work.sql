-- Work that is claimed under a lease: the form of a queue, and one log of claims for all queues.

-- A queue: create table … (unit TYPE primary key, like recoup.queue_form including all, more columns).
create table recoup.queue_form (
  part       text not null default '',
  round      integer not null default 0 check (round >= 0),
  wake_at    timestamptz not null check (isfinite(wake_at)),
  until      timestamptz check (isfinite(until)),
  token      uuid,
  worker     text check (octet_length(worker) between 1 and 500),
  claimed_at timestamptz check (isfinite(claimed_at)),
  constraint queue_claim check ((token is null) = (worker is null) and (token is null) = (claimed_at is null))
);
-- Two halves: a backlog of what is due must not stand before a lease that expired, nor the other way round.
create index on recoup.queue_form (wake_at) where token is null;
create index on recoup.queue_form (wake_at) where token is not null;
create index on recoup.queue_form (until) where token is null and until is not null;
comment on table recoup.queue_form is 'The form of a queue. It has no rows.';
comment on column recoup.queue_form.part is 'Where the unit is, of a subject in several tables.';
comment on column recoup.queue_form.round is 'Attempts that have ended.';
comment on column recoup.queue_form.wake_at is 'When it is due; while it is claimed, the end of the lease.';
comment on column recoup.queue_form.until is 'Not claimed after this time; null: always.';
comment on column recoup.queue_form.token is 'Fencing token of the claim that holds it; null: none does.';
comment on column recoup.queue_form.worker is 'Who holds it.';
comment on column recoup.queue_form.claimed_at is 'Since when.';

create table recoup.claim_log (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  subject     text not null,
  token       uuid not null,
  worker      text not null,
  lease_until timestamptz not null check (isfinite(lease_until)),
  units       text[] not null check (cardinality(units) > 0),
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null
);
create index claim_log_token on recoup.claim_log (token);
create index claim_log_xid on recoup.claim_log (xid);
comment on table recoup.claim_log is
'Append-only: every claim of work, one row for all that was claimed together, written by the claim''s recorder.';
comment on column recoup.claim_log.seq is 'Order over all logs, drawn after the units are locked.';
comment on column recoup.claim_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.claim_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.claim_log.logged_at is 'When.';
comment on column recoup.claim_log.subject is 'The table whose work it is.';
comment on column recoup.claim_log.token is 'Fencing token of the claim: who reports an outcome presents it.';
comment on column recoup.claim_log.worker is 'Who claimed.';
comment on column recoup.claim_log.lease_until is 'After this time without a result the work counts as failed.';
comment on column recoup.claim_log.units is
'What was claimed: the unit''s key, and the number of the attempt behind it.';
comment on column recoup.claim_log.actor is 'system, ai or human.';
comment on column recoup.claim_log.actor_id is 'Who exactly.';
comment on column recoup.claim_log.authority is 'Database role that acted.';
grant select on recoup.claim_log to recoup_reader;
