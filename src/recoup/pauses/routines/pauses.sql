-- The pause register. Every claim reads it.
--
-- A pause applies to every claim that begins after its commit; work that was claimed before may finish. Setting a pause
-- waits for no other transaction, so the work that a kill switch stops cannot delay it.

create or replace function recoup.paused(variadic scopes text[]) returns recoup.pause
language plpgsql stable as $$
declare
  held recoup.pause;
begin
  -- Scopes as 'table:cl.gate_zero_attempt'; the global one is always among them. PL/pgSQL, for its cached plan: every
  -- claim calls this.
  select * into held from recoup.pause p
   where p.status = 'PAUSED'
     and (p.scope = 'global' or p.scope || ':' || p.scope_id = any(scopes))
   order by p.scope <> 'global' limit 1;
  return held;
end $$;
comment on function recoup.paused(text[]) is 'The pause that stops a claim within these scopes, or null.';

create or replace function recoup.refuse_paused(variadic scopes text[]) returns void
language plpgsql stable as $$
declare
  held constant recoup.pause := recoup.paused(variadic scopes);
begin
  if held.scope is not null then
    raise exception using errcode = 'RC032',
      message = format('%s is paused by %s since %s: %s',
        case held.scope when 'global' then 'Everything' else initcap(held.scope) || ' ' || held.scope_id end,
        held.changed_by, to_char(held.changed_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), held.reason),
      hint = format('Resume it first: recoup resume %s%s --reason …', held.scope,
                    case held.scope when 'global' then '' else ' ' || held.scope_id end),
      detail = jsonb_build_object('scope', held.scope, 'scope_id', held.scope_id, 'paused_by', held.changed_by,
        'paused_at', held.changed_at, 'reason', held.reason);
  end if;
end $$;
comment on function recoup.refuse_paused(text[]) is 'Refuses a claim within a paused scope.';

create or replace function recoup.pausable_names(scope_ text) returns setof text
language plpgsql stable as $$
declare
  declared recoup.pausable;
begin
  for declared in select * from recoup.pausable p where p.scope = scope_ loop
    if declared.name is not null then
      return next declared.name;
      -- Of a partitioned table, all of it or one partition.
      return query select n.nspname || '.' || c.relname from pg_inherits i
        join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
       where scope_ = 'table' and i.inhparent = to_regclass(declared.name);
    else
      return query execute declared.names;
    end if;
  end loop;
end $$;
comment on function recoup.pausable_names(text) is 'What can be paused within a scope, by name.';

create or replace function recoup.rule_pauses() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  last timestamptz;  -- when it was changed before: a clock that was set back may leave no other time than that
  bad  record;
begin
  perform recoup.refuse_of_others(format('the pause of %s %s', n.scope, n.scope_id),
            array[case n.scope when 'partition-source' then 'source' else n.scope end || ':' || n.scope_id])
     from new_rows n;
  if tg_op = 'UPDATE' then
    last := (select max(o.changed_at) from old_rows o);
  end if;
  -- A pause under a name that is no longer declared can still be resumed.
  select n.scope, n.scope_id, exists (select from recoup.pausable p where p.scope = n.scope) as known into bad
    from new_rows n
   where n.status = 'PAUSED'
     and not exists (select from recoup.pausable_names(n.scope) name where name = n.scope_id) limit 1;
  if found then
    raise exception using errcode = 'RC034',
      message = case when bad.known then format('There is no %s %s whose work can be paused.', bad.scope, bad.scope_id)
                     else format('A %s cannot be paused here.', bad.scope) end,
      hint = case when bad.known
        then coalesce('Known names: ' || (
               select string_agg(name, ', ' order by name)
                 from (select * from recoup.pausable_names(bad.scope) name limit 100) names) || '.',
               'There are none of this kind now.')
        else format('Kinds: %s.', (
               select string_agg(distinct p.scope, ', ' order by p.scope) from recoup.pausable p)) end,
      detail = jsonb_build_object('scope', bad.scope, 'scope_id', bad.scope_id);
  end if;
  select n.scope || ' ' || n.scope_id as named into bad from new_rows n
   where n.changed_by <> recoup.acting_id() or n.changed_at > greatest(now_ + interval '1 second', last)
      or n.changed_at < least(now_, recoup.statement_time()) limit 1;
  if found then
    raise exception using errcode = 'RC026',
      message = format('The pause of %s has the wrong time or actor.', bad.named),
      hint = 'Write changed_at = recoup.now() and changed_by = recoup.acting_id().',
      detail = jsonb_build_object('pause', bad.named, 'now', now_, 'acting', recoup.acting_id());
  end if;
  return null;
end $$;
comment on function recoup.rule_pauses() is
'Only something that exists is paused; a pause is changed now, by the acting login; by a hub only within its own work.';

create or replace function recoup.record_pauses() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'recoup.pause');
  insert into recoup.pause_log (incarnation, logged_at, event_type, scope, scope_id, reason, actor, actor_id, authority)
  select (select recoup.present_incarnation()), (select recoup.now()),
         case n.status when 'PAUSED' then 'PAUSE' else 'RESUME' end, n.scope, n.scope_id, n.reason,
         (select recoup.acting_kind()), (select recoup.acting_id()), (select recoup.acting_role())
    from new_rows n;
  return null;
end $$;
revoke execute on function recoup.record_pauses() from public;
comment on function recoup.record_pauses() is 'PAUSE or RESUME, in the pause log.';

create or replace function recoup.wake() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Sent when the transaction commits. Only for tables that change rarely: commits that notify run one at a time.
  -- Not by a statement that found nothing to change: tasks that look for work would wake each other for ever.
  if exists (select from new_rows) then
    perform pg_notify('recoup_wake', coalesce(tg_argv[0], ''));
  end if;
  return null;
end $$;
comment on function recoup.wake() is 'Wakes the workers: this duty, or any, may have work.';
