-- Where a subscriber stands is its own business: another one that moved it would make it miss events,
-- or see them twice.

create or replace function recoup.rule_cursors() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Those from before subscriptions had an authority belong to nobody.
  if old.authority is null or old.authority = current_user
     or (tg_op = 'DELETE' and current_user = 'recoup_operator') then
    return case tg_op when 'DELETE' then old else new end;
  end if;
  raise exception using errcode = 'RC043',
    message = format('Subscription %s to %s is %s''s: %s may not %s it.', old.name, old.log, old.authority,
                     current_user, case tg_op when 'DELETE' then 'drop' else 'move' end),
    hint = 'Subscribe under a name of your own. '
           'An operator may drop a subscription; it then begins at the first event again.',
    detail = jsonb_build_object('log', old.log, 'name', old.name, 'authority', old.authority);
end $$;
comment on function recoup.rule_cursors() is
'A subscription is moved by the authority that made it; an operator may drop it.';

call recoup.put_trigger('recoup.subscription', 'b_rule_cursors', 'before', 'update or delete', 'row',
                        'recoup.rule_cursors');
