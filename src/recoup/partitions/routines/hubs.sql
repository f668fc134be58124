-- Which rows of partitions are a hub's: those of its sources.

create or replace function partitions.in_hub(id bigint) returns boolean
language sql stable as $$
  select exists (select from partitions.partition_state s
                  where s.partition_id = id and s.source = any (recoup.hub_names('sources')))
$$;
comment on function partitions.in_hub(bigint) is
'Whether a partition is one of the hub that this transaction is limited to.';

do $$
declare
  relation regclass;
begin
  foreach relation in array array['partitions.partition_state', 'partitions.schedule']::regclass[] loop
    call recoup.limit_to_hub(relation, 'source = any ((select recoup.hub_names(''sources''))::text[])');
  end loop;
  foreach relation in array array['partitions.run', 'partitions.attempt', 'partitions.partition_event']::regclass[] loop
    call recoup.limit_to_hub(relation, 'partitions.in_hub(partition_id)');
  end loop;
end $$;
