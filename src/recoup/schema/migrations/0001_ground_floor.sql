-- The ground floor: time, ids, lifecycles as data, logs, subscriptions.
-- Runs as recoup_owner. Functions that may change live beside their domain (see database/migrate.py) and come after this.

comment on schema recoup is 'Recoup''s own tables: time, lifecycles, logs shared by all domains, subscriptions.';

-- Time -------------------------------------------------------------------------------------------------------------

create table recoup.clock (
  only_row    boolean primary key default true check (only_row),
  status      text not null check (status in ('real', 'simulated', 'released')),
  at          timestamptz check (isfinite(at)),
  released_at timestamptz,
  check ((status = 'real') = (at is null)),
  check ((status = 'released') = (released_at is not null))
);
comment on table recoup.clock is 'The one row that says what time it is. Read it through recoup.now().';
comment on column recoup.clock.only_row is 'Always true: there is one clock.';
comment on column recoup.clock.status is 'real: the server''s clock. simulated: stands still at "at" until moved. released: was simulated, is the server''s clock now and for ever.';
comment on column recoup.clock.at is 'Simulated time; after a release, where it stood.';
comment on column recoup.clock.released_at is 'Real time of the release.';

-- Both are written anew for this server and this clock by database/new_id.sql and clock.sql; defaults need them now.
create function recoup.now() returns timestamptz language sql stable as 'select clock_timestamp()';
create function recoup.new_id() returns uuid language sql volatile parallel safe as 'select gen_random_uuid()';

-- Lifecycles, as declared in Python and written here by `recoup migrate` ---------------------------------------------

create table recoup.lifecycle (
  subject       text primary key,
  key           text[] not null,
  status_column text not null,
  counter       text,
  frozen        text[] not null,
  once          text[] not null,
  rising        text[] not null
);
comment on table recoup.lifecycle is 'One row per guarded table. Written by `recoup migrate` from the declaration; read by recoup.guard().';
comment on column recoup.lifecycle.subject is 'Schema and name of the guarded table.';
comment on column recoup.lifecycle.key is 'Columns that identify a row. They never change.';
comment on column recoup.lifecycle.status_column is 'The column that says where a row stands.';
comment on column recoup.lifecycle.counter is 'Column that a counting move raises by exactly one.';
comment on column recoup.lifecycle.frozen is 'Columns that never change after birth.';
comment on column recoup.lifecycle.once is 'Columns that change once, from null to a value.';
comment on column recoup.lifecycle.rising is 'Columns that never fall.';

create table recoup.lifecycle_step (
  subject     text not null references recoup.lifecycle,
  kind        text not null check (kind in ('birth', 'move', 'exit')),
  from_status text,
  to_status   text,
  authority   text not null,
  counts      boolean not null,
  requires    text[] not null,
  through     text[] not null,
  says        text not null,
  check ((kind = 'birth') = (from_status is null)),
  check ((kind = 'exit') = (to_status is null)),
  unique nulls not distinct (subject, kind, from_status, to_status, authority)
);
comment on table recoup.lifecycle_step is 'Every listed birth, move and exit. What is not listed is refused.';
comment on column recoup.lifecycle_step.subject is 'The guarded table.';
comment on column recoup.lifecycle_step.kind is 'birth (insert), move (update, a self-move included) or exit (delete).';
comment on column recoup.lifecycle_step.from_status is 'Status before; null for a birth.';
comment on column recoup.lifecycle_step.to_status is 'Status after; null for an exit.';
comment on column recoup.lifecycle_step.authority is 'Who may: the database role recoup_<authority>.';
comment on column recoup.lifecycle_step.counts is 'Whether the move must raise the lifecycle''s counter by exactly one.';
comment on column recoup.lifecycle_step.requires is 'Columns that a birth must bring.';
comment on column recoup.lifecycle_step.through is 'Functions as whose consequence alone the step is made; empty: by anybody who has the authority.';
comment on column recoup.lifecycle_step.says is 'What the step means, in a sentence.';

-- Logs: one order for all, and which cluster's transaction ids a row carries -------------------------------------------

create sequence recoup.event_seq;
comment on sequence recoup.event_seq is 'The order of events over all logs. Drawn after the entity is locked.';

create table recoup.incarnation (
  incarnation       integer primary key check (incarnation > 0),
  system_identifier bigint not null,
  began_at          timestamptz not null
);
comment on table recoup.incarnation is 'Which cluster wrote a log row. Transaction ids compare only within one incarnation: a restored database continues under lower ones.';
comment on column recoup.incarnation.incarnation is 'Number carried by log rows and cursors. The highest is the present one.';
comment on column recoup.incarnation.system_identifier is 'Identity of the cluster, from pg_control_system().';
comment on column recoup.incarnation.began_at is 'Server time when this incarnation was first seen.';

create sequence recoup.subscription_position;
comment on sequence recoup.subscription_position is 'Positions of subscriptions; none is used twice, also after one was dropped and made again.';

create table recoup.subscription (
  name            text not null,
  log             text not null,
  position        bigint not null default nextval('recoup.subscription_position'),
  incarnation     integer not null default 1,
  since           pg_snapshot not null default '1:1:',
  until           pg_snapshot,
  after_seq       bigint not null default 0,
  created_at      timestamptz not null,
  acknowledged_at timestamptz,
  primary key (log, name)
);
comment on table recoup.subscription is 'Where each named subscriber stands in a log. The cursor is a snapshot: what it has seen is what was visible then.';
comment on column recoup.subscription.name is 'The subscriber''s name.';
comment on column recoup.subscription.log is 'Schema and name of the log.';
comment on column recoup.subscription.position is 'New with each acknowledgement; one of an older position is refused.';
comment on column recoup.subscription.incarnation is 'Which incarnation''s rows are being read.';
comment on column recoup.subscription.since is 'Everything visible in this snapshot is delivered.';
comment on column recoup.subscription.until is 'While pages are left: the snapshot they are cut from.';
comment on column recoup.subscription.after_seq is 'While pages are left: the last seq delivered of them.';
comment on column recoup.subscription.created_at is 'When the subscription was made.';
comment on column recoup.subscription.acknowledged_at is 'When it last acknowledged.';

-- Pauses, and results that came too late ------------------------------------------------------------------------------

create table recoup.pause_log (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  event_type  text not null check (event_type in ('PAUSE', 'RESUME')),
  scope       text not null check (scope in ('batch')),
  scope_id    text not null,
  reason      text not null,
  actor       text not null,
  actor_id    text not null,
  authority   text not null
);
create index pause_log_xid on recoup.pause_log (xid);
create index pause_log_scope on recoup.pause_log (scope, scope_id, seq);
comment on table recoup.pause_log is 'Append-only: who stopped or resumed what, and why.';
comment on column recoup.pause_log.seq is 'Order over all logs.';
comment on column recoup.pause_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.pause_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.pause_log.logged_at is 'When.';
comment on column recoup.pause_log.event_type is 'PAUSE or RESUME.';
comment on column recoup.pause_log.scope is 'What kind of thing was paused.';
comment on column recoup.pause_log.scope_id is 'Which one.';
comment on column recoup.pause_log.reason is 'Why, in the actor''s words.';
comment on column recoup.pause_log.actor is 'Kind of actor: system, ai, human.';
comment on column recoup.pause_log.actor_id is 'Who.';
comment on column recoup.pause_log.authority is 'Database role that acted.';

create table recoup.late_result (
  late_result_id bigint generated always as identity primary key,
  subject        text not null,
  unit_id        uuid not null,
  token          uuid not null,
  result         jsonb not null,
  received_at    timestamptz not null,
  actor_id       text not null
);
create index late_result_unit on recoup.late_result (subject, unit_id);
comment on table recoup.late_result is 'Append-only: results of workers that had been declared dead. Stored, and not applied.';
comment on column recoup.late_result.late_result_id is 'Identity.';
comment on column recoup.late_result.subject is 'Table of the unit of work.';
comment on column recoup.late_result.unit_id is 'The unit of work.';
comment on column recoup.late_result.token is 'The token under which the result was reported.';
comment on column recoup.late_result.result is 'What was reported.';
comment on column recoup.late_result.received_at is 'When.';
comment on column recoup.late_result.actor_id is 'Who reported it.';

-- Rights -------------------------------------------------------------------------------------------------------------

grant usage on schema recoup to recoup_reader;
grant select on all tables in schema recoup to recoup_reader;
grant update (status, at, released_at) on recoup.clock to recoup_operator;
-- Any authority may subscribe; a cursor moves nothing but itself.
grant insert (name, log, created_at), delete on recoup.subscription to recoup_consumer, recoup_mint, recoup_operator;
grant update (position, incarnation, since, until, after_seq, acknowledged_at) on recoup.subscription
   to recoup_consumer, recoup_mint, recoup_operator;
grant usage on sequence recoup.subscription_position to recoup_consumer, recoup_mint, recoup_operator;
grant insert (subject, unit_id, token, result, received_at, actor_id) on recoup.late_result to recoup_gate;
