-- Digests of rows at their birth, in the content log: a recorder, generated for every lifecycle that freezes more than
-- its key and whose own log does not have them.

create or replace function recoup.content_function(life recoup.lifecycle)
returns table (function text, arguments text, results text, settings text[], definer boolean, body text, says text)
language sql stable
set quote_all_identifiers = off  -- the same text for every caller
as $$
  select recoup.quoted(format(replace(life.subject, '.', '.content_') || '_%s', 'births')), '', 'trigger',
         -- The same text for every writer: see recoup.schema.laws, which computes it again.
         '{"search_path=pg_catalog, pg_temp",TimeZone=utc,"DateStyle=iso, ymd",bytea_output=hex}'::text[], true,
         format($text$
begin
  perform recoup.require_table(tg_relid, %1$L);
  insert into recoup.content_log (incarnation, logged_at, subject, event_type, form, keys, digests, actor, actor_id,
                                  authority)
  select recoup.present_incarnation(), recoup.now(), %1$L, 'BIRTH', %2$s, b.keys, b.digests, recoup.acting_kind(),
         recoup.acting_id(), recoup.acting_role()
    from (select array_agg(r.key) as keys, array_agg(r.digest) as digests
            from (select concat_ws(', ', %3$s) as key,
                         sha256(convert_to(array[%4$s]::text, 'UTF8')) as digest, (row_number() over ()) / 1000 as page
                    from new_rows n) r
           group by r.page) b;
  return null;
end $text$, life.subject, life.content,
           (select string_agg(format('n.%I', k), ', ') from unnest(life.key) k),
           (select string_agg(format('n.%I::text', c), ', ') from unnest(life.frozen) c)),
         format('Digests of rows of %s at their birth, generated from the declaration.', life.subject)
   where life.content > 0
$$;
comment on function recoup.content_function(recoup.lifecycle) is
'The text of the recorder of birth digests; none if the lifecycle freezes only its key.';
