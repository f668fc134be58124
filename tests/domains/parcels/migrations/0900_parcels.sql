create schema parcels;
grant usage on schema parcels to recoup_reader;

create table parcels.parcel (
  parcel_id bigint generated always as identity primary key,
  city      text not null check (city <> ''),
  status    text not null default 'WAITING' check (status in ('WAITING', 'SORTED', 'SHIPPED', 'DELIVERED', 'LOST')),
  moved_at  timestamptz not null,
  sorts     integer not null default 0,
  due_at    timestamptz not null default recoup.now(),
  token     uuid,
  outcome   text
);
create table parcels.parcel_queue (unit bigint primary key, like recoup.queue_form including all);

create table parcels.parcel_event (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null,
  parcel_id   bigint not null,
  from_status text,
  to_status   text,
  reason      text,
  outcome     text,
  token       uuid,
  actor_id    text not null,
  authority   text not null
);
create index parcel_event_xid on parcels.parcel_event (xid);
create index parcel_event_parcel on parcels.parcel_event (parcel_id, seq);

grant select on parcels.parcel, parcels.parcel_event to recoup_reader;
grant insert (city, moved_at) on parcels.parcel to recoup_hub;
grant update (status, moved_at) on parcels.parcel to recoup_control_plane, recoup_operator;
grant update (sorts, due_at, token, outcome) on parcels.parcel to recoup_control_plane;
