-- Metrics: what happened to errors, counted by five minutes, so that a busy day is not read event by event.

create table recoup.error_tally (
  slot        timestamptz not null check (isfinite(slot)),
  error_table text not null,
  flags       integer not null,
  events      bigint not null check (events > 0),
  last_at     timestamptz not null check (isfinite(last_at)),
  primary key (slot, error_table, flags)
);
comment on table recoup.error_tally is
'How many events of errors there were in each five minutes of the last day, by table and by what metrics count.';
comment on column recoup.error_tally.slot is 'Beginning of the five minutes.';
comment on column recoup.error_tally.error_table is 'The table.';
comment on column recoup.error_tally.flags is 'What metrics count of the event, as recoup.event_flags has it.';
comment on column recoup.error_tally.events is 'How many of them were counted.';
comment on column recoup.error_tally.last_at is 'When the last of them happened.';

create table recoup.error_tally_mark (
  one            boolean primary key default true check (one),
  incarnation    integer,
  counted_before xid8,
  since          timestamptz check (isfinite(since)),
  counted_at     timestamptz check (isfinite(counted_at)),
  constraint error_tally_mark_whole
    check (num_nonnulls(incarnation, counted_before, since, counted_at) in (0, 4))
);
insert into recoup.error_tally_mark default values;
comment on table recoup.error_tally_mark is
'One row: which events are counted in recoup.error_tally. Metrics read the others one by one.';
comment on column recoup.error_tally_mark.one is 'There is one row.';
comment on column recoup.error_tally_mark.incarnation is 'Cluster that counted; null: nothing is counted.';
comment on column recoup.error_tally_mark.counted_before is
'Events of transactions before this one are counted, and all of earlier clusters; others are not.';
comment on column recoup.error_tally_mark.since is 'Slots from this one on are complete; earlier ones were removed.';
comment on column recoup.error_tally_mark.counted_at is 'When events were counted last.';

grant select on recoup.error_tally, recoup.error_tally_mark to recoup_reader;
grant insert, delete, update (events, last_at) on recoup.error_tally to recoup_error_worker;
grant update (incarnation, counted_before, since, counted_at) on recoup.error_tally_mark to recoup_error_worker;
