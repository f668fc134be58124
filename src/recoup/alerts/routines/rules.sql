-- What a list of steps cannot say of alerts and silences: they are judged by the policy, and their times are now.

create or replace function recoup.rule_alert_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recoup.alert_policy();
  bad    record;
begin
  select n.alert_id, n.rule, n.key, w.why into bad
    from new_rows n
    left join recoup.alert_rules(policy) r on r.rule = n.rule
    left join recoup.alert_gauge b on b.rule = n.rule and b.key = n.key
   cross join lateral (select case
     when r.rule is null then 'the policy has no such rule'
     when (n.signal, n.severity, n.action, n.threshold, n.policy_version)
          is distinct from (r.signal, r.severity, r.action, r.above, recoup.policy_version())
       then 'it is not as the rule of the active policy has it'
     when not coalesce(n.value > r.above and n.value = b.value and b.above_since <= n.fired_at - r.for_, false)
       then 'its value was not above the threshold for long enough'
     when n.notices > 1 or n.fired_at <> n.updated_at or n.notified_at <> n.fired_at
       or n.fired_at not between now_ - interval '1 minute' and now_ + interval '1 second'
       then 'it fires now, with one notice or none' end as why) w
   where w.why is not null limit 1;
  if found then
    raise exception using errcode = 'RC130',
      message = format('Rule %s does not fire for %s: %s.', bad.rule, bad.key, bad.why),
      hint = 'Alerts are judged by a worker. See what it sees: recoup alerts rules',
      detail = jsonb_build_object('rule', bad.rule, 'key', bad.key, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function recoup.rule_alert_births() is
'An alert fires by a rule of the active policy, for a value that was above its threshold for long enough.';

create or replace function recoup.alert_move_broken(o recoup.alert, n recoup.alert, now_ timestamptz, acting text,
  policy jsonb) returns text
language sql stable as $$
  -- Written so that it can be inlined into the guard's own pass.
  select case
    when n.updated_at > greatest(o.updated_at, now_ + interval '1 second') or n.updated_at < now_ - interval '1 minute'
      or n.ended_at <> n.updated_at then 'times'
    when n.status = 'firing' and (n.notices <> o.notices + 1 or n.notified_at is distinct from n.updated_at)
      then 'notice'
    when n.status <> 'firing' and (n.notices, n.notified_at) is distinct from (o.notices, o.notified_at) then 'ended'
    when n.status <> 'firing' and n.notices = 0 and (n.routes <> '{}' or n.unsent <> o.unsent) then 'untold'
    when n.status = 'recovered' and n.last_value is null or n.status = 'no_data' and n.last_value is not null
      then 'value' end
$$;
comment on function recoup.alert_move_broken(recoup.alert, recoup.alert, timestamptz, text, jsonb) is
'The rule that a move of an alert breaks, or null.';

create or replace function recoup.alert_move_refusal(code_ text, o recoup.alert, n recoup.alert,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select 'RC131',
         format('Alert %s: %s', n.alert_id, case code_
           when 'times' then 'updated_at and ended_at are not now.'
           when 'notice' then 'while it fires, it moves with one more notice, which is queued now.'
           when 'ended' then 'its end changes neither the number nor the time of its notices.'
           when 'untold' then 'nobody was notified that it fires, so nobody is notified that it ended.'
           else 'it recovers with a value, and has no data without one.' end),
         'Alerts are judged by a worker. See what it sees: recoup alerts rules',
         jsonb_build_object('alert_id', n.alert_id, 'why', code_, 'from', o.status, 'to', n.status)
$$;
comment on function recoup.alert_move_refusal(text, recoup.alert, recoup.alert) is
'The refusal of a move that breaks a rule of recoup.alert_move_broken.';

create or replace function recoup.rule_silences() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.silence_id, w.why into bad
    from new_rows n
   cross join lateral (select case
     when tg_op = 'INSERT' and n.created_by <> recoup.acting_id() then 'created_by is the acting login'
     when tg_op = 'INSERT' and n.created_at not between now_ - interval '1 minute' and now_ + interval '1 second'
       then 'it begins now'
     when tg_op = 'INSERT' and n.until > now_ + interval '2160 hours' then 'it ends within 90 days'
     when n.status = 'expired' and n.until > now_ then 'its time has not come'
     when tg_op = 'UPDATE' and n.ended_at not between now_ - interval '1 minute' and now_ + interval '1 second'
       then 'it ends now' end as why) w
   where w.why is not null limit 1;
  if found then
    raise exception using errcode = 'RC132',
      message = format('Silence %s: %s.', bad.silence_id, bad.why),
      hint = 'Use: recoup alerts silence RULE --for 2h --reason WHY',
      detail = jsonb_build_object('silence_id', bad.silence_id, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function recoup.rule_silences() is
'A silence begins now, for at most 90 days, and expires when its time has come.';
