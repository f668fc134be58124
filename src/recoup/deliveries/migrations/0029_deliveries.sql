-- The outbox: notices that are to reach people or other systems, by routes that the policy names. What a route needs to
-- know in secret (its URL, its signing key) is in no table: the policy has names of environment variables.

-- As the routines have it, which are installed after all tables: here a column has it as its default.
create or replace function recoup.policy_version() returns integer
language sql stable as $$ select version from recoup.policy order by version desc limit 1 $$;

create table recoup.delivery (
  delivery_id    uuid primary key default recoup.new_id(),
  route          text not null check (octet_length(route) between 1 and 60),
  subject        text not null check (octet_length(subject) between 1 and 500),
  body           jsonb not null check (octet_length(body::text) <= 200000),
  about          text check (octet_length(about) between 1 and 500),
  dedup_key      text not null check (octet_length(dedup_key) between 1 and 500),
  origin         text not null check (origin in ('candidate', 'operator', 'alert')),
  candidate_id   uuid,
  status         text not null default 'queued' check (status in ('queued', 'delivered', 'dead')),
  attempts       integer not null default 0 check (attempts >= 0),
  next_try_at    timestamptz not null default recoup.now() check (isfinite(next_try_at)),
  token          uuid,
  outcome        text check (outcome in ('SUCCEEDED', 'FAILED', 'LAPSED', 'CANCELLED')),
  last_failure   text check (octet_length(last_failure) <= 4000),
  policy_version integer not null default recoup.policy_version(),
  created_at     timestamptz not null default recoup.now() check (isfinite(created_at)),
  updated_at     timestamptz not null default recoup.now() check (isfinite(updated_at)),
  ended_at       timestamptz check (isfinite(ended_at)),
  constraint delivery_candidate check ((origin = 'candidate') = (candidate_id is not null)),
  constraint delivery_ended check ((status = 'queued') = (ended_at is null)),
  constraint delivery_delivered check ((status = 'delivered') = (outcome is not distinct from 'SUCCEEDED')),
  constraint delivery_cancelled check (outcome is distinct from 'CANCELLED' or status = 'dead')
) with (fillfactor = 80);
-- This prevents a storm: however many candidates ask for the same notice, one of them waits to be delivered.
create unique index delivery_open on recoup.delivery (dedup_key) where status = 'queued';
create index delivery_dead on recoup.delivery (ended_at) where status = 'dead';
create index delivery_candidate on recoup.delivery (candidate_id) where candidate_id is not null;
comment on table recoup.delivery is
'The outbox: notices and where they go. Tried until delivered, or dead when no try is left.';
comment on column recoup.delivery.delivery_id is 'Identity, and the idempotency key that receivers get with every try.';
comment on column recoup.delivery.route is 'Name of the route, in the section deliveries of the policy.';
comment on column recoup.delivery.subject is 'What it is about, in one line.';
comment on column recoup.delivery.body is 'The rest, for programs; secrets are redacted before it is stored.';
comment on column recoup.delivery.about is 'Id of what it is about, such as an incident.';
comment on column recoup.delivery.dedup_key is 'At most one queued delivery has it.';
comment on column recoup.delivery.origin is 'Who asked for it: candidate, operator or alert.';
comment on column recoup.delivery.candidate_id is 'The recovery candidate that asked for it first.';
comment on column recoup.delivery.status is 'queued, delivered or dead.';
comment on column recoup.delivery.attempts is 'Tries that have ended. Never falls.';
comment on column recoup.delivery.next_try_at is 'When it is due, or was for the last time.';
comment on column recoup.delivery.token is 'Fencing token of the try that ended last.';
comment on column recoup.delivery.outcome is
'How the last try ended: SUCCEEDED, FAILED, LAPSED (its lease expired); or CANCELLED, by a person.';
comment on column recoup.delivery.last_failure is 'Why the last failed try failed, without the address of the route.';
comment on column recoup.delivery.policy_version is 'The policy it was queued under: how often it is tried.';
comment on column recoup.delivery.created_at is 'When it was queued.';
comment on column recoup.delivery.updated_at is 'When it last moved.';
comment on column recoup.delivery.ended_at is 'When it was delivered, given up or cancelled; null: it is queued.';

create table recoup.delivery_queue (unit uuid primary key, like recoup.queue_form including all)
  with (fillfactor = 70);
-- Which routes have something due is found by one probe for each route, however much waits for the others.
create index delivery_queue_route on recoup.delivery_queue (part, wake_at) where token is null;
comment on table recoup.delivery_queue is
'Deliveries that wait: since when each is due, or who is delivering it until when.';
comment on column recoup.delivery_queue.unit is
'The delivery''s id; part is its route, round the tries that have ended.';

create table recoup.delivery_event (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  delivery_id uuid not null,
  route       text not null,
  from_status text,
  to_status   text not null,
  attempts    integer not null,
  next_try_at timestamptz not null check (isfinite(next_try_at)),
  outcome     text,
  token       uuid,
  reason      text,
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null,
  login       text default session_user
);
create index delivery_event_xid on recoup.delivery_event (xid);
create index delivery_event_delivery on recoup.delivery_event (delivery_id, seq);
comment on table recoup.delivery_event is
'Append-only: every birth and move of a delivery, written by the move''s recorder.';
comment on column recoup.delivery_event.seq is 'Order over all logs, drawn after the delivery is locked.';
comment on column recoup.delivery_event.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.delivery_event.incarnation is 'Cluster that wrote it.';
comment on column recoup.delivery_event.logged_at is 'When: updated_at of the delivery.';
comment on column recoup.delivery_event.delivery_id is 'The delivery.';
comment on column recoup.delivery_event.route is 'Its route.';
comment on column recoup.delivery_event.from_status is 'Its status before; null: it was queued now.';
comment on column recoup.delivery_event.to_status is 'Its status since.';
comment on column recoup.delivery_event.attempts is 'Tries that have ended.';
comment on column recoup.delivery_event.next_try_at is 'When it is due.';
comment on column recoup.delivery_event.outcome is 'SUCCEEDED, FAILED, LAPSED or CANCELLED; null: it was queued.';
comment on column recoup.delivery_event.token is 'Of a try that ended: the token of its claim (recoup.claim_log).';
comment on column recoup.delivery_event.reason is 'Why a try failed, or why it was cancelled.';
comment on column recoup.delivery_event.actor is 'system, ai or human.';
comment on column recoup.delivery_event.actor_id is 'Who exactly.';
comment on column recoup.delivery_event.authority is 'Database role that acted.';
comment on column recoup.delivery_event.login is 'Login of the session.';

grant select on recoup.delivery, recoup.delivery_queue, recoup.delivery_event to recoup_reader;
grant insert (delivery_id, route, subject, body, about, dedup_key, origin, next_try_at, created_at, updated_at)
  on recoup.delivery to recoup_operator;
grant update (status, attempts, token, outcome, updated_at, ended_at) on recoup.delivery to recoup_operator;
-- To lock a row needs the right to change one: the operator claims nothing (recoup.guard_claims).
grant update (wake_at) on recoup.delivery_queue to recoup_operator;
-- Its births are consequences, which the owner writes: by hand the guard refuses them.
grant insert (delivery_id, route, subject, body, about, dedup_key, origin, candidate_id)
  on recoup.delivery to recoup_executor;
grant update (status, attempts, next_try_at, token, outcome, last_failure, updated_at, ended_at)
  on recoup.delivery to recoup_executor;
grant insert, update on recoup.duty_tally to recoup_executor;
