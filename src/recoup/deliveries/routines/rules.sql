-- What a list of steps cannot say of deliveries: where they may go, how often they are tried, and that times are now.

create or replace function recoup.rule_delivery_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_    constant timestamptz := recoup.now();
  policy  constant jsonb := recoup.delivery_policy();
  by_hand constant boolean := not recoup.by_follower();
  most    constant integer := (policy ->> 'max_waiting')::integer;
  bad     record;
begin
  select n.delivery_id, n.route into bad
    from new_rows n where not coalesce(policy -> 'routes' ? n.route, false) limit 1;
  if found then
    raise exception using errcode = 'RC110',
      message = format('There is no route %s in the policy.', bad.route),
      hint = format('Routes: %s. To add one: docs/howto/deliver-notices.md',
                    (select string_agg(r, ', ' order by r) from jsonb_object_keys(policy -> 'routes') r)),
      detail = jsonb_build_object('route', bad.route, 'delivery_id', bad.delivery_id);
  end if;
  select n.delivery_id, case
           when n.attempts <> 0 or n.token is not null or n.outcome is not null or n.last_failure is not null
             then 'it was not tried yet'
           when n.policy_version <> recoup.policy_version() then 'it is queued under the active policy'
           when by_hand and n.origin <> 'operator' then 'what a person queues has the origin operator'
           else 'it is queued now, and due now' end as why into bad
    from new_rows n
   where n.attempts <> 0 or n.token is not null or n.outcome is not null or n.last_failure is not null
      or n.policy_version <> recoup.policy_version() or by_hand and n.origin <> 'operator'
      or n.created_at not between now_ - interval '1 minute' and now_ + interval '1 second'
      or n.updated_at not between now_ - interval '1 minute' and now_ + interval '1 second'
      or n.next_try_at not between now_ - interval '1 minute' and now_ + interval '1 second' limit 1;
  if found then
    raise exception using errcode = 'RC111',
      message = format('Delivery %s is not queued: %s.', bad.delivery_id, bad.why),
      hint = 'Use: recoup deliveries send',
      detail = jsonb_build_object('delivery_id', bad.delivery_id, 'why', bad.why);
  end if;
  -- What candidates ask for is bounded by its dedup_key: one for each incident, action and route.
  if by_hand then
    select n.route into bad from (select distinct n.route from new_rows n) n
     where (select count(*) from (
             select from recoup.delivery_queue q where q.part = n.route and q.token is null limit most) q) >= most
     limit 1;
    if found then
      raise exception using errcode = 'RC112',
        message = format('%s deliveries wait for the route %s already.', most, bad.route),
        hint = 'Find out why they are not delivered: recoup doctor',
        detail = jsonb_build_object('route', bad.route, 'max_waiting', most);
    end if;
  end if;
  return null;
end $$;
comment on function recoup.rule_delivery_births() is
'A delivery goes by a route of the active policy, is queued now, and not behind too many others.';

create or replace function recoup.delivery_move_broken(o recoup.delivery, n recoup.delivery, now_ timestamptz,
  acting text, policy jsonb) returns text
language sql stable as $$
  -- Written so that it can be inlined into the guard's own pass.
  select case
    when n.attempts - o.attempts not in (0, 1) or n.attempts = o.attempts and n.token is distinct from o.token
      then 'attempts'
    when n.updated_at > greatest(o.updated_at, now_ + interval '1 second')
      or n.updated_at < now_ - interval '1 minute' or n.ended_at <> n.updated_at then 'times'
    when acting = 'recoup_operator' then case
      when n.outcome is distinct from 'CANCELLED' or (n.next_try_at, n.last_failure)
           is distinct from (o.next_try_at, o.last_failure) then 'cancel' end
    when n.attempts = o.attempts or n.outcome is null or n.outcome = 'CANCELLED' then 'untried'
    when n.outcome in ('FAILED', 'LAPSED') and n.last_failure is null
      or n.outcome = 'SUCCEEDED' and n.last_failure is distinct from o.last_failure then 'failure'
    when n.status = 'dead' and n.attempts < recoup.delivery_tries(n.policy_version, n.route)
         and policy -> 'routes' ? n.route then 'tries_left'
    when n.status = 'queued' and n.attempts >= recoup.delivery_tries(n.policy_version, n.route) then 'no_tries_left'
    when n.status = 'queued'
         and n.next_try_at not between now_ - interval '1 minute' and now_ + interval '7 days 1 minute'
      or n.status <> 'queued' and n.next_try_at <> o.next_try_at then 'next_try_at' end
$$;
comment on function recoup.delivery_move_broken(recoup.delivery, recoup.delivery, timestamptz, text, jsonb) is
'The rule that a move of a delivery breaks, or null.';

create or replace function recoup.delivery_move_refusal(code_ text, o recoup.delivery, n recoup.delivery,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select 'RC113',
         format('Delivery %s: %s', n.delivery_id, case code_
           when 'attempts'
             then 'attempts rises by one when a try ends, with the token of its claim, and at no other time.'
           when 'times' then 'updated_at and ended_at are not now.'
           when 'cancel' then 'an operator cancels a delivery, and changes nothing else of it.'
           when 'untried' then 'no try of it ended.'
           when 'failure' then 'a failed try says why, and another one leaves that as it is.'
           when 'tries_left' then 'it has tries left.'
           when 'no_tries_left' then 'it has no tries left.'
           else 'its next try is within seven days, and stays as it is when it ends.' end),
         'Use the verbs: recoup deliveries --help.',
         jsonb_build_object('delivery_id', n.delivery_id, 'why', code_, 'from', o.status, 'to', n.status)
$$;
comment on function recoup.delivery_move_refusal(text, recoup.delivery, recoup.delivery) is
'The refusal of a move that breaks a rule of recoup.delivery_move_broken.';
