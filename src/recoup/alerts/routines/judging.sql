-- Judging: every reading against every rule of its signal, in a handful of statements over all of them.
--
-- The worker that judges holds the row of recoup.alert_round, taken before anything was measured: two workers never
-- judge at once, and no reading is older than one that was judged before.

create or replace function recoup.begin_alert_round(every_s integer) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform from recoup.alert_round r
    where r.judged_at is null or r.judged_at > now_ or r.judged_at <= now_ - make_interval(secs => every_s)
    for no key update skip locked;
  return found;
end $$;
comment on function recoup.begin_alert_round(integer) is
'Whether it is time to judge again, and nobody else does: then the row is held until the transaction ends.';

create or replace function recoup.judge_alerts(signals text[], keys text[], units text[], readings numeric[],
  samples bigint[], facts_ jsonb[], failures_ jsonb, out fired integer, out notified integer, out ended integer,
  out expired integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_       constant timestamptz := recoup.now();
  policy     constant jsonb := recoup.alert_policy();
  least_     constant bigint := (policy ->> 'min_sample')::bigint;
  no_data    constant timestamptz := now_ - recoup.alert_seconds(policy, 'no_data_after_s');
  recovered  constant timestamptz := now_ - recoup.alert_seconds(policy, 'recover_after_s');
  again      constant timestamptz := now_ - make_interval(hours => (policy ->> 'again_after_hours')::integer);
  below      constant numeric := (policy ->> 'recover_below_percent')::numeric / 100;
begin
  perform from recoup.alert_round r for no key update;

  -- What each rule sees now. A value that is absent for a while continues what it was; after too long it starts again.
  with seen as materialized (
    select distinct on (r.rule, g.key) r.rule, g.key, g.unit, r.above, g.sample, coalesce(g.facts, '{}') as facts,
           case when coalesce(g.sample >= least_, true) then round(g.value, 6) end as value
      from recoup.alert_rules(policy) r
      join unnest(signals, keys, units, readings, samples, facts_) g (signal, key, unit, value, sample, facts)
        on g.signal = r.signal and recoup.matches_any(r.patterns, g.key)
     order by r.rule, g.key),
  noted as (
    insert into recoup.alert_gauge as b
      (rule, key, unit, value, sample, facts, worst, seen_at, above_since, below_since)
    select s.rule, s.key, s.unit, s.value, s.sample, s.facts, s.value, case when s.value is not null then now_ end,
           case when s.value > s.above then now_ end,
           case when s.value < s.above * below or s.value <= 0 and s.above = 0 then now_ end
      from seen s order by s.rule, s.key
    on conflict (rule, key) do update
      set unit = excluded.unit, value = excluded.value, sample = excluded.sample,
          facts = case when excluded.value is null then b.facts else excluded.facts end,
          seen_at = coalesce(excluded.seen_at, b.seen_at),
          above_since = case when excluded.value is null then b.above_since
                             when excluded.above_since is null then null
                             else coalesce(case when b.seen_at > no_data then b.above_since end, now_) end,
          below_since = case when excluded.value is null then b.below_since
                             when excluded.below_since is null then null
                             else coalesce(case when b.seen_at > no_data then b.below_since end, now_) end,
          worst = case when excluded.value is null then b.worst
                       when b.above_since is null and not exists (
                         select from recoup.alert a where a.rule = b.rule and a.key = b.key and a.status = 'firing')
                       then excluded.value else greatest(b.worst, excluded.value) end)
  update recoup.alert_gauge b set value = null
   where b.value is not null and not exists (select from seen s where s.rule = b.rule and s.key = b.key);

  update recoup.silence s set status = 'expired', ended_at = now_ where s.status = 'active' and s.until <= now_;
  get diagnostics expired = row_count;

  -- Ended: low enough for long enough, or without a value for too long. Its routes are those that were notified that it
  -- fires, also in a silence and whatever the policy has for it now: a pager waits for it. A full route gets it too: it
  -- is one for each alert that the route was notified of, so that what waits stays bounded.
  update recoup.alert a
     set status = e.status, last_value = b.value, worst_value = greatest(a.worst_value, b.worst),
         updated_at = e.at, ended_at = e.at, routes = e.routes
    from recoup.alert_gauge b
   cross join lateral (select case when b.below_since <= recovered and b.value is not null then 'recovered'
                                   when b.seen_at <= no_data and b.value is null then 'no_data' end as status) j
   cross join lateral (
     select a.alert_id, j.status, greatest(a.updated_at, now_) as at,
            case when a.notices > 0 then recoup.notified_routes(a.alert_id) else '{}' end as routes
       from recoup.alert a where a.rule = b.rule and a.key = b.key and a.status = 'firing' limit 1) e
   where a.alert_id = e.alert_id and e.status is not null;
  get diagnostics ended = row_count;

  -- Notified again after hours; and when the silence that covered it has ended.
  update recoup.alert a
     set last_value = b.value, worst_value = greatest(a.worst_value, b.worst), notices = a.notices + 1,
         notified_at = e.at, updated_at = e.at, routes = w.room,
         unsent = a.unsent + cardinality(w.wanted) - cardinality(w.room)
    from recoup.alert_gauge b
   cross join lateral (
     select a.alert_id, greatest(a.updated_at, now_) as at, recoup.alert_routes(policy, a.action, a.key) as wanted
       from recoup.alert a
      where a.rule = b.rule and a.key = b.key and a.status = 'firing'
        and (a.notices = 0 or a.notified_at <= again or b.silenced)
        -- While it recovers, no notice repeats that it is above.
        and num_nonnulls(b.above_since) = 1
        and not recoup.alert_silenced(policy, a.rule, a.key, now_) limit 1) e
   cross join lateral (select e.wanted, recoup.routes_with_room(e.wanted) as room) w
   where a.alert_id = e.alert_id;
  get diagnostics notified = row_count;

  insert into recoup.alert (rule, key, signal, unit, severity, action, threshold, value, sample, facts, last_value,
                            worst_value, notices, notified_at, routes, unsent, fired_at, updated_at)
  select b.rule, b.key, r.signal, b.unit, r.severity, r.action, r.above, b.value, b.sample, b.facts, b.value, b.worst,
         case when q.silenced then 0 else 1 end, case when not q.silenced then now_ end, w.room,
         cardinality(w.wanted) - cardinality(w.room), now_, now_
    from recoup.alert_rules(policy) r
    join recoup.alert_gauge b on b.rule = r.rule and b.value > r.above and b.above_since <= now_ - r.for_
   cross join lateral (select recoup.alert_silenced(policy, b.rule, b.key, now_) as silenced) q
   cross join lateral (
     select case when q.silenced then '{}' else recoup.alert_routes(policy, r.action, b.key) end as wanted) x
   cross join lateral (select x.wanted, recoup.routes_with_room(x.wanted) as room) w
   where not exists (
     select from recoup.alert a where a.rule = b.rule and a.key = b.key and a.status = 'firing')
   order by b.rule, b.key
  on conflict (rule, key) where status = 'firing' do nothing;
  get diagnostics fired = row_count;

  update recoup.alert_gauge b set silenced = q.silenced
    from recoup.alert_gauge o
    left join recoup.alert a on a.rule = o.rule and a.key = o.key and a.status = 'firing'
   cross join lateral (
     select a.alert_id is not null and recoup.alert_silenced(policy, o.rule, o.key, now_) as silenced) q
   where b.rule = o.rule and b.key = o.key and o.silenced <> q.silenced;

  update recoup.alert_round r
     set judged_at = now_, failures = failures_,
         beat_at = case when policy ->> 'heartbeat_route' <> ''
                         and coalesce(r.beat_at <= now_ - recoup.alert_seconds(policy, 'heartbeat_every_s')
                                      or r.beat_at > now_, true)
                        then now_ else r.beat_at end;
end $$;
comment on function
  recoup.judge_alerts(text[], text[], text[], numeric[], bigint[], jsonb[], jsonb) is
'Judges readings by every rule of the policy: alerts fire, notify again, and end. Returns how many did.';
