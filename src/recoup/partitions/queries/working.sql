-- What workers of partitions ask.

-- name: circumstances
-- The present, and the rows of the current run of the nearest earlier date.
select recoup.now(),
       (select r.rows
          from partitions.partition_state p
          join partitions.partition_state q on q.source = p.source and q.customer_id = p.customer_id
               and q.query_name = p.query_name and q.logical_date < p.logical_date and q.status = 'success'
          join partitions.run r on r.run_id = q.current_run_id
         where p.partition_id = %(partition_id)s
         order by q.logical_date desc limit 1);

-- name: start
select partitions.start_run(%(run_id)s, %(token)s);

-- name: due_lag
select extract(epoch from t.now - min(d.next_run_at))
  from (select recoup.now() as now) t
 cross join partitions.due_groups() g
 cross join lateral (
   select s.next_run_at from partitions.schedule s
    where s.status = 'waiting' and s.lane = g.lane and s.source = g.source and s.query_name = g.query_name
      and s.priority = g.priority
    order by s.next_run_at limit 1) d
 where d.next_run_at <= t.now
 group by t.now;

-- name: due_queries
select distinct g.source, g.query_name
  from (select recoup.now() as now) t
 cross join partitions.due_groups() g
 cross join lateral (
   select s.next_run_at from partitions.schedule s
    where s.status = 'waiting' and s.lane = g.lane and s.source = g.source and s.query_name = g.query_name
      and s.priority = g.priority
    order by s.next_run_at limit 1) d
 where d.next_run_at <= t.now order by 1, 2;

-- name: follow_lag
select extract(epoch from recoup.now() - min(r.updated_at))
  from partitions.schedule s join partitions.run r on r.run_id = s.run_id
 where s.status = 'open'
   and (r.status in ('accepted', 'rejected', 'lost') or r.status = 'published' and r.lease_until is null);

-- name: expired_lag
select extract(epoch from recoup.now() - r.lease_until) from partitions.run r
 where r.lease_until < (select recoup.now()) order by r.lease_until limit 1;

-- name: give_up_aged
select partitions.give_up_aged(%(limit)s);

-- name: aged_lag
select extract(epoch from t.now - s.aged_from
                 - make_interval(hours => (f.f ->> 'max_age_hours')::integer))
  from (select recoup.now() as now, partitions.policy() as policy) t
 cross join partitions.schedule s
 cross join lateral (select partitions.figures(t.policy, s.source, s.query_name) as f) f
  join partitions.partition_state p on p.partition_id = s.partition_id and p.status = 'failed'
 where s.status = 'waiting' and s.aged_from is not null
   and s.aged_from <= t.now - partitions.least_age(t.policy)
   and partitions.has_aged(f.f, s.source, s.aged_from, t.now)
 order by s.aged_from limit 1;
