-- name: begin
select recoup.begin_alert_round(%(every_s)s);

-- name: as_reader
select set_config('role', %(role)s, true), set_config('statement_timeout', %(timeout)s, true),
       set_config('transaction_read_only', 'on', true);

-- name: failures
select r.failures from recoup.alert_round r;

-- name: lag
-- A worker judges at least every 15 seconds; what is later than a minute is late.
select extract(epoch from recoup.now() - r.judged_at)::float8 - 60
  from recoup.alert_round r where r.judged_at < (select recoup.now()) - interval '60 seconds';

-- name: list_alerts
-- Firing ones by their index; the others newest first, along the primary key.
select a.alert_id, a.rule, a.key, a.severity, a.status, a.signal, a.unit, a.threshold::float8, a.value::float8,
       (case when a.status = 'firing' then b.value else a.last_value end)::float8 as last_value,
       (case when a.status = 'firing' then greatest(a.worst_value, b.worst) else a.worst_value end)::float8
         as worst_value,
       a.fired_at, a.ended_at, a.notices, a.notified_at, a.unsent, a.action, a.policy_version,
       a.status = 'firing' and coalesce(b.silenced, false) as silenced
  from recoup.alert a
  left join recoup.alert_gauge b on b.rule = a.rule and b.key = a.key and a.status = 'firing'
 where (%(ended)s or a.status = 'firing')
   and (%(alert_id)s::uuid is null or a.alert_id = %(alert_id)s)
   and (%(rule)s::text is null or a.rule = %(rule)s)
   and (%(after)s::uuid is null or a.alert_id < %(after)s)
 order by a.alert_id desc limit %(limit)s;

-- name: facts
select a.sample, a.facts, a.routes from recoup.alert a where a.alert_id = %(alert_id)s;

-- name: events
select e.logged_at, e.from_status, e.to_status, e.value::float8, e.notices, e.routes, e.unsent, e.actor_id
  from recoup.alert_event e where e.alert_id = %(alert_id)s order by e.seq limit %(limit)s;

-- name: deliveries
-- With those that replace one that died.
with mine as (
  select d.delivery_id from recoup.delivery d where d.alert_id = %(alert_id)s order by d.delivery_id limit %(limit)s)
select d.delivery_id, d.route, d.subject, d.status, d.attempts, d.last_failure, d.created_at, d.ended_at
  from (select m.delivery_id from mine m
         union all
        select f.delivery_id from mine m
         cross join lateral (
           select f.delivery_id from recoup.delivery f where f.instead_of = m.delivery_id limit 1) f) x
 cross join lateral (select d.* from recoup.delivery d where d.delivery_id = x.delivery_id limit 1) d
 order by d.delivery_id;

-- name: rules
-- Every rule, and for each key that it has seen the present value and what it makes of it.
select r.rule, b.key, r.signal, b.unit, r.above::float8, r.severity, r.action, b.value::float8, b.sample, b.seen_at,
       case when a.alert_id is not null then 'firing'
            when b.rule is null or b.seen_at is null then 'no value yet'
            when b.value is null then 'no value'
            when b.above_since is not null then 'above'
            else 'ok' end as condition,
       recoup.alert_silenced(p.policy, r.rule, coalesce(b.key, 'overall'), recoup.now()) as silenced,
       case when b.value is not null or a.alert_id is not null then coalesce(a.fired_at, b.above_since) end as since
  from (select recoup.alert_policy() as policy offset 0) p
 cross join lateral recoup.alert_rules(p.policy) r
  left join recoup.alert_gauge b on b.rule = r.rule
  left join recoup.alert a on a.rule = b.rule and a.key = b.key and a.status = 'firing'
 order by r.rule, b.key;

-- name: silence
insert into recoup.silence (rule, key, until, reason, created_by)
values (%(rule)s, %(key)s, recoup.now() + make_interval(secs => %(for_s)s), %(reason)s, recoup.acting_id())
returning silence_id, until;

-- name: unsilence
with held as materialized (
  select s.silence_id, s.status from recoup.silence s where s.silence_id = %(silence_id)s for no key update),
ended as (
  update recoup.silence s set status = 'ended', ended_at = recoup.now()
    from held h where s.silence_id = h.silence_id and h.status = 'active')
select h.status from held h;

-- name: silences
select s.silence_id, s.rule, s.key, s.until, s.reason, s.created_by, s.created_at, s.status, s.ended_at
  from recoup.silence s
 where (%(ended)s or s.status = 'active')
   and s.silence_id < coalesce(%(after)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
 order by s.silence_id desc limit %(limit)s;

-- name: routes
select recoup.alert_routes(recoup.alert_policy(), %(action)s, %(key)s);

-- name: health
select (select count(*) from recoup.alert a where a.status = 'firing'),
       (select string_agg(a.rule || ' (' || a.key || ')', ', ' order by a.fired_at)
          from (select a.* from recoup.alert a where a.status = 'firing' order by a.fired_at limit 5) a),
       (select r.judged_at from recoup.alert_round r),
       (select extract(epoch from recoup.now() - r.judged_at) from recoup.alert_round r),
       (select r.failures from recoup.alert_round r),
       (select recoup.alert_policy() ->> 'heartbeat_route');
