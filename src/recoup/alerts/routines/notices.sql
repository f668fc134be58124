-- Notices: what an alert tells, and that telling it is a part of its own move.

create or replace function recoup.alert_number(value_ numeric, unit_ text) returns text
language sql immutable as $$
  select case unit_
    when 'share' then trim_scale(round(value_ * 100, 1))::text || ' %'
    when 'seconds' then trim_scale(round(value_, 1))::text || ' s'
    else rtrim(to_char(round(value_, 2), 'FM999,999,999,999,999,990.99'), '.') end
$$;
comment on function recoup.alert_number(numeric, text) is 'A value as people read it.';

create or replace function recoup.alert_subject(a recoup.alert) returns text
language sql immutable as $$
  select left(regexp_replace(concat(
    case a.status when 'firing' then a.severity || ': ' when 'recovered' then 'recovered: ' else 'no data: ' end,
    a.signal, case when a.key <> 'overall' then ' of ' || a.key end,
    case a.status
      when 'firing' then
        concat(case when a.notices > 1 then ' is still ' else ' is ' end,
               recoup.alert_number(coalesce(a.last_value, a.value), a.unit), ', above ',
               recoup.alert_number(a.threshold, a.unit))
      when 'recovered' then
        concat(' is ', recoup.alert_number(a.last_value, a.unit), ' again; it was up to ',
               recoup.alert_number(a.worst_value, a.unit))
      else concat(' has no value any more; it was up to ', recoup.alert_number(a.worst_value, a.unit)) end),
    '[[:cntrl:]]', ' ', 'g'), 400)
$$;
comment on function recoup.alert_subject(recoup.alert) is 'What a notice of an alert says in one line.';

create or replace function recoup.alert_body(a recoup.alert, policy jsonb) returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'alert_id', a.alert_id, 'status', a.status, 'severity', a.severity, 'rule', a.rule, 'key', a.key,
    'signal', a.signal, 'value', coalesce(a.last_value, a.value), 'worst', a.worst_value, 'threshold', a.threshold,
    'unit', a.unit, 'sample', a.sample, 'action', a.action, 'notice', a.notices, 'fired_at', a.fired_at,
    'ended_at', a.ended_at, 'facts', a.facts,
    'check_first', replace(policy -> 'rules' -> a.rule ->> 'check', '{key}', a.key),
    'next', 'recoup alerts show ' || a.alert_id)
$$;
comment on function recoup.alert_body(recoup.alert, jsonb) is 'What a notice of an alert says to programs.';

create or replace function recoup.notify_alerts() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  policy constant jsonb := recoup.alert_policy();
begin
  perform recoup.require_table(tg_relid, 'recoup.alert');
  -- The move decided by which routes. What a dead worker or a second one asks for again has the same key.
  insert into recoup.delivery (route, subject, body, about, dedup_key, origin, alert_id)
  select r.route, recoup.alert_subject(n), recoup.alert_body(n, policy), n.alert_id::text,
         concat_ws('/', 'alert', n.alert_id, case n.status when 'firing' then n.notices::text else n.status end,
                   r.route),
         'alert', n.alert_id
    from new_rows n cross join lateral unnest(n.routes) r (route)
   where n.notices > 0
  on conflict do nothing;
  return null;
end $$;
revoke execute on function recoup.notify_alerts() from public;
comment on function recoup.notify_alerts() is
'Queues the notices of alerts that fired, still fire, or ended, in the same transaction.';

create or replace function recoup.beat() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  route_ constant text := recoup.alert_policy() ->> 'heartbeat_route';
  role_  constant text := coalesce(nullif(current_setting('role'), 'none'), session_user::text);
  now_   constant timestamptz := recoup.now();
begin
  perform recoup.require_table(tg_relid, 'recoup.alert_round');
  -- While the last one waits to be delivered no other is queued: the receiver misses them, as it should.
  if exists (select from new_rows n join old_rows o on o.one = n.one where n.beat_at is distinct from o.beat_at)
     and recoup.routes_with_room(array[route_]) <> '{}' then
    -- No guard runs before this trigger to say who acts.
    perform set_config('recoup.acting_role', role_, true);
    insert into recoup.delivery (route, subject, body, dedup_key, origin)
    values (route_, 'heartbeat: alerts are judged', jsonb_build_object('judged_at', now_), 'heartbeat', 'heartbeat')
    on conflict do nothing;
  end if;
  return null;
end $$;
revoke execute on function recoup.beat() from public;
comment on function recoup.beat() is
'Queues a heartbeat for its route: a receiver that misses it knows that no worker judges alerts.';

call recoup.put_trigger('recoup.alert_round', 'c_beat', 'after', 'update', 'statement', 'recoup.beat');
