-- Rules of bulk operations. An operation with a canary goes in steps: no writer gives an item beyond the step a result.
-- What a worker continues, it continues under a name and an authority that the login which began it had.

create or replace function recoup.rule_operation_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bad record;
begin
  -- The worker acts for them later: for nobody else, and with no authority that their login does not have.
  select n.operation_id, n.requested_by, n.canary ->> 'authority' as authority into bad
    from new_rows n
   where n.canary is not null and (
     (n.step, n.step_start, n.step_end, n.requested_by, n.canary ->> 'actor')
       is distinct from (1, 0, (n.canary ->> 'first')::integer, recoup.acting_id(), recoup.acting_kind())
     or not coalesce((n.canary ->> 'growth')::float8 >= 1 and (n.canary ->> 'failed_share')::float8 between 0 and 1
                     and (n.canary ->> 'wait_s')::integer > 0 and (n.canary ->> 'rate_per_minute')::integer >= 0
                     and (n.canary ->> 'policy_version')::integer > 0, false)
     or not exists (select from pg_roles r
                     where r.rolname = n.canary ->> 'authority' and pg_has_role(session_user, r.oid, 'member')))
   limit 1;
  if found then
    raise exception using errcode = 'RC073',
      message = format('Operation %s begins with its first step, as the policy has it, for who begins it (%s, not %s),'
                       ' and with an authority that login %s has (%s).', bad.operation_id, recoup.acting_id(),
                       bad.requested_by, session_user, coalesce(bad.authority, 'none is given')),
      hint = 'Begin it with a command, and a login that has the authority: recoup db login list',
      detail = jsonb_build_object('operation_id', bad.operation_id, 'authority', bad.authority);
  end if;
  select n.operation_id, n.requested_by, n.continued_as ->> 'authority' as authority into bad
    from new_rows n
   where n.continued_as is not null and (
     (n.requested_by, n.continued_as ->> 'actor') is distinct from (recoup.acting_id(), recoup.acting_kind())
     or not exists (select from pg_roles r
                     where r.rolname = n.continued_as ->> 'authority' and pg_has_role(session_user, r.oid, 'member')))
   limit 1;
  if found then
    raise exception using errcode = 'RC073',
      message = format('Operation %s begins for who begins it (%s, not %s), and with an authority that login %s has'
                       ' (%s).', bad.operation_id, recoup.acting_id(), bad.requested_by, session_user,
                       coalesce(bad.authority, 'none is given')),
      hint = 'Begin it with a login that has the authority: recoup db login list',
      detail = jsonb_build_object('operation_id', bad.operation_id, 'authority', bad.authority);
  end if;
  return null;
end $$;
comment on function recoup.rule_operation_births() is
'An operation that a worker continues begins under the name and an authority of who begins it; with a canary, with its'
' first step.';

create or replace function recoup.rule_operation_moves() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bad record;
begin
  select n.operation_id, n.step into bad
    from new_rows n join old_rows o on o.operation_id = n.operation_id
   where (n.step, n.step_start, n.step_end) is distinct from (o.step, o.step_start, o.step_end)
     and (n.step <> o.step + 1 or n.step_start > o.step_end
          or exists (select from recoup.operation_item i
                      where i.operation_id = n.operation_id and i.place <= n.step_start and i.status = 'PENDING'))
   limit 1;
  if found then
    raise exception using errcode = 'RC073',
      message = format('Operation %s: step %s leaves out a step, or items without a result.', bad.operation_id,
                       bad.step),
      hint = 'Have a worker continue it: recoup worker',
      detail = jsonb_build_object('operation_id', bad.operation_id, 'step', bad.step);
  end if;
  return null;
end $$;
comment on function recoup.rule_operation_moves() is
'The next step is the one after the last, and begins behind items that have their result.';

create or replace function recoup.rule_operation_items() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bad record;
begin
  -- All places are taken by the statement that begins the operation: nobody adds an item to the decision of another.
  select n.operation_id, n.place, o.items into bad
    from new_rows n left join recoup.operation o on o.operation_id = n.operation_id
   where n.place > coalesce(o.items, 0) limit 1;
  if found then
    raise exception using errcode = 'RC073',
      message = format('Operation %s has %s items: none is added at place %s.', bad.operation_id,
                       coalesce(bad.items, 0), bad.place),
      hint = 'Begin another operation.',
      detail = jsonb_build_object('operation_id', bad.operation_id, 'items', bad.items, 'place', bad.place);
  end if;
  return null;
end $$;
comment on function recoup.rule_operation_items() is 'An operation has the items with which it began.';

create or replace function recoup.rule_operation_results() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bad record;
begin
  select o.operation_id, o.status, o.step_end, n.place into bad
    from new_rows n join recoup.operation o on o.operation_id = n.operation_id
   where o.status <> 'OPEN' or n.place > o.step_end limit 1;
  if found then
    raise exception using errcode = 'RC073',
      message = case when bad.status <> 'OPEN' then format('Operation %s is %s.', bad.operation_id, bad.status)
                     else format('Operation %s: item %s is beyond the step, which ends with %s.', bad.operation_id,
                                 bad.place, bad.step_end) end,
      hint = format('See why: recoup operations show %s', bad.operation_id),
      detail = jsonb_build_object('operation_id', bad.operation_id, 'status', bad.status, 'place', bad.place);
  end if;
  return null;
end $$;
comment on function recoup.rule_operation_results() is
'An item gets its result while its operation is open, and not before its step.';
