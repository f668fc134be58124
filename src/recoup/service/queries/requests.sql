-- name: begin
select r.fresh, r.same, r.status, r.answer, r.about
  from recoup.begin_request(%(principal)s, %(key)s, %(method)s, %(path)s, %(digest)s) r;

-- name: end
select recoup.end_request(%(principal)s, %(key)s, %(status)s, %(answer)s, %(about)s);

-- name: drop_old
select recoup.drop_old_requests();

-- name: lag
-- How long the oldest slot that could be emptied has been old.
select extract(epoch from recoup.now() - min(i.created_at)) - 172800 from recoup.idempotency i
 where i.created_at < recoup.now() - interval '2 days';

-- name: take_tokens
-- Not durable: what a crash forgets is a second's worth of requests.
select t.granted, t.wait_s
  from (select pg_catalog.set_config('synchronous_commit', 'off', true) offset 0) s,
       recoup.take_tokens(%(principal)s, %(rate)s, %(burst)s, %(wanted)s) t
 where s.set_config = 'off';

-- name: count_denied
select recoup.count_denied(%(addresses)s, %(prefixes)s, %(refusals)s, %(counts)s, %(rows_most)s)
  from (select pg_catalog.set_config('synchronous_commit', 'off', true) offset 0) s where s.set_config = 'off';

-- name: denied
select d.minute, d.address, d.key_prefix, d.refusal, d.calls from recoup.denied_call d
 order by d.minute desc, d.calls desc, d.address, d.key_prefix, d.refusal limit %(limit)s;

-- name: drop_denied
with old as (
  select d.minute, d.address, d.key_prefix, d.refusal from recoup.denied_call d
   where d.minute < recoup.now() - make_interval(days => %(days)s) order by d.minute limit %(limit)s)
delete from recoup.denied_call d using old o
 where (d.minute, d.address, d.key_prefix, d.refusal) = (o.minute, o.address, o.key_prefix, o.refusal);
