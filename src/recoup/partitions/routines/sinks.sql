-- Raw sinks, and the breaker of each: a worker that cannot use its sink reports it, and looks again until it can.

create or replace function partitions.rule_sinks() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  if tg_op = 'INSERT' then
    select n.name, 'it is registered now, by the one who acts' as why into bad from new_rows n
     where not partitions.is_now(n.registered_at, now_) or n.registered_by <> recoup.acting_id()
        or n.updated_at <> n.registered_at limit 1;
  else
    select n.name, case
             when n.updated_at > greatest(o.updated_at, now_ + interval '1 second')
                  or n.updated_at < now_ - interval '1 minute' then 'it changes now, and at no other time'
             when n.status = o.status and (n.cause, n.message, n.host, n.outage_at) is distinct from
                                          (o.cause, o.message, o.host, o.outage_at)
               then 'its outage stays as it was reported'
             when n.status = o.status and n.checked_at <> n.updated_at then 'it was checked now'
             when n.status = 'unavailable' and o.status = 'available'
                  and (n.outage_at <> n.updated_at or n.checked_at <> n.updated_at) then 'its outage begins now'
             when n.status = 'available' then 'its outage ends now'
             else 'it changes when a worker reports it' end as why into bad
      from new_rows n join old_rows o on o.sink_id = n.sink_id
     where n.updated_at > greatest(o.updated_at, now_ + interval '1 second')
        or n.updated_at < now_ - interval '1 minute'
        or n.status = o.status and (n.checked_at <> n.updated_at
             or (n.cause, n.message, n.host, n.outage_at) is distinct from (o.cause, o.message, o.host, o.outage_at))
        or n.status = 'unavailable' and o.status = 'available'
           and (n.outage_at <> n.updated_at or n.checked_at <> n.updated_at)
        or n.status = 'available' and (n.restored_at is distinct from n.updated_at
             or (n.cause, n.message, n.host, n.outage_at) is distinct from (o.cause, o.message, o.host, o.outage_at))
     limit 1;
  end if;
  if found then
    raise exception using errcode = 'RC149',
      message = format('Raw sink %s: %s.', bad.name, bad.why),
      hint = 'Workers report whether they can use it. To see: recoup duties',
      detail = jsonb_build_object('sink', bad.name, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function partitions.rule_sinks() is
'A sink is registered now; its outage is reported, checked and ended now, and stays as it was reported.';

create or replace function partitions.report_sink(sink_ uuid, host_ text, cause_ text, message_ text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_ constant timestamptz := recoup.now();
  was  partitions.sink;
begin
  select * into was from partitions.sink s where s.sink_id = sink_ for no key update;
  if was.status = 'available' then
    update partitions.sink s
       set status = 'unavailable', cause = cause_, message = message_, host = host_,
           outage_at = greatest(s.updated_at, now_), checked_at = greatest(s.updated_at, now_), restored_at = null,
           updated_at = greatest(s.updated_at, now_)
     where s.sink_id = sink_;
    return 'reported';
  end if;
  -- Reported again by the same host, so that others know that somebody still waits for it.
  if was.host = host_ and was.checked_at < now_ - interval '1 minute' then
    update partitions.sink s
       set checked_at = greatest(s.updated_at, now_), updated_at = greatest(s.updated_at, now_)
     where s.sink_id = sink_;
  end if;
  return 'known';
end $$;
comment on function partitions.report_sink(uuid, text, text, text) is
'A worker cannot use its raw sink: reported, or known already.';

create or replace function partitions.restore_sink(sink_ uuid, host_ text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  -- By the host that reported it: another one may have it mounted all the time. If that host is silent, by any.
  update partitions.sink s
     set status = 'available', restored_at = greatest(s.updated_at, now_), updated_at = greatest(s.updated_at, now_)
   where s.sink_id = sink_ and s.status = 'unavailable'
     and (s.host = host_ or s.checked_at < now_ - interval '5 minutes');
  return found;
end $$;
comment on function partitions.restore_sink(uuid, text) is 'A worker can use its raw sink again.';
