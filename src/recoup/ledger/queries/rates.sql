-- name: positions
-- For each of these times the position of the first event at or after it, by halving the range of positions: some
-- twenty rows are read for a time, however many events there are. Within a log positions rise with time, but for
-- transactions that took longer than others.
with recursive ends as (
  select (select l.seq from {log} l order by l.seq limit 1) as first,
         (select l.seq from {log} l order by l.seq desc limit 1) as last),
search (at, low, high) as (
  select t.at, e.first, e.last + 1
    from unnest(%(times)s::timestamptz[]) t (at) cross join ends e
   where e.last is not null
  union all
  select s.at, case when p.at < s.at then p.seq + 1 else s.low end, case when p.at < s.at then s.high else s.middle end
    from (select h.at, h.low, h.high, h.low + (h.high - h.low) / 2 as middle from search h where h.low < h.high) s
   cross join lateral (
     select l.seq, l.{time} as at from {log} l where l.seq >= s.middle order by l.seq limit 1) p)
select s.at, min(s.low) from search s where s.low >= s.high group by s.at order by s.at;

-- name: counted
-- How many rows there are from each position to the next, counted up to a maximum. Positions are drawn for all logs
-- together: their differences say nothing of one.
select (select count(*) from (select from {log} l where l.seq >= b.low and l.seq < b.high
                               order by l.seq limit %(most)s) x)::int
  from unnest(%(lows)s::bigint[], %(highs)s::bigint[]) with ordinality b (low, high, place)
 order by b.place;
