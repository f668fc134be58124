-- Which rows of errors are a hub's: those of its tables.

create or replace procedure recoup.limit_errors_to_hub(relation regclass, column_ text default 'error_table')
language plpgsql as $$
declare
  -- Of one error table the condition needs no column: its rows are still counted from indexes alone.
  of_ constant text := (
    select quote_literal(a.name)
      from pg_partition_ancestors(relation) p
     cross join lateral (
       select substring(pg_get_expr(c.relpartbound, c.oid) from '^FOR VALUES IN \(''(.+)''\)$') as name
         from pg_class c where c.oid = p.relid) a
     where a.name is not null limit 1);
begin
  call recoup.limit_to_hub(relation, format('%s = any ((select recoup.hub_names(''tables''))::text[])',
                                            coalesce(of_, quote_ident(column_))));
end $$;
comment on procedure recoup.limit_errors_to_hub(regclass, text) is
'Limits a table whose rows belong to error tables to those of a hub.';

do $$
declare
  relation regclass;
begin
  -- A statement that names a partition is under the policy of that partition alone, so each has it.
  for relation in select t.relid from pg_partition_tree('recoup.error') t
                  union all select t.relid from pg_partition_tree('recoup.error_archive') t
                  union all
                  select t::regclass from unnest(array['recoup.error_event', 'recoup.error_redaction',
                    'recoup.retry_traceback', 'recoup.processed', 'recoup.error_tally',
                    'recoup.error_archive_month']) t loop
    call recoup.limit_errors_to_hub(relation);
  end loop;
  call recoup.limit_errors_to_hub('recoup.error_queue', 'part');
end $$;
