-- recoup.now(): the only clock that decisions read.
--
-- STABLE, because a VOLATILE function is no index condition. Written either for the real clock or for the clock row,
-- because choosing on every call would cost every call. Write (select recoup.now()) where rows must share one instant.

create or replace procedure recoup.install_clock()
language plpgsql as $$
begin
  execute format('create or replace function recoup.now() returns timestamptz language sql stable as $now$ %s $now$',
    case when (select status from recoup.clock) = 'simulated' then 'select at from recoup.clock'
         else 'select clock_timestamp()' end);
  execute format(
    'create or replace function recoup.statement_time() returns timestamptz language sql stable as $now$ %s $now$',
    case when (select status from recoup.clock) = 'simulated' then 'select at from recoup.clock'
         else 'select statement_timestamp()' end);
end $$;
comment on procedure recoup.install_clock() is 'Writes recoup.now() for the status of the clock.';

create or replace function recoup.release_clock() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ahead timestamptz;
begin
  perform recoup.require_table(tg_relid, 'recoup.clock');
  select at into ahead from recoup.clock where status = 'released' and at > clock_timestamp();
  if found then
    raise exception using errcode = 'RC031',
      message = format('The simulated clock is at %s, which is in the future.', ahead),
      hint = 'Wait until then, or create a new simulated database: time never runs backwards.',
      detail = jsonb_build_object('at', ahead);
  end if;
  if exists (select from new_rows where status = 'released') then
    call recoup.install_clock();
  end if;
  return null;
end $$;
revoke execute on function recoup.release_clock() from public;
comment on function recoup.release_clock() is
'On the move to released: makes recoup.now() the server''s clock, for good.';

call recoup.install_clock();
comment on function recoup.statement_time() is
'When the current statement began, by the same clock: the earliest time that it may write as now.';
comment on function recoup.now() is
'The time that decisions use: the server''s clock, or the simulated one until it is released.';
