-- What outcomes teach, and the confidence that follows.

-- name: known
select k.candidates, k.good, k.ended, k.own_good, k.own_ended, k.awaiting, k.of_action, k.of_source, k.of_category
  from recovery.known(%(ids)s::uuid[], %(half_life)s, %(most)s) k;

-- name: rated
select c from recovery.rate_candidates(%(ids)s::uuid[], %(confidences)s::float8[], %(evidence)s::integer[],
  %(bases)s::jsonb[]) c;

-- name: learn
select recovery.learn(%(ids)s::uuid[]);

-- name: rated_of_cells
select c from recovery.rated_of_cells(%(ids)s::uuid[]) c;

-- name: rescore
select r.candidates, r.matches
  from recovery.rescore(%(ids)s::uuid[], %(confidences)s::float8[], %(evidence)s::integer[], %(bases)s::jsonb[],
    %(floor)s, %(least)s, %(skip_below)s) r;

-- name: actions
-- Outcomes of actions, whatever failed, also weighted by age, and how many are still awaited.
with t as materialized (select recoup.now() as now_, (recoup.now() at time zone 'UTC')::date as today)
select a.name, o.good + x.good, o.ended + x.ended, o.own_good + x.own_good, o.own_ended + x.own_ended, w.awaiting
  from t cross join unnest(%(names)s::text[]) a (name)
 cross join lateral (
   select count(*) filter (where y.is_good) as good, count(*) as ended,
          coalesce(sum(y.weight) filter (where y.is_good), 0) as own_good, coalesce(sum(y.weight), 0) as own_ended
     from (select c.status = 'succeeded' as is_good,
                  power(0.5::float8, extract(epoch from t.now_ - c.finished_at)::float8 / 86400 / %(half_life)s)
                    as weight
             from recovery.candidate c
            where c.action_name = a.name and c.cell = '' and c.executed_at is not null and c.finished_at is not null
              and c.teaches
            order by c.finished_at desc limit %(most)s) y) o
 cross join lateral (
   select coalesce(sum(e.succeeded), 0) as good, coalesce(sum(e.ended), 0) as ended,
          coalesce(sum(e.succeeded * v.weight), 0) as own_good, coalesce(sum(e.ended * v.weight), 0) as own_ended
     from recovery.experience e
    cross join lateral (select power(0.5::float8, (t.today - e.day) / %(half_life)s::float8) as weight) v
    where e.action_name = a.name and e.source = '' and e.category = ''
      and e.day > t.today - 10 * %(half_life)s::integer) x
 cross join lateral (
   select count(*) as awaiting
     from (select from recovery.candidate c
            where c.action_name = a.name and c.awaits is not null and c.finished_at is null limit %(most)s) y) w;
