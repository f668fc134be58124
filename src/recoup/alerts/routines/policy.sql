-- The policy on alerts, for decisions in the database: which rules there are, who is notified, and when nobody is.

create or replace function recoup.alert_policy() returns jsonb
language sql stable as $$ select p.figures -> 'alerts' from recoup.policy p order by p.version desc limit 1 $$;
comment on function recoup.alert_policy() is 'The section on alerts of the active policy.';

create or replace function recoup.alert_seconds(policy jsonb, name_ text) returns interval
language sql immutable as $$ select make_interval(secs => (policy ->> name_)::integer) $$;
comment on function recoup.alert_seconds(jsonb, text) is 'A length of time of the policy on alerts.';

create or replace function recoup.matches_pattern(pattern text, name_ text) returns boolean
language sql immutable as $$
  select pattern = name_ or right(pattern, 1) = '*' and starts_with(name_, left(pattern, -1))
$$;
comment on function recoup.matches_pattern(text, text) is
'Whether a name is this one, or begins as this one before its *.';

create or replace function recoup.matches_any(patterns jsonb, name_ text) returns boolean
language sql immutable as $$
  -- No list, or an empty one: every name. A pattern is a name, or how names begin and then *.
  select jsonb_typeof(patterns) is distinct from 'array' or patterns = '[]'
      or exists (select from jsonb_array_elements_text(patterns) p (pattern)
                  where recoup.matches_pattern(p.pattern, name_))
$$;
comment on function recoup.matches_any(jsonb, text) is
'Whether a name matches one of these patterns, if there are any.';

create or replace function recoup.in_maintenance(policy jsonb, rule_ text, key_ text, now_ timestamptz)
  returns boolean
language sql immutable as $$
  -- Once, between two instants; or every week, on days and between times in UTC, also over midnight.
  select exists (
    select from jsonb_each(policy -> 'maintenance') m (name, w)
     cross join lateral (
       select now_ at time zone 'UTC' as utc, (m.w ->> 'from_time')::time as from_, (m.w ->> 'to_time')::time as to_) t
     where recoup.matches_any(m.w -> 'rules', rule_) and recoup.matches_any(m.w -> 'keys', key_)
       and case when m.w ->> 'from_time' is null
                then now_ >= (m.w ->> 'begin')::timestamptz and now_ < (m.w ->> 'end')::timestamptz
                when t.from_ < t.to_
                then m.w -> 'days' ? lower(to_char(t.utc, 'Dy')) and t.utc::time >= t.from_ and t.utc::time < t.to_
                else m.w -> 'days' ? lower(to_char(t.utc, 'Dy')) and t.utc::time >= t.from_
                  or m.w -> 'days' ? lower(to_char(t.utc - interval '24 hours', 'Dy')) and t.utc::time < t.to_ end)
$$;
comment on function recoup.in_maintenance(jsonb, text, text, timestamptz) is
'Whether a maintenance window of the policy covers a rule and a key at a time.';

create or replace function recoup.alert_silenced(policy jsonb, rule_ text, key_ text, now_ timestamptz)
  returns boolean
language sql stable as $$
  select exists (select from recoup.silence s
                  where s.status = 'active' and s.until > now_
                    and recoup.matches_pattern(s.rule, rule_) and recoup.matches_pattern(s.key, key_))
      or recoup.in_maintenance(policy, rule_, key_, now_)
$$;
comment on function recoup.alert_silenced(jsonb, text, text, timestamptz) is
'Whether nobody is notified of a rule and a key: by a silence, or by a maintenance window.';

create or replace function recoup.alert_routes(policy jsonb, action_ text, key_ text) returns text[]
language sql stable as $$
  -- The routes of the key, of the owner of the error table that is the key, of the owner who is the key, or of the
  -- action. Those that are gone from the policy lead nowhere.
  select coalesce(array_agg(distinct r.route order by r.route), '{}')
    from (select policy -> 'actions' -> action_ as a, p.figures
            from recoup.policy p order by p.version desc limit 1) x
   cross join lateral jsonb_array_elements_text(coalesce(
     x.a -> 'by_key' -> key_,
     x.a -> 'by_owner' -> (x.figures #>> array['errors', 'tables', key_, 'owner']),
     x.a -> 'by_owner' -> key_,
     x.a -> 'routes')) r (route)
   where x.figures -> 'deliveries' -> 'routes' ? r.route
$$;
comment on function recoup.alert_routes(jsonb, text, text) is 'The routes that an action notifies by, for a key.';

create or replace function recoup.notified_routes(alert_id_ uuid) returns text[]
language sql stable as $$
  select coalesce(array_agg(distinct r.route order by r.route), '{}')
    from recoup.alert_event v
   cross join lateral unnest(v.routes) r (route)
   where v.alert_id = alert_id_ and recoup.delivery_policy() -> 'routes' ? r.route
$$;
comment on function recoup.notified_routes(uuid) is
'The routes that an alert has notified, as far as the policy still has them.';

create or replace function recoup.alert_rules(policy jsonb)
  returns table (rule text, signal text, above numeric, severity text, action text, for_ interval, patterns jsonb)
language sql stable as $$
  select r.name, r.v ->> 'signal', (r.v ->> 'above')::numeric, r.v ->> 'severity', r.v ->> 'action',
         make_interval(secs => coalesce((r.v ->> 'for_s')::integer, (policy ->> 'for_s')::integer)), r.v -> 'keys'
    from jsonb_each(policy -> 'rules') r (name, v)
$$;
comment on function recoup.alert_rules(jsonb) is 'The rules of the policy on alerts, as rows.';
