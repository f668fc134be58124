-- name: register
with t as materialized (select recoup.now() as now_)
insert into recoup.worker (name, host, pid, recoup_version, duties, started_at, heartbeat_at)
select %(name)s, %(host)s, %(pid)s, %(recoup_version)s, %(duties)s, t.now_, t.now_
  from t
returning worker_id;

-- name: beat
-- No row: it was declared lost, or has stopped.
update recoup.worker set heartbeat_at = greatest(heartbeat_at, recoup.now())
 where worker_id = %(worker_id)s and status = 'running'
returning worker_id;

-- name: stop
update recoup.worker set status = 'stopped', ended_at = recoup.now()
 where worker_id = %(worker_id)s and status = 'running';

-- name: lose_silent
-- What somebody holds at this moment is beating.
with t as materialized (select recoup.now() as now_)
update recoup.worker w set status = 'lost', ended_at = t.now_
  from t
 where w.worker_id = any(array(
         select s.worker_id from recoup.worker s
          where s.status = 'running'
            and s.heartbeat_at < (select recoup.now()) - make_interval(secs => %(lost_after_s)s)
          order by s.heartbeat_at limit %(limit)s for no key update skip locked))
returning w.worker_id, w.name;

-- name: lag_lost_workers
select extract(epoch from recoup.now() - min(s.heartbeat_at))::float8
  from recoup.worker s
 where s.status = 'running'
   and s.heartbeat_at < (select recoup.now()) - make_interval(secs => (
         select (p.figures -> 'worker' ->> 'lost_after_s')::integer
           from recoup.policy p order by p.version desc limit 1));

-- name: tally_run
insert into recoup.duty_tally (worker_id, duty, runs, done, failures, last_run_at, last_done_at)
values (%(worker_id)s, %(duty)s, %(runs)s, %(done)s, 0, recoup.now(), case when %(done)s > 0 then recoup.now() end)
on conflict (worker_id, duty) do update
   set runs = duty_tally.runs + excluded.runs, done = duty_tally.done + excluded.done,
       last_run_at = excluded.last_run_at, last_done_at = coalesce(excluded.last_done_at, duty_tally.last_done_at);

-- name: tally_failure
insert into recoup.duty_tally (worker_id, duty, runs, done, failures, last_run_at, last_failed_at, last_failure)
values (%(worker_id)s, %(duty)s, 1, 0, 1, recoup.now(), recoup.now(), %(failure)s)
on conflict (worker_id, duty) do update
   set runs = duty_tally.runs + 1, failures = duty_tally.failures + 1, last_run_at = excluded.last_run_at,
       last_failed_at = excluded.last_failed_at, last_failure = excluded.last_failure;

-- name: tallies
-- What all workers together did of each duty; the latest of them by name.
select t.duty, sum(t.runs)::bigint as runs, sum(t.done)::bigint as done, sum(t.failures)::bigint as failures,
       max(t.last_run_at) as last_run_at, max(t.last_done_at) as last_done_at,
       (array_agg(w.name order by t.last_run_at desc, t.worker_id desc))[1] as last_worker,
       max(t.last_failed_at) as last_failed_at,
       (array_agg(t.last_failure order by t.last_failed_at desc nulls last))[1] as last_failure
  from recoup.duty_tally t join recoup.worker w on w.worker_id = t.worker_id
 group by t.duty;

-- name: list_workers
select w.worker_id, w.name, w.host, w.pid, w.status, w.started_at, w.heartbeat_at, w.ended_at,
       w.recoup_version, w.duties
  from recoup.worker w
 order by (w.status <> 'running'), w.started_at desc
 limit %(limit)s;

-- name: alive
select w.name, w.host, w.pid from recoup.worker w
 where w.status = 'running' and w.heartbeat_at > (select recoup.now()) - make_interval(secs => %(within_s)s)
 order by w.heartbeat_at desc limit 100;

-- name: lately_lost
select count(*), max(w.name) from recoup.worker w
 where w.status = 'lost' and w.ended_at > (select recoup.now()) - interval '1 hour';

-- name: failing_duties
-- A run that failed sets both times; one that did not, only the first. Idle runs are recorded with each heartbeat.
select t.duty, count(*) filter (where t.last_failed_at >= t.last_run_at) as failing,
       (array_agg(t.last_failure order by t.last_failed_at desc nulls last))[1] as last_failure
  from recoup.duty_tally t join recoup.worker w on w.worker_id = t.worker_id
 where w.status = 'running'
 group by t.duty;
