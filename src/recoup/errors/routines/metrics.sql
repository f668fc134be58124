-- Metrics. Processed counts are written by hubs, directly: the door of the log checks each row, and sets who and when.

create or replace function recoup.event_parks(e recoup.error_event) returns boolean
language sql immutable as $$
  -- One that takes over the parking of another was not parked again; it has parked_since. Inlined.
  select e.to_status in ('PARKED', 'ESCALATED') and coalesce(e.from_status not in ('PARKED', 'ESCALATED'), true)
     and not coalesce(e.facts ? 'parked_since', false)
$$;
comment on function recoup.event_parks(recoup.error_event) is 'Whether an error came to be parked with this event.';

create or replace function recoup.event_flags(e recoup.error_event) returns integer
language sql immutable as $$
  -- Inlined. Most events are births of errors that are not parked.
  select case
    when e.event_type = 'RECORDED' then
      1 | case when e.disposition = 'IGNORE' then 2 else 0 end
        | case when e.to_status in ('PARKED', 'ESCALATED') and not coalesce(e.facts ? 'parked_since', false)
               then 4 else 0 end
        | case when e.facts is null then 0 else case e.facts ->> 'ended_by' when 'MAX_RETRIES_EXCEEDED' then 8 | 16
                                                when 'RETRY_WINDOW_CLOSED' then 8 else 0 end end
    -- An error that was closed leaves for the archive later; one that expires leaves at once.
    when e.event_type = 'ARCHIVED' and (e.reason <> 'TTL_EXPIRED' or coalesce(e.facts ? 'was_closed', false)) then 0
    -- The retries of a superseded error continue with the newer one, or end with its birth.
    when e.from_status = 'RETRY_PENDING' then case
      when e.event_type = 'SUPERSEDED' or e.to_status = 'RETRY_PENDING' and e.event_type not in ('RETIRED', 'EXPIRED')
        then 0
      else 8 | case when e.to_status = 'PARKED' then 4 else 0 end
             | case when e.event_type in ('FAILED', 'LAPSED')
                     and coalesce(e.facts ->> 'ended_by', '') <> 'RETRY_WINDOW_CLOSED' then 16 else 0 end end
    when e.from_status = 'ACTIVE' then case when e.to_status = 'PARKED' then 4 else 0 end
    when e.from_status in ('PARKED', 'ESCALATED') then case
      when e.to_status in ('PARKED', 'ESCALATED') and e.event_type not in ('SUPERSEDED', 'RETIRED', 'EXPIRED') then 0
      else 32 | case when e.from_status = 'ESCALATED' or coalesce((e.facts ->> 'level')::integer, 0) >= 2
                     then 64 else 0 end end
    else 0 end
$$;
comment on function recoup.event_flags(recoup.error_event) is
'What metrics count of an event: 1 recorded, 2 ignored, 4 came to be parked, 8 its retries ended, 16 none was left, '
'32 is parked no more, 64 was escalated by a person or at level 2 or higher until then.';

create or replace function recoup.tally_slot(at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select date_bin(interval '5 minutes', at, timestamptz '2000-01-01 00:00:00+00')
$$;
comment on function recoup.tally_slot(timestamptz) is 'The beginning of the five minutes that a time is in.';

create or replace function recoup.tally_errors() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_    constant timestamptz := recoup.now();
  cluster constant integer := recoup.present_incarnation();
  -- Transactions before this one have ended: their events are there, or never will be.
  upto    constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  oldest  constant timestamptz := recoup.tally_slot(now_ - interval '25 hours');
  mark    recoup.error_tally_mark;
  counted bigint;
begin
  -- The worker that counts holds the row until the counts are written: every event is counted once.
  -- Not more often than every ten seconds, however much happens.
  select * into mark from recoup.error_tally_mark m
   where m.counted_at is null or m.counted_at > now_ or m.counted_at <= now_ - interval '10 seconds'
     or m.incarnation <> cluster
     for no key update skip locked;
  if not found then
    return 0;
  end if;
  if mark.incarnation is distinct from cluster then
    -- For the first time, or in another cluster, whose transactions have numbers of its own. Older ones have ended.
    delete from recoup.error_tally;
    mark.since := oldest;
    with seen as materialized (
      select recoup.tally_slot(e.logged_at) as slot, e.error_table, recoup.event_flags(e) as flags, count(*) as events,
             max(e.logged_at) as last_at
        from recoup.error_event e
       where e.logged_at >= oldest and (e.incarnation <> cluster or e.xid < upto)
       group by 1, 2, 3),
    put as (
      insert into recoup.error_tally (slot, error_table, flags, events, last_at)
      select s.slot, s.error_table, s.flags, s.events, s.last_at from seen s)
    select coalesce(sum(s.events), 0) into counted from seen s;
  else
    with seen as materialized (
      select recoup.tally_slot(e.logged_at) as slot, e.error_table, recoup.event_flags(e) as flags, count(*) as events,
             max(e.logged_at) as last_at
        from recoup.error_event e
       where e.xid >= mark.counted_before and e.xid < upto and e.incarnation = cluster and e.logged_at >= oldest
       group by 1, 2, 3),
    put as (
      insert into recoup.error_tally as t (slot, error_table, flags, events, last_at)
      select s.slot, s.error_table, s.flags, s.events, s.last_at from seen s
      on conflict (slot, error_table, flags) do update
        set events = t.events + excluded.events, last_at = greatest(t.last_at, excluded.last_at))
    select coalesce(sum(s.events), 0) into counted from seen s;
  end if;
  delete from recoup.error_tally t where t.slot < oldest;
  update recoup.error_tally_mark m
     set incarnation = cluster, since = greatest(mark.since, oldest), counted_at = now_,
         counted_before = case when mark.incarnation = cluster then greatest(mark.counted_before, upto) else upto end;
  return counted;
end $$;
comment on function recoup.tally_errors() is
'Counts the events of errors whose transactions have ended since the last time. Returns how many.';

create or replace function recoup.stamp_processed() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  new.period_to := coalesce(new.period_to, now_);
  new.period_from := coalesce(new.period_from, new.period_to);
  if new.period_to > now_ then
    raise exception using errcode = 'RC059',
      message = format('A count of %s is for a period until %s, which has not ended: it is %s.', new.error_table,
                       new.period_to, now_),
      hint = 'Report what was processed after it was; without a period it counts for now.',
      detail = jsonb_build_object('error_table', new.error_table, 'period_to', new.period_to, 'now', now_);
  end if;
  if not coalesce(recoup.error_policy() -> 'tables' ? new.error_table, false) then
    raise exception using errcode = 'RC059',
      message = format('%s is not an error table of the policy: nothing is processed for it.',
                       left(new.error_table, 200)),
      hint = 'Name the error table of the hub; recoup errors stats lists them.',
      detail = jsonb_build_object('error_table', left(new.error_table, 200));
  end if;
  new.xid := pg_current_xact_id();
  new.incarnation := recoup.present_incarnation();
  new.logged_at := now_;
  new.actor := recoup.acting_kind();
  new.actor_id := recoup.acting_id();
  new.authority := current_user;
  new.login := session_user;
  return new;
end $$;
comment on function recoup.stamp_processed() is
'Checks the table and period of a processed count, and sets who reported it and when.';

call recoup.put_trigger('recoup.processed', 'b_stamp_processed', 'before', 'insert', 'row', 'recoup.stamp_processed');
