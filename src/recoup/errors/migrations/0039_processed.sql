-- Metrics: how much each hub has processed, and indexes for what happened within a window of time.

create table recoup.processed (
  seq             bigint primary key default nextval('recoup.event_seq'),
  xid             xid8 not null default pg_current_xact_id(),
  incarnation     integer not null,
  logged_at       timestamptz not null check (isfinite(logged_at)),
  error_table     text not null,
  period_from     timestamptz not null,
  period_to       timestamptz not null,
  count           bigint not null check (count between 0 and 1000000000000),
  idempotency_key text not null default gen_random_uuid()::text
                    check (octet_length(idempotency_key) between 1 and 200),
  actor           text not null check (actor in ('system', 'ai', 'human')),
  actor_id        text not null,
  authority       text not null,
  login           text default session_user,
  -- A count over a longer time would say nothing about a day. In hours: a day of a time zone has 23 to 25.
  constraint processed_period check (isfinite(period_from) and isfinite(period_to) and period_from <= period_to
    and period_to - period_from <= interval '744 hours'),
  constraint processed_once unique (error_table, idempotency_key)
);
create index processed_xid on recoup.processed (xid);
create index processed_period_to on recoup.processed (period_to);
comment on table recoup.processed is
'Append-only: how many units of work a hub has processed in a period, as it reported. Error rates are shares of them.';
comment on column recoup.processed.seq is 'Order over all logs.';
comment on column recoup.processed.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.processed.incarnation is 'Cluster that wrote it.';
comment on column recoup.processed.logged_at is 'When it was reported.';
comment on column recoup.processed.error_table is 'The error table of the hub.';
comment on column recoup.processed.period_from is 'Beginning of the period; by default its end.';
comment on column recoup.processed.period_to is 'End of the period; by default when it was reported.';
comment on column recoup.processed.count is 'Units of work that were processed, those that failed included.';
comment on column recoup.processed.idempotency_key is 'A report that is sent again with the same key counts once.';
comment on column recoup.processed.actor is 'system, ai or human.';
comment on column recoup.processed.actor_id is 'Who exactly.';
comment on column recoup.processed.authority is 'Database role that reported it.';
comment on column recoup.processed.login is 'Login of the session.';
grant select on recoup.processed to recoup_reader;
grant insert (error_table, period_from, period_to, count, idempotency_key) on recoup.processed to recoup_hub;

-- Logs and archives are written in the order of time, so a summary of each few pages finds a window.
create index error_event_logged_at on recoup.error_event using brin (logged_at) with (pages_per_range = 32);
create index error_event_unparked on recoup.error_event (logged_at) where event_type = 'UNPARKED';
create index error_archive_archived_at on recoup.error_archive using brin (archived_at) with (pages_per_range = 32);
-- The age of every live error, read from the index alone. Neither column makes a change of a row more expensive:
-- created_at never changes.
drop index recoup.error_expiry;
create index error_expiry on recoup.error (expires_at, created_at)
  where archived_at is null and expires_at is not null;
create index error_escalated on recoup.error (escalation_level)
  where status in ('PARKED', 'ESCALATED') and (escalation_level >= 2 or status = 'ESCALATED') and archived_at is null;
