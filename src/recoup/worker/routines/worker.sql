-- Workers: registered, alive, stopped or lost. Heartbeats are not recorded in the control log; births and ends are.

create or replace function recoup.rule_workers() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_  timestamptz := recoup.now();
  quiet interval := (select make_interval(secs => (p.figures -> 'worker' ->> 'lost_after_s')::integer)
                       from recoup.policy p order by p.version desc limit 1);
  last  timestamptz;  -- the last heartbeat before: a clock that was set back may leave no other time than that
  bad   record;
begin
  if tg_op = 'UPDATE' then
    last := (select max(o.heartbeat_at) from old_rows o);
  end if;
  select n.worker_id, n.status = 'lost' and n.heartbeat_at > now_ - quiet as beating into bad from new_rows n
   where n.heartbeat_at > greatest(now_ + interval '1 second', last)
      or n.started_at > greatest(now_ + interval '1 second', last)
      or n.ended_at not between least(now_, recoup.statement_time()) and now_ + interval '1 second'
      or (n.status = 'lost' and n.heartbeat_at > now_ - quiet) limit 1;
  if found then
    raise exception using errcode = 'RC037',
      message = case when bad.beating
                     then format('Worker %s sent a heartbeat within %s: it is not lost.', bad.worker_id, quiet)
                     else format('Worker %s has a time that is not now.', bad.worker_id) end,
      hint = case when bad.beating then 'Wait until it has been silent for worker.lost_after_s, or stop it.'
                  else 'Take times from recoup.now().' end,
      detail = jsonb_build_object('worker_id', bad.worker_id, 'now', now_);
  end if;
  return null;
end $$;
comment on function recoup.rule_workers() is
'A heartbeat and an end are dated now. A worker is lost only after it has been silent.';
