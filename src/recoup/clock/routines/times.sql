-- Rules on times that every domain shares: a statement writes the current time as now, and no time is in the future.

create or replace function recoup.never() returns timestamptz
language sql immutable parallel safe as $$
  -- The due time of something that has ended. With a time in the past most of the table would seem due, and the query
  -- for due rows would be planned as if it returned most of them.
  select timestamptz '9999-12-31 00:00:00+00'
$$;
comment on function recoup.never() is 'The due time of rows that have ended: never.';

create or replace function recoup.is_now(told timestamptz, began timestamptz, now_ timestamptz) returns boolean
language sql stable as $$
  -- STABLE, as is the sum in it: declared IMMUTABLE it would not be inlined, and cost each row of a claim 4
  -- microseconds. Taken from recoup.now() by the statement itself: not before it began, not after this moment. The
  -- microseconds are those between events of one instant.
  select told between least(now_, began) and now_ + interval '10 microseconds'
$$;
comment on function recoup.is_now(timestamptz, timestamptz, timestamptz) is
'Whether a time that a statement writes is now; the statement began at recoup.statement_time().';

create or replace function recoup.rule_times() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  execute format('select n.%1$I::text from new_rows n where %2$s limit 1', tg_argv[0],
    (select string_agg(format('n.%I > $1', t), ' or ')
       from unnest(tg_argv) with ordinality a (t, place) where place > 1))
    into bad using recoup.now() + interval '1 second';
  if bad is not null then
    raise exception using errcode = 'RC026',
      message = format('%s %s has a time in the future.', tg_table_name, bad),
      hint = 'Take times from recoup.now().',
      detail = jsonb_build_object('table', tg_table_name, 'row', bad, 'now', recoup.now());
  end if;
  return null;
end $$;
comment on function recoup.rule_times() is
'Refuses rows with a time in the future. Arguments: the key, then the columns with times.';
