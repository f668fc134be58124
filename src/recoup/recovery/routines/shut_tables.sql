-- Which tables of errors are behind a breaker, and in which of them no retry window closes.

create or replace function recovery.shut_tables() returns text[]
language sql stable as $$
  select coalesce(array_agg(distinct substr(p, 7)), '{}')
    from recovery.breaker b cross join unnest(b.parts) p
   where b.status in ('open', 'half_open') and starts_with(p, 'table:')
$$;
comment on function recovery.shut_tables() is 'The tables that are behind a breaker.';

create or replace function recovery.held_tables() returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  -- While a breaker waits or is tried nobody can retry. When it may be tried, an error whose window is open tries it.
  -- If there is none, nobody might ever: then windows close.
  return array(
    select distinct substr(p, 7) from recovery.breaker b cross join unnest(b.parts) p
     where b.status in ('open', 'half_open') and starts_with(p, 'table:')
       and (b.status = 'half_open' or b.open_until > now_
            or exists (select from recoup.error_queue q
                        where q.token is null and q.until is not null and q.until > now_
                          and b.parts && array['table:' || q.part, 'table:recoup.error'])));
end $$;
comment on function recovery.held_tables() is 'The tables behind a breaker in which no retry window closes.';
