-- name: open
(select o.error_id, o.error_table, o.outreach_id, o.error_code, o.error_message, o.error_signature, o.severity,
        o.category, o.status, o.parked_at, o.sla_due_at, o.sla_met_at, o.created_at
   from recoup.error o where o.archived_at is null)

-- name: newest
-- The newest open ones, along the primary keys: what is read does not grow with the table. As in list_live, num_nulls
-- keeps the planner from an index of open errors; and it is read without sorting, as the planner takes few for open and
-- would sort all (of a million errors: 341 ms, not 6).
(select o.error_id, o.error_table, o.outreach_id, o.error_code, o.error_message, o.error_signature, o.severity,
        o.category, o.status, o.parked_at, o.sla_due_at, o.sla_met_at, o.created_at
   from recoup.error o
  where o.error_table = any(%(tables)s::text[]) and o.error_id < %(below)s and num_nulls(o.archived_at) = 1
  order by o.error_id desc limit %(newest)s)

-- name: recent
-- How many of the newest open errors of these signatures began in each step of time, the last one now.
select n.error_signature,
       least(%(steps)s - 1, floor(extract(epoch from (select recoup.now()) - n.created_at) / %(step_s)s))::int as place,
       count(*)::int as errors
  from {errors} n
 where n.error_signature = any(%(signatures)s::text[])
   and n.created_at > (select recoup.now()) - make_interval(secs => %(step_s)s * %(steps)s)
 group by n.error_signature, place;

-- name: all
-- Closed ones and those in the archives, as well.
(select o.error_id, o.error_table, o.outreach_id, o.error_code, o.error_message, o.error_signature, o.severity,
        o.category, o.status, o.parked_at, o.sla_due_at, o.sla_met_at, o.created_at
   from recoup.error o
  union all
 select a.error_id, a.error_table, a.outreach_id, a.error_code, a.error_message, a.error_signature, a.severity,
        a.category, a.status, a.parked_at, a.sla_due_at, a.sla_met_at, a.created_at
   from recoup.error_archive a)

-- name: groups
-- Errors of one signature, the largest groups first. What fits is read once; the entities of the groups that are shown
-- are counted from there, where no index looks like the way to them; the newest of each is found by its id.
with fitting as materialized (
  select e.error_signature, e.error_table, e.status, e.category, e.outreach_id, e.created_at, e.error_id
    from {errors} e
   where e.error_table = any(%(tables)s::text[]) and {matching}),
counted as materialized (
  select f.error_signature, f.error_table, f.status, f.category, count(*) as errors,
         min(f.created_at) as first_failed_at, max(f.error_id) as newest
    from fitting f
   group by f.error_signature, f.error_table, f.status, f.category),
largest as materialized (
  select c.error_signature, sum(c.errors)::bigint as errors, min(c.first_failed_at) as first_failed_at,
         max(c.newest) as newest, count(*) over () as all_groups,
         (sum(sum(c.errors)) over ())::bigint as all_errors
    from counted c
   group by c.error_signature
   order by errors desc, c.error_signature limit %(limit)s),
told as (
  select c.error_signature, max(c.error_table) filter (where c.newest = l.newest) as error_table,
         jsonb_agg(jsonb_build_array(c.error_table, c.status, c.category, c.errors)
                   order by c.error_table, c.status, c.category) as counted
    from counted c join largest l using (error_signature)
   group by c.error_signature),
touched as (
  select f.error_signature, count(distinct f.outreach_id) as entities
    from fitting f join largest l using (error_signature)
   group by f.error_signature)
select l.error_signature, l.errors, n.entities, t.counted, l.first_failed_at, x.last_recorded_at,
       l.newest as error_id, t.error_table, x.error_code, x.error_message, l.all_groups, l.all_errors
  from largest l
  join told t using (error_signature)
  join touched n using (error_signature)
 cross join lateral (
   select e.error_code, e.error_message,
          coalesce((select v.logged_at from recoup.error_event v
                     where v.error_id = l.newest and v.error_table = t.error_table and v.event_type = 'RECORDED'
                     order by v.seq limit 1), e.created_at) as last_recorded_at
     from {errors} e
    where e.error_id = l.newest and e.error_table = t.error_table
    limit 1) x
 order by l.errors desc, l.error_signature;
