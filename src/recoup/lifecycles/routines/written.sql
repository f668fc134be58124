-- The guard of a table, generated from its declaration when it is installed.
--
-- One pass over the rows of a statement, in SQL that is planned once: is every step listed for the caller, has every
-- row its key, do the columns keep their rules, and does the domain's own rule of a move hold? If so, that is
-- all. Otherwise the body of recoup.guard_births, guard_moves or guard_exits follows, which reads the declaration and
-- reports what is wrong. Only one function sees the transition tables, so that body is part of it.

create or replace function recoup.quoted(name_ text) returns text
language sql immutable as $$
  select format('%I.%I', split_part(name_, '.', 1), split_part(name_, '.', 2))
$$;
comment on function recoup.quoted(text) is 'A name with its schema, as SQL has it.';

create or replace function recoup.guard_of(subject_ text, kind_ text) returns text
language sql stable as $$
  -- Where nothing is listed nothing is generated: the general form refuses every step.
  select case when exists (select from recoup.lifecycle_step s where s.subject = subject_ and s.kind = kind_)
              then recoup.quoted(format(replace(subject_, '.', '.guard_') || '_%ss', kind_))
              else format('recoup.guard_%ss', kind_) end
$$;
comment on function recoup.guard_of(text, text) is 'The function that guards the births, moves or exits of a table.';

create or replace function recoup.listed_condition(life recoup.lifecycle, kind_ text) returns text
language sql stable as $$
  -- Steps of one authority that differ only in where they lead to are one condition. In one order, whatever the locale.
  select 'coalesce(case acting'
         || string_agg(format(E'\n        when %L then %s', 'recoup_' || a.authority, a.steps), ''
                       order by a.authority collate "C")
         || ' end, false)'
    from (select g.authority, string_agg(g.step, E'\n          or ' order by g.step collate "C") as steps
            from (select s.authority, concat_ws(' and ',
                           case when kind_ <> 'birth'
                                then format('o.%I::text = %L', life.status_column, s.from_status) end,
                           case when kind_ <> 'exit'
                                then format('n.%I::text in (%s)', life.status_column, string_agg(
                                  quote_literal(s.to_status), ', ' order by s.to_status collate "C")) end,
                           case when s.counts then format('n.%1$I is not distinct from o.%1$I + 1', life.counter) end,
                           (select string_agg(format('n.%I is not null', r), ' and ') from unnest(s.requires) r),
                           case when s.through <> '{}' then 'caused' end) as step
                    from recoup.lifecycle_step s
                   where s.subject = life.subject and s.kind = kind_
                   group by s.authority, s.from_status, s.counts, s.requires, s.through) g
           group by g.authority) a
$$;
comment on function recoup.listed_condition(recoup.lifecycle, text) is
'SQL text: whether a row''s step is listed for the role in acting; null where none is.';

create or replace function recoup.guard_text(life recoup.lifecycle, kind_ text) returns text
language plpgsql stable
set quote_all_identifiers = off  -- the same text for every caller
as $$
declare
  paired  constant text := 'join old_rows o on '
    || (select string_agg(format('o.%1$I = n.%1$I', k), ' and ') from unnest(life.key) k);
  listed  constant text := recoup.listed_condition(life, kind_);
  columns constant text := (select string_agg(E'\n           or ' || r.broken, '') from recoup.column_rules(life) r
                               where r.column_ <> all (life.key));  -- those are paired by
  rule    constant jsonb := case when kind_ = 'move' then life.move_rule end;
  -- Of the domain's own rule each part is null where none is declared.
  broken  constant text := (rule ->> 'broken') || format('(o, n, now_, acting, %s)',
                             case when rule ->> 'policy' is null then 'null' else 'policy' end);
  gather  constant text := (rule ->> 'gathers') || '(o, n)';
  -- The body of the general form. It refuses; or it reaches its end, and we continue.
  refuse  constant text := (select regexp_replace(p.prosrc, 'return null;[[:space:]]*end[[:space:]]*$', 'end')
                              from pg_proc p where p.oid = format('recoup.guard_%ss', kind_)::regproc);
  -- Evaluated once, also where steps use it.
  causes  constant boolean := exists (select from recoup.lifecycle_step s
                                       where s.subject = life.subject and s.kind = kind_ and s.through <> '{}');
  pass    text;
begin
  if listed is null then
    return null;
  elsif kind_ = 'birth' then
    pass := format('
  if not exists (select from new_rows n where not %s) then
    return null;
  end if;', listed);
  elsif kind_ = 'exit' then
    pass := format('
  if not exists (select from old_rows o where not %s) then
    return null;
  end if;', listed);
  else
    -- A changed key leaves a row without its partner, and that is not a listed step.
    pass := format('
  select bool_or(not %s%s%s)%s
    into wrong%s
    from new_rows n full %s;
  if wrong is not true then%s
    return null;
  end if;', listed, columns, E'\n           or ' || broken || ' is not null',
      E',\n         jsonb_agg(distinct ' || gather || ') filter (where ' || gather || ' is not null)',
      case when gather is not null then ', gathered' end, paired,
      E'\n    perform ' || (rule ->> 'then') || format('(acting, %s, gathered);',
                             case when rule ->> 'policy' is null then 'null' else 'policy' end));
  end if;
  return concat($text$
#variable_conflict use_variable
declare$text$, case when causes then E'\n  caused constant boolean := recoup.by_follower();' end, format($text$
  -- Set for the followers too.
  acting constant text :=
    set_config('recoup.acting_role', case when %s then recoup.acting_role() else current_user end, true);$text$,
      case when causes then 'caused' when kind_ = 'exit' then 'false' else 'recoup.by_follower()' end),
    case when kind_ = 'move' then E'\n  wrong  boolean;' end,
    case when rule is not null then E'\n  now_   constant timestamptz := recoup.now();\n  seen   record;' end,
    E'\n  policy constant jsonb := ' || (rule ->> 'policy') || '();',
    case when gather is not null then E'\n  gathered jsonb;' end,
    E'\nbegin', pass, E'\n', refuse, ';',
    case when rule is not null then format($text$
  select r.* into seen from new_rows n %s cross join lateral %s(%s, o, n) r where %3$s is not null limit 1;
  if found then
    raise exception using errcode = seen.sqlstate, message = seen.message, hint = seen.hint, detail = seen.detail;
  end if;$text$, paired, rule ->> 'refusal', broken) end, $text$
  raise exception using errcode = 'RC013',
    message = format('%s: its guard refuses what the declaration lists.', tg_argv[0]),
    hint = 'The guard was generated from another declaration. Generate it again: recoup migrate',
    detail = jsonb_build_object('subject', tg_argv[0], 'authority', current_user);
end $text$);
end $$;
comment on function recoup.guard_text(recoup.lifecycle, text) is
'The body of the guard of a lifecycle''s births, moves or exits; null where none are listed.';
