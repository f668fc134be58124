-- Tracebacks of failed retries: kept next to the error, one for each retry, and never changed.

create or replace function recoup.keep_tracebacks(tables text[], ids bigint[], tokens uuid[], tracebacks text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform recoup.require_same_length('tracebacks', cardinality(tables), cardinality(ids), cardinality(tokens),
                                     cardinality(tracebacks));
  -- Of retries whose failure counts: a late one has no event. One that is reported again has its traceback already.
  insert into recoup.retry_traceback (error_table, error_id, retry, token, traceback, recorded_at)
  select g.error_table, g.error_id, v.retry_count, g.token, g.traceback, recoup.now()
    from unnest(tables, ids, tokens, tracebacks) g (error_table, error_id, token, traceback)
   cross join lateral (
     select v.retry_count from recoup.error_event v
      where v.error_id = g.error_id and v.error_table = g.error_table and v.token = g.token
        and v.event_type = 'FAILED'
      limit 1) v
  on conflict (error_id, retry) do nothing;
end $$;
comment on function recoup.keep_tracebacks(text[], bigint[], uuid[], text[]) is
'Keeps the tracebacks of retries that were reported as failed; those of late reports are left out.';

create or replace function recoup.rule_retry_tracebacks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.error_table, n.error_id, n.retry into bad
    from new_rows n
   where n.recorded_at not between now_ - interval '1 minute' and now_ + interval '1 second'
      -- With a limit: else all events are read for a hash.
      or (select true from recoup.error_event v
           where v.error_id = n.error_id and v.error_table = n.error_table and v.token = n.token
             and v.retry_count = n.retry and v.event_type = 'FAILED' limit 1) is null
   limit 1;
  if found then
    raise exception using errcode = 'RC064',
      message = format('Error %s of %s: retry %s did not fail under that token, or the time is not now.', bad.error_id,
                       bad.error_table, bad.retry),
      hint = 'Report the failed retry first, in the same transaction.',
      detail = jsonb_build_object('error_table', bad.error_table, 'error_id', bad.error_id, 'retry', bad.retry);
  end if;
  return null;
end $$;
comment on function recoup.rule_retry_tracebacks() is 'A traceback belongs to a retry that failed, under its token.';

create or replace function recoup.rule_traceback_exits() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  bad record;
begin
  if recoup.acting_role() = 'recoup_operator' then
    return null;
  end if;
  select o.error_table, o.error_id, o.retry into bad
    from old_rows o
   where (select true from recoup.error e
           where e.error_table = o.error_table and e.error_id = o.error_id limit 1)
      or (select true from recoup.error_archive a
           where a.error_table = o.error_table and a.error_id = o.error_id limit 1)
   limit 1;
  if found then
    raise exception using errcode = 'RC064',
      message = format('Error %s of %s is kept, and so is the traceback of its retry %s.', bad.error_id,
                       bad.error_table, bad.retry),
      hint = 'To delete one that holds a secret: recoup errors redact ID --reason …',
      detail = jsonb_build_object('error_table', bad.error_table, 'error_id', bad.error_id, 'retry', bad.retry);
  end if;
  return null;
end $$;
comment on function recoup.rule_traceback_exits() is
'The archiver deletes a traceback when its error is in no table any more; an operator, when it holds a secret.';
