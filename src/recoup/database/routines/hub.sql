-- Hubs: a transaction with the setting recoup.hub sees and changes the rows of that hub alone, in whatever function.
-- A policy of row-level security on each table that has rows of hubs, also for its owner, so that it holds in
-- functions that act as the owner. Tables that have nothing of a hub are closed to its transactions, and not to the
-- owner: recorders and consequences still work. Without the setting, or with an empty one, every row is there.

create or replace function recoup.hub_names(kind text) returns text[]
language sql stable as $$
  -- An unknown hub has nothing.
  select array(
    select jsonb_array_elements_text(p.figures #> array['service', 'hubs', current_setting('recoup.hub', true), kind])
      from (select p.figures from recoup.policy p order by p.version desc limit 1) p)
$$;
comment on function recoup.hub_names(text) is
'The error tables, or the sources of partitions, of the hub that this transaction is limited to.';

create or replace function recoup.refuse_of_others(named text, parts text[]) returns void
language plpgsql stable as $$
declare
  hub constant text := coalesce(current_setting('recoup.hub', true), '');
begin
  -- What stops or starts work is no row of a hub: every claim reads it. A hub may write what concerns its work alone.
  if hub <> '' and not parts <@ array(select 'table:' || t from unnest(recoup.hub_names('tables')) t
                                      union all select 'source:' || s from unnest(recoup.hub_names('sources')) s) then
    raise exception using errcode = 'RC074',
      message = format('The caller is limited to the hub %s, and %s concerns the work of others.', hub, named),
      hint = 'Use a key without a hub.',
      detail = jsonb_build_object('hub', hub, 'parts', parts);
  end if;
end $$;
comment on function recoup.refuse_of_others(text, text[]) is
'Refuses what concerns more than the tables and sources of the hub that this transaction is limited to, if it is.';

create or replace procedure recoup.limit_to_hub(relation regclass, condition text, for_owner boolean default true)
language plpgsql as $$
declare
  -- Written so that the planner takes it for almost always true: plans stay what they are without it.
  unlimited constant text :=
    'case when coalesce(current_setting(''recoup.hub'', true), '''') = '''' then ''all'' else ''hub'' end <> ''hub''';
  rule      constant text := format('%s or (%s)', unlimited, condition);
  -- Authorities of workers, in which no caller of a hub acts: the planner sees no condition at all.
  workers   constant text := 'recoup_gate, recoup_mint, recoup_error_worker, recoup_archiver, recoup_rule_engine, '
    'recoup_evaluator, recoup_claim_worker, recoup_orphan_recovery, recoup_scoped_execution, recoup_executor, '
    'recoup_extractor, recoup_validator, recoup_key_manager, recoup_service';
  says      constant text := format('Rows of the hub that the transaction is limited to; %s.', md5(rule || workers));
begin
  -- What is right is kept: to create it again would lock the table against its users.
  if not exists (select from pg_policy p join pg_class c on c.oid = p.polrelid
                  where p.polrelid = relation and p.polname = 'hub' and c.relrowsecurity
                    and c.relforcerowsecurity = for_owner and obj_description(p.oid, 'pg_policy') = says) then
    execute format('drop policy if exists hub on %s', relation);
    execute format('drop policy if exists workers on %s', relation);
    execute format('create policy workers on %s to %s using (true)', relation, workers);
    execute format('create policy hub on %s using (%s)', relation, rule);
    execute format('comment on policy hub on %s is %L', relation, says);
    execute format('alter table %s enable row level security', relation);
    execute format('alter table %s %s row level security', relation,
                   case when for_owner then 'force' else 'no force' end);
  end if;
end $$;
comment on procedure recoup.limit_to_hub(regclass, text, boolean) is
'Limits the rows of a table to those of the hub of a transaction, if it has one; also in functions of the owner.';
