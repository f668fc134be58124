-- name: subscribe
-- From the first event on: everything visible in the snapshot '1:1:' is nothing.
insert into recoup.subscription (name, log, created_at) values (%(name)s, %(log)s, recoup.now())
on conflict (log, name) do nothing;

-- name: unsubscribe
delete from recoup.subscription where log = %(log)s and name = %(name)s;

-- name: take_subscription
-- One reader at a time: a second one gets no row.
select s.position, s.incarnation, s.since::text, s.until::text, s.after_seq, recoup.present_incarnation()
  from recoup.subscription s
 where s.log = %(log)s and s.name = %(name)s
   for update skip locked;

-- name: subscription_exists
select from recoup.subscription where log = %(log)s and name = %(name)s;

-- name: present_snapshot
-- A snapshot counts its own transaction as finished. Ours is not: its later rows must not count as delivered.
select least(pg_snapshot_xmin(s), own)::text || ':' || pg_snapshot_xmax(s)::text || ':' || coalesce(
         (select string_agg(x::text, ',' order by x)
            from (select pg_snapshot_xip(s) union select own where own < pg_snapshot_xmax(s)) running (x)), '')
  from (select pg_current_snapshot(), pg_current_xact_id_if_assigned()) t (s, own);

-- name: present_incarnation
select recoup.present_incarnation();

-- name: window_rows
-- How many rows are between two snapshots, counted up to the limit.
select count(*) from (
  select from {log} l
   where l.xid >= pg_snapshot_xmax(%(since)s::pg_snapshot) and l.xid < pg_snapshot_xmax(%(until)s::pg_snapshot)
   limit %(most)s) w;

-- name: before_window
-- The seq before the first one of a long range, searched once; the pages then follow seq. (seq + 0: searched by the
-- transactions of the range, and not along seq, where the whole log before it would be read.)
select coalesce(min(fresh.seq) - 1, 0) from (
  select l.seq + 0 as seq from {log} l
   where l.incarnation = %(incarnation)s and l.xid >= pg_snapshot_xmax(%(since)s::pg_snapshot)
   union all
  select l.seq + 0 as seq from {log} l
   where l.incarnation = %(incarnation)s and l.xid = any(array(select pg_snapshot_xip(%(since)s::pg_snapshot)))) fresh;

-- name: read_short_window
-- What became visible between two snapshots. "Not visible then" is written as "not begun then, or running then": a
-- range and a few points of the index on xid, so that one long transaction does not widen what every poll has to read.
with fresh as materialized (
  select {columns}, l.{event} as event_type_, l.seq as seq_, l.xid as xid_
    from {log} l
   where l.incarnation = %(incarnation)s
     and l.xid >= pg_snapshot_xmax(%(since)s::pg_snapshot) and l.xid < pg_snapshot_xmax(%(until)s::pg_snapshot)
   union all
  select {columns}, l.{event} as event_type_, l.seq as seq_, l.xid as xid_
    from {log} l
   where l.incarnation = %(incarnation)s and l.xid = any(array(select pg_snapshot_xip(%(since)s::pg_snapshot))))
select {names}
  from fresh
 where pg_visible_in_snapshot(xid_, %(until)s::pg_snapshot)
   and seq_ > %(after_seq)s
   and (%(event_types)s::text[] is null or event_type_ = any(%(event_types)s::text[]))
 order by seq_
 limit %(limit)s;

-- name: read_long_window
-- The same for a long range: page by page along the index on seq, instead of the whole range for every page.
select {columns}
  from {log} l
 where l.incarnation = %(incarnation)s
   and (l.xid >= pg_snapshot_xmax(%(since)s::pg_snapshot)
        or l.xid = any(array(select pg_snapshot_xip(%(since)s::pg_snapshot))))
   and pg_visible_in_snapshot(l.xid, %(until)s::pg_snapshot)
   and l.seq > %(after_seq)s
   and (%(event_types)s::text[] is null or l.{event} = any(%(event_types)s::text[]))
 order by l.seq
 limit %(limit)s;

-- name: read_earlier_incarnation
-- The rest of what another cluster wrote before the database was restored here. All of it is settled.
select {columns}
  from {log} l
 where l.incarnation = %(incarnation)s
   and (l.xid >= pg_snapshot_xmax(%(since)s::pg_snapshot)
        or l.xid = any(array(select pg_snapshot_xip(%(since)s::pg_snapshot))))
   and l.seq > %(after_seq)s
   and (%(event_types)s::text[] is null or l.{event} = any(%(event_types)s::text[]))
 order by l.seq
 limit %(limit)s;

-- name: acknowledge
-- Only from the page's position: of two acknowledgements of one page, one succeeds.
update recoup.subscription
   set position = nextval('recoup.subscription_position'), incarnation = %(incarnation)s,
       since = %(since)s::pg_snapshot, until = %(until)s::pg_snapshot, after_seq = %(after_seq)s,
       acknowledged_at = recoup.now()
 where log = %(log)s and name = %(name)s and position = %(position)s;
