-- name: raise_tiers
select * from recoup.raise_tiers(%(limit)s, %(only)s);

-- name: due
-- As recoup.raise_tiers picks them: a range of an index for each tier, and one for the clocks.
select d.error_id from recoup.tiers_due(%(limit)s) d order by d.due_at limit %(limit)s;

-- name: lag
select extract(epoch from recoup.now() - min(d.due_at)) from recoup.tiers_due(1) d;
