-- name: sealed
-- The last seal of each log, by the index of seals by log; its blocks are counted to a limit.
select l.log, s.number, s.sealed_at, s.rows, s.actor_id, encode(s.digest, 'hex') as digest,
       (select count(*) from (select from recoup.seal b where b.log = l.log limit %(most)s) b) as blocks
  from recoup.log l
  left join lateral (
    select s.* from recoup.seal s where s.log = l.log order by s.number desc limit 1) s on true
 where l.canon > 0
 order by l.log;
