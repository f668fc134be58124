-- Which runs are a hub's: those of its sources.

call recoup.limit_to_hub('recovery.run', 'source = any ((select recoup.hub_names(''sources''))::text[])');
