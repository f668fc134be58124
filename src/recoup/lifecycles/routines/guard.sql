-- The guard: the same four functions for every lifecycle, run once per statement over all its rows.
--
-- They compare what a statement did with recoup.lifecycle and recoup.lifecycle_step, for the role that did it, and
-- refuse with our SQLSTATE, the move, the authority and what is allowed from here. SECURITY INVOKER, so that
-- current_user is the caller. The first trigger argument names the lifecycle: a partition is guarded as its parent.
--
-- This form reads the declaration at every statement. It guards tables without listed steps of a kind, and it
-- explains: listed steps are checked by a generated function (written.sql), which ends with the body of this one.
--
-- Transition tables are read by EXECUTE on purpose: PL/pgSQL caches the plan of its first call, and a plan made for one
-- row ran for minutes over a hundred thousand. Statuses are grouped before they are looked up, so a statement over many
-- rows costs one pass and a handful of look-ups.

create or replace function recoup.authority_of(role_name name) returns text
language sql immutable as $$
  -- An owner or a superuser has no authority: only roles called recoup_<authority> count.
  select case when starts_with(role_name::text, 'recoup_') then substr(role_name::text, 8) end
$$;
comment on function recoup.authority_of(name) is 'The authority of a role, or null.';

create or replace function recoup.allowed_steps(subject_ text, from_ text) returns text
language sql stable as $$
  select coalesce(string_agg(what, ', ' order by what), 'nothing')
    from (select coalesce(to_status, 'delete')
                 || ' (by ' || string_agg(authority, ', ' order by authority) || ')' as what
            from recoup.lifecycle_step
           where subject = subject_ and from_status is not distinct from from_
           group by to_status) listed
$$;
comment on function recoup.allowed_steps(text, text) is 'What is listed from a status (null: births), in words.';

create or replace function recoup.actor_name() returns text
language sql stable as $$
  -- An authority by its short name; any other role by its name.
  select coalesce((select s.authority from recoup.lifecycle_step s
                    where s.authority = recoup.authority_of(current_user) limit 1), current_user::text)
$$;
comment on function recoup.actor_name() is 'The actor, as a refusal names it.';

create or replace function recoup.row_name(subject_ text, key_ jsonb) returns text
language sql immutable as $$
  select format('%s (%s)', subject_, (select string_agg(value, ', ') from jsonb_each_text(key_)))
$$;
comment on function recoup.row_name(text, jsonb) is 'A row, as a refusal names it.';

create or replace function recoup.step_facts(subject_ text, key_ jsonb, from_ text, to_ text) returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'subject', subject_, 'key', key_, 'from', from_, 'to', to_, 'authority', recoup.actor_name(),
    'allowed', (select coalesce(jsonb_agg(jsonb_build_object('to', s.to_status, 'authority', s.authority)
                                          order by s.to_status, s.authority), '[]')
                  from recoup.lifecycle_step s
                 where s.subject = subject_ and s.from_status is not distinct from from_))
$$;
comment on function recoup.step_facts(text, jsonb, text, text) is 'The facts of a refused birth, move or exit.';

create or replace function recoup.acts_for_another() returns boolean
language sql stable as $$
  -- In a SECURITY DEFINER function current_user is the function's owner, and the role is still the caller's. Only
  -- a role that may also disable triggers can become the owner; and the owner itself acts for no other role.
  select current_user = 'recoup_owner'
     and coalesce(nullif(current_setting('role'), 'none'), session_user::text) <> 'recoup_owner'
$$;
comment on function recoup.acts_for_another() is
'Whether a function of the tables'' owner runs, called by another role: a recorder, a consequence, the sealer.';

create or replace function recoup.by_follower() returns boolean
language sql stable as $$ select recoup.acts_for_another() and pg_trigger_depth() > 1 $$;
comment on function recoup.by_follower() is
'For triggers: whether a recorder or a consequence made this change, inside another trigger.';

create or replace function recoup.key_object(key_ text[], alias text) returns text
language sql immutable as $$
  select 'jsonb_build_object(' || string_agg(format('%L, %s.%I', k, alias, k), ', ') || ')' from unnest(key_) k
$$;
comment on function recoup.key_object(text[], text) is 'SQL text of an object holding a row''s key.';

create or replace function recoup.require_read_committed(what text) returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'RC011',
      message = format('%s: written at READ COMMITTED, not at %s.', what,
                       upper(current_setting('transaction_isolation'))),
      hint = 'Begin the transaction at READ COMMITTED.',
      detail = jsonb_build_object('isolation', current_setting('transaction_isolation'));
  end if;
end $$;
comment on function recoup.require_read_committed(text) is
'Refuses isolation levels whose snapshot would be older than the locks.';

-- Births --------------------------------------------------------------------------------------------------------------

create or replace function recoup.guard_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  subject_ constant text := tg_argv[0];
  life     recoup.lifecycle;
  step     recoup.lifecycle_step;
  born     text;
  missing  text;
  sample   jsonb;
  caused   constant boolean := recoup.by_follower();  -- by the owner, for the caller
  acting   constant name := case when caused then recoup.acting_role() else current_user end;
begin
  if not exists (select from new_rows) then
    return null;
  end if;
  perform set_config('recoup.acting_role', acting, true);  -- for the followers
  select * into strict life from recoup.lifecycle l where l.subject = subject_;
  for born in execute format('select distinct n.%I::text from new_rows n', life.status_column) loop
    select * into step from recoup.lifecycle_step s
     where s.subject = subject_ and s.kind = 'birth' and s.to_status = born
       and s.authority = recoup.authority_of(acting);
    if not found then
      execute format('select %s from new_rows n where n.%I = $1 limit 1',
                     recoup.key_object(life.key, 'n'), life.status_column) into sample using born;
      raise exception using errcode = 'RC001',
        message = format('%s: %s may not insert it as %s.', recoup.row_name(subject_, sample), recoup.actor_name(),
                         born),
        hint = format('Allowed births: %s.', recoup.allowed_steps(subject_, null)),
        detail = recoup.step_facts(subject_, sample, null, born);
    end if;
    if step.through <> '{}' and not caused then
      execute format('select %s from new_rows n where n.%I = $1 limit 1',
                     recoup.key_object(life.key, 'n'), life.status_column) into sample using born;
      raise exception using errcode = 'RC012',
        message = format('%s: it cannot be inserted as %s by hand.', recoup.row_name(subject_, sample), born),
        hint = format('%s: %s.', born, step.says),
        detail = recoup.step_facts(subject_, sample, null, born);
    end if;
    foreach missing in array step.requires loop
      execute format('select %s from new_rows n where n.%I = $1 and n.%I is null limit 1',
                     recoup.key_object(life.key, 'n'), life.status_column, missing) into sample using born;
      if sample is not null then
        raise exception using errcode = 'RC001',
          message = format('%s: %s may not insert it as %s without %s.', recoup.row_name(subject_, sample),
                           recoup.actor_name(), born, missing),
          hint = format('As %s: %s.', born, step.says),
          detail = recoup.step_facts(subject_, sample, null, born);
      end if;
    end loop;
  end loop;
  return null;
end $$;
comment on function recoup.guard_births() is 'Refuses an insert in a status, or by an authority, that is not listed.';

-- Moves ---------------------------------------------------------------------------------------------------------------

create or replace function recoup.column_rules(life recoup.lifecycle)
  returns table (sqlstate_ text, column_ text, broken text, rule text)
language sql stable as $$
  select 'RC005', c, format('o.%1$I is distinct from n.%1$I', c), 'never changes after birth' from unnest(life.frozen) c
  union all
  select 'RC006', c, format('o.%1$I is not null and o.%1$I is distinct from n.%1$I', c), 'is set once'
    from unnest(life.once) c
  union all
  select 'RC007', c, format('(o.%1$I is not null and (n.%1$I is null or n.%1$I < o.%1$I))', c), 'never falls'
    from unnest(life.rising) c
$$;
comment on function recoup.column_rules(recoup.lifecycle) is
'The rules on columns, each as a condition that is true for a violation.';

create or replace function recoup.guard_moves() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  subject_ constant text := tg_argv[0];
  life     recoup.lifecycle;
  step     recoup.lifecycle_step;
  rule     record;
  seen     record;
  paired   text;
  sample   jsonb;
  caused   constant boolean := recoup.by_follower();
  acting   constant name := case when caused then recoup.acting_role() else current_user end;
begin
  if not exists (select from new_rows) then
    return null;
  end if;
  perform set_config('recoup.acting_role', acting, true);  -- for the followers
  select * into strict life from recoup.lifecycle l where l.subject = subject_;
  -- FULL JOIN: a changed key leaves a row without its partner, so it is noticed.
  paired := 'old_rows o full join new_rows n on '
    || (select string_agg(format('o.%1$I = n.%1$I', k), ' and ') from unnest(life.key) k);

  for seen in execute format(
      'select o.%1$I::text as from_status, n.%1$I::text as to_status, bool_or(%2$s) as broken, bool_and(%3$s) as counted
         from %4$s group by 1, 2',
      life.status_column,
      coalesce((select string_agg(r.broken, ' or ') from recoup.column_rules(life) r), 'false'),
      case when life.counter is null then 'true'
           else format('n.%1$I is not distinct from o.%1$I + 1', life.counter) end,
      paired)
  loop
    if seen.from_status is null or seen.to_status is null then
      execute format('select %s from %s where n.%I is null limit 1',
                     recoup.key_object(life.key, 'o'), paired, life.status_column) into sample;
      raise exception using errcode = 'RC004',
        message = format('%s: its key may not be changed.', recoup.row_name(subject_, sample)),
        hint = format('%s identifies the row; insert a new row instead.', array_to_string(life.key, ', ')),
        detail = jsonb_build_object('subject', subject_, 'key', sample, 'authority', current_user);
    end if;

    select * into step from recoup.lifecycle_step s
     where s.subject = subject_ and s.kind = 'move'
       and s.from_status = seen.from_status and s.to_status = seen.to_status
       and s.authority = recoup.authority_of(acting);
    if not found then
      execute format('select %s from %s where o.%3$I = $1 and n.%3$I = $2 limit 1',
                     recoup.key_object(life.key, 'o'), paired, life.status_column)
        into sample using seen.from_status, seen.to_status;
      raise exception using errcode = 'RC002',
        message = format(case when seen.from_status = seen.to_status then '%s: %s may not change it while it stays %s.'
                              else '%s: %s may not move it from %s to %s.' end,
                         recoup.row_name(subject_, sample), recoup.actor_name(), seen.from_status, seen.to_status),
        hint = format('Allowed from here: %s.', recoup.allowed_steps(subject_, seen.from_status)),
        detail = recoup.step_facts(subject_, sample, seen.from_status, seen.to_status);
    end if;

    if step.through <> '{}' and not caused then
      execute format('select %s from %s where o.%3$I = $1 and n.%3$I = $2 limit 1',
                     recoup.key_object(life.key, 'o'), paired, life.status_column)
        into sample using seen.from_status, seen.to_status;
      raise exception using errcode = 'RC012',
        message = format('%s: it cannot be moved from %s to %s by hand.', recoup.row_name(subject_, sample),
                         seen.from_status, seen.to_status),
        hint = format('%s: %s.', seen.to_status, step.says),
        detail = recoup.step_facts(subject_, sample, seen.from_status, seen.to_status);
    end if;

    if seen.broken or (step.counts and not seen.counted) then
      for rule in select * from recoup.column_rules(life)
        union all select 'RC007', life.counter, format('n.%1$I is distinct from o.%1$I + 1', life.counter),
                         format('increases by exactly one from %s to %s', seen.from_status, seen.to_status)
                   where step.counts
      loop
        execute format('select %s from %s where o.%3$I = $1 and n.%3$I = $2 and %4$s limit 1',
                       recoup.key_object(life.key, 'o'), paired, life.status_column, rule.broken)
          into sample using seen.from_status, seen.to_status;
        if sample is not null then
          raise exception using errcode = rule.sqlstate_,
            message = format('%s: %s %s.', recoup.row_name(subject_, sample), rule.column_, rule.rule),
            hint = format('Leave %s as it is, or write what the rule allows.', rule.column_),
            detail = jsonb_build_object('subject', subject_, 'key', sample, 'column', rule.column_, 'rule', rule.rule,
                               'authority', current_user);
        end if;
      end loop;
    end if;
  end loop;
  return null;
end $$;
comment on function recoup.guard_moves() is
'Refuses a move that is not listed for this authority, a changed key, and changes to frozen, set-once, rising or '
'counting columns.';

-- Exits ---------------------------------------------------------------------------------------------------------------

create or replace function recoup.guard_exits() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  subject_ constant text := tg_argv[0];
  life     recoup.lifecycle;
  gone     text;
  sample   jsonb;
begin
  perform set_config('recoup.acting_role', current_user, true);  -- for the recorder
  select * into strict life from recoup.lifecycle l where l.subject = subject_;
  for gone in execute format('select distinct o.%I::text from old_rows o', life.status_column) loop
    perform from recoup.lifecycle_step s
      where s.subject = subject_ and s.kind = 'exit' and s.from_status = gone
        and s.authority = recoup.authority_of(current_user);
    if not found then
      execute format('select %s from old_rows o where o.%I = $1 limit 1',
                     recoup.key_object(life.key, 'o'), life.status_column) into sample using gone;
      raise exception using errcode = 'RC003',
        message = format('%s: %s may not delete it while it is %s.', recoup.row_name(subject_, sample),
                         recoup.actor_name(), gone),
        hint = format('Allowed from here: %s.', recoup.allowed_steps(subject_, gone)),
        detail = recoup.step_facts(subject_, sample, gone, null);
    end if;
  end loop;
  return null;
end $$;
comment on function recoup.guard_exits() is
'Refuses the deletion of a row whose exit is not listed for this authority.';

create or replace function recoup.guard_truncate() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'RC008',
    message = format('%s: %s may not truncate it.', tg_argv[0], current_user),
    hint = 'Rows are deleted only by a listed exit, and recorded.',
    detail = jsonb_build_object('subject', tg_argv[0], 'authority', current_user);
  return null;
end $$;
comment on function recoup.guard_truncate() is 'Refuses TRUNCATE.';
