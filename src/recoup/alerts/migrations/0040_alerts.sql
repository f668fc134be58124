-- Alerts: what is measured of every domain, judged by the rules of the policy. An alert is one episode: it fires, and
-- ends for good; the next time is another row.

create table recoup.alert (
  alert_id       uuid primary key default recoup.new_id(),
  rule           text not null check (octet_length(rule) between 1 and 60),
  key            text not null check (octet_length(key) between 1 and 200),
  signal         text not null check (octet_length(signal) between 1 and 60),
  unit           text not null check (unit in ('share', 'count', 'seconds')),
  severity       text not null check (severity in ('WARNING', 'HIGH', 'CRITICAL')),
  action         text not null check (octet_length(action) between 1 and 60),
  threshold      numeric not null check (threshold between -1e15 and 1e15),
  value          numeric not null check (value between -1e15 and 1e15),
  sample         bigint check (sample >= 0),
  facts          jsonb not null default '{}' check (octet_length(facts::text) <= 20000),
  status         text not null default 'firing' check (status in ('firing', 'recovered', 'no_data')),
  last_value     numeric check (last_value between -1e15 and 1e15),
  worst_value    numeric check (worst_value between -1e15 and 1e15),
  notices        integer not null default 0 check (notices >= 0),
  notified_at    timestamptz check (isfinite(notified_at)),
  routes         text[] not null default '{}',
  unsent         integer not null default 0 check (unsent >= 0),
  policy_version integer not null default recoup.policy_version(),
  fired_at       timestamptz not null default recoup.now() check (isfinite(fired_at)),
  updated_at     timestamptz not null default recoup.now() check (isfinite(updated_at)),
  ended_at       timestamptz check (isfinite(ended_at)),
  constraint alert_ended check ((status = 'firing') = (ended_at is null)),
  constraint alert_notified check ((notices > 0) = (notified_at is not null))
) with (fillfactor = 80);
-- This prevents a storm: however many workers judge, a rule fires once for a key.
create unique index alert_firing on recoup.alert (rule, key) where status = 'firing';
comment on table recoup.alert is
'Alerts: one row for each time that a rule of the policy fired for a key, until it ended.';
comment on column recoup.alert.alert_id is 'Identity.';
comment on column recoup.alert.rule is 'Name of the rule, in the section alerts of the policy.';
comment on column recoup.alert.key is 'What it is about: an error table, a duty, a route; overall: the whole.';
comment on column recoup.alert.signal is 'What is measured.';
comment on column recoup.alert.unit is 'share, count or seconds.';
comment on column recoup.alert.severity is 'WARNING, HIGH or CRITICAL.';
comment on column recoup.alert.action is 'The action of the policy whose routes get the notices.';
comment on column recoup.alert.threshold is 'The value above which the rule fired.';
comment on column recoup.alert.value is 'The value when it fired.';
comment on column recoup.alert.sample is 'What a share was computed from then; null: it is not a share.';
comment on column recoup.alert.facts is 'What was known then, for the notice.';
comment on column recoup.alert.status is 'firing, recovered or no_data.';
comment on column recoup.alert.last_value is 'The value when the row last moved; null: there was none.';
comment on column recoup.alert.worst_value is 'The highest value until the row last moved.';
comment on column recoup.alert.notices is 'Notices so far; one for all routes counts as one.';
comment on column recoup.alert.notified_at is 'When the last one was queued; null: none was.';
comment on column recoup.alert.routes is 'The routes that the last notice was queued for.';
comment on column recoup.alert.unsent is 'Routes that were left out of a notice because too much waited for them.';
comment on column recoup.alert.policy_version is 'The policy that it fired under.';
comment on column recoup.alert.fired_at is 'When it fired.';
comment on column recoup.alert.updated_at is 'When it last moved.';
comment on column recoup.alert.ended_at is 'When it recovered, or had no value for too long; null: it is firing.';

create table recoup.alert_event (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  alert_id    uuid not null,
  rule        text not null,
  key         text not null,
  from_status text,
  to_status   text not null,
  value       numeric,
  worst       numeric,
  notices     integer not null,
  routes      text[] not null,
  unsent      integer not null,
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null,
  login       text default session_user
);
create index alert_event_xid on recoup.alert_event (xid);
create index alert_event_alert on recoup.alert_event (alert_id, seq);
comment on table recoup.alert_event is
'Append-only: every alert that fired, notified again or ended, written by the move''s recorder.';
comment on column recoup.alert_event.seq is 'Order over all logs, drawn after the alert is locked.';
comment on column recoup.alert_event.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.alert_event.incarnation is 'Cluster that wrote it.';
comment on column recoup.alert_event.logged_at is 'When: updated_at of the alert.';
comment on column recoup.alert_event.alert_id is 'The alert.';
comment on column recoup.alert_event.rule is 'Its rule.';
comment on column recoup.alert_event.key is 'What it is about.';
comment on column recoup.alert_event.from_status is 'Its status before; null: it fired now.';
comment on column recoup.alert_event.to_status is 'Its status since.';
comment on column recoup.alert_event.value is 'The value then; null: there was none.';
comment on column recoup.alert_event.worst is 'The highest value until then.';
comment on column recoup.alert_event.notices is 'Notices so far.';
comment on column recoup.alert_event.routes is 'The routes that the last notice was queued for.';
comment on column recoup.alert_event.unsent is 'Routes that were left out so far because too much waited for them.';
comment on column recoup.alert_event.actor is 'system, ai or human.';
comment on column recoup.alert_event.actor_id is 'Who exactly.';
comment on column recoup.alert_event.authority is 'Database role that acted.';
comment on column recoup.alert_event.login is 'Login of the session.';

create table recoup.silence (
  silence_id uuid primary key default recoup.new_id(),
  rule       text not null check (octet_length(rule) between 1 and 60),
  key        text not null check (octet_length(key) between 1 and 200),
  until      timestamptz not null check (isfinite(until)),
  reason     text not null check (octet_length(reason) between 1 and 2000),
  created_by text not null,
  created_at timestamptz not null default recoup.now() check (isfinite(created_at)),
  status     text not null default 'active' check (status in ('active', 'expired', 'ended')),
  ended_at   timestamptz check (isfinite(ended_at)),
  constraint silence_ended check ((status = 'active') = (ended_at is null)),
  constraint silence_ends check (until > created_at)
);
create index silence_active on recoup.silence (until) where status = 'active';
comment on table recoup.silence is
'Silences: alerts of a rule and a key are judged as always, and nobody is notified until then.';
comment on column recoup.silence.silence_id is 'Identity.';
comment on column recoup.silence.rule is 'Which rule: its name, or how names begin and then *.';
comment on column recoup.silence.key is 'Which key, in the same way.';
comment on column recoup.silence.until is 'When it ends by itself.';
comment on column recoup.silence.reason is 'Why.';
comment on column recoup.silence.created_by is 'Who asked for it.';
comment on column recoup.silence.created_at is 'Since when.';
comment on column recoup.silence.status is 'active, expired (its time has come) or ended (by a person).';
comment on column recoup.silence.ended_at is 'When it ended; null: it is active.';

create table recoup.alert_gauge (
  rule        text not null check (octet_length(rule) between 1 and 60),
  key         text not null check (octet_length(key) between 1 and 200),
  unit        text not null check (unit in ('share', 'count', 'seconds')),
  value       numeric check (value between -1e15 and 1e15),
  sample      bigint,
  facts       jsonb not null check (octet_length(facts::text) <= 20000),
  worst       numeric check (worst between -1e15 and 1e15),
  seen_at     timestamptz check (isfinite(seen_at)),
  above_since timestamptz check (isfinite(above_since)),
  below_since timestamptz check (isfinite(below_since)),
  silenced    boolean not null default false,
  primary key (rule, key)
) with (fillfactor = 50);
comment on table recoup.alert_gauge is
'What every rule saw last for each key: the value, and since when it is above or well below the threshold.';
comment on column recoup.alert_gauge.rule is 'The rule.';
comment on column recoup.alert_gauge.key is 'The key.';
comment on column recoup.alert_gauge.unit is 'share, count or seconds.';
comment on column recoup.alert_gauge.value is 'The last value; null: there was none, or of too small a sample.';
comment on column recoup.alert_gauge.sample is 'What a share was computed from; null: it is not a share.';
comment on column recoup.alert_gauge.facts is 'What was known along with it.';
comment on column recoup.alert_gauge.worst is 'The highest value since it is above the threshold, or fires.';
comment on column recoup.alert_gauge.seen_at is 'When there was a value last.';
comment on column recoup.alert_gauge.above_since is 'Since when it is above the threshold; null: it is not.';
comment on column recoup.alert_gauge.below_since is 'Since when it is low enough to recover; null: it is not.';
comment on column recoup.alert_gauge.silenced is 'Whether an alert of it was silenced when it was last judged.';

create table recoup.alert_round (
  one       boolean primary key default true check (one),
  judged_at timestamptz check (isfinite(judged_at)),
  failures  jsonb not null default '{}' check (octet_length(failures::text) <= 20000),
  beat_at   timestamptz check (isfinite(beat_at))
) with (fillfactor = 50);
insert into recoup.alert_round default values;
comment on table recoup.alert_round is 'One row, which a worker holds while it judges: when that was done last.';
comment on column recoup.alert_round.one is 'There is one row.';
comment on column recoup.alert_round.judged_at is 'When all rules were judged last.';
comment on column recoup.alert_round.failures is 'What could not be measured then, and why.';
comment on column recoup.alert_round.beat_at is 'When the last heartbeat was queued for its route.';

grant select on recoup.alert, recoup.alert_event, recoup.silence, recoup.alert_gauge, recoup.alert_round
  to recoup_reader;
grant insert (rule, key, signal, unit, severity, action, threshold, value, sample, facts, last_value, worst_value,
              notices, notified_at, routes, unsent, fired_at, updated_at)
  on recoup.alert to recoup_error_worker;
grant update (status, last_value, worst_value, notices, notified_at, routes, unsent, updated_at, ended_at)
  on recoup.alert to recoup_error_worker;
grant insert, update on recoup.alert_gauge to recoup_error_worker;
grant update (judged_at, failures, beat_at) on recoup.alert_round to recoup_error_worker;
grant insert (rule, key, until, reason, created_by) on recoup.silence to recoup_operator;
grant update (status, ended_at) on recoup.silence to recoup_operator, recoup_error_worker;
grant insert, update on recoup.duty_tally to recoup_error_worker;
