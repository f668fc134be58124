-- Which matches and incidents are a hub's: those whose source is one of its error tables, or one of its sources.

do $$
declare
  relation regclass;
begin
  foreach relation in array array['recovery.failure_match', 'recovery.incident']::regclass[] loop
    call recoup.limit_to_hub(relation,
      'source = any ((select recoup.hub_names(''tables'') || recoup.hub_names(''sources''))::text[])');
  end loop;
end $$;
