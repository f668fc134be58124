-- Only a subscriber moves its own position: another login that moved it would make it miss events or see them twice.
-- A subscription named like a subscribing authority belongs to that authority, whichever login acts for it.

create or replace function recoup.rule_cursors() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if 'recoup_' || new.name <> current_user
       and exists (select from pg_roles r where r.rolname = 'recoup_' || new.name
                    and has_any_column_privilege(r.oid, tg_relid, 'insert')) then
      raise exception using errcode = 'RC071',
        message = format('The subscription %s to %s is reserved for %1$s: %3$s may not use the name.', new.name,
                         new.log, current_user),
        hint = 'Subscribe under another name.',
        detail = jsonb_build_object('log', new.log, 'name', new.name, 'authority', current_user);
    end if;
    return new;
  end if;
  -- Old subscriptions without an authority belong to no one; those without a login, to their authority.
  if (old.authority is null or old.authority = current_user)
     and (old.login is null or old.login = session_user or old.authority = 'recoup_' || old.name)
     or (tg_op = 'DELETE' and current_user = 'recoup_operator') then
    return case tg_op when 'DELETE' then old else new end;
  end if;
  raise exception using errcode = 'RC043',
    message = format('The subscription %s to %s belongs to %s: %s may not %s it.', old.name, old.log,
                     concat_ws(' of ', old.authority, old.login), concat_ws(' of ', current_user, session_user),
                     case tg_op when 'DELETE' then 'drop' else 'move' end),
    hint = 'Subscribe under another name. '
           'An operator may drop a subscription; it then begins at the first event again.',
    detail = jsonb_build_object('log', old.log, 'name', old.name, 'authority', old.authority, 'login', old.login);
end $$;
comment on function recoup.rule_cursors() is
'Only the authority and login that created a subscription move it; an operator may drop it.';

call recoup.put_trigger('recoup.subscription', 'b_rule_cursors', 'before', 'insert or update or delete', 'row',
                        'recoup.rule_cursors');
