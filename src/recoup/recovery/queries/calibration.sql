-- How confidence compares with what happened.

-- name: all
recovery.candidate

-- name: newest
-- It reads no more than these, however many there are.
(select c.* from recovery.candidate c order by c.candidate_id desc limit %(newest)s)

-- name: groups
-- A candidate that was started keeps the confidence that it was started with.
select width_bucket(least(c.confidence, 0.999999), 0, 1, %(bins)s) - 1 as bin, c.action_name, m.source,
       c.cell <> '' as is_corrective,
       date_trunc('week', c.finished_at at time zone 'UTC')::date as week, count(*)::integer as count,
       sum(c.confidence) as predicted, count(*) filter (where c.status = 'succeeded')::integer as succeeded,
       sum(power(c.confidence - (c.status = 'succeeded')::integer, 2)) as squared
  from {candidates} c
  join recovery.failure_match m on m.failure_match_id = c.failure_match_id
 where c.executed_at is not null and c.finished_at > (select recoup.now()) - make_interval(days => %(days)s)
   and c.teaches and c.confidence_of = c.action_name and c.action_type <> 'skip'
   and (%(action)s::text is null or c.action_name = %(action)s)
   and (%(source)s::text is null or m.source = %(source)s)
 group by 1, 2, 3, 4, 5;
