-- The promotion gate: may this entity move on?
--
-- Asked plainly it is a look, and an error that commits a moment later is not seen. Asked with the lock, within the
-- transaction that promotes, it is an order: every error of the entity either was there to be seen, or waits until the
-- promotion has committed.

create or replace function recoup.entity_bucket(entity uuid) returns integer
language sql immutable parallel safe as $$ select (hashtextextended(entity::text, 0) & 1023)::integer $$;
comment on function recoup.entity_bucket(uuid) is
'The lock that an entity shares with about a thousandth of all others.';

create or replace function recoup.hold_promotions(buckets integer[]) returns void
language plpgsql
set lock_timeout = '20s'  -- longer than for a row: what fails here is a failure that would not be recorded
as $$
begin
  -- In order, so that two that hold several wait for each other instead of deadlocking. A thousand locks at most,
  -- however many entities: one for each entity would use up the server's table of locks.
  perform pg_advisory_xact_lock_shared(7701, b.bucket)
     from (select distinct unnest(buckets) as bucket order by 1) b;
end $$;
comment on function recoup.hold_promotions(integer[]) is
'Makes promotions of these entities wait until this transaction is over (recoup.is_blocked_locking).';

create or replace function recoup.is_blocked(outreach_id uuid) returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  entity constant uuid := outreach_id;
begin
  -- The policy is asked within the statement: each statement more would cost a tenth of the whole.
  return exists (
    select from recoup.error e
     where e.error_table = any(array(select b from recoup.each_blocking_table() b)) and e.outreach_id = entity
       and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null);
end $$;
comment on function recoup.is_blocked(uuid) is
'Whether a blocking table holds an error of this entity that is to be retried, or is parked.';

create or replace function recoup.blocking_errors(outreach_ids uuid[]) returns setof recoup.error
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  blocking constant text[] := recoup.blocking_tables();
begin
  return query
    select e.* from recoup.error e
     where e.error_table = any(blocking) and e.outreach_id = any(outreach_ids)
       and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null;
end $$;
comment on function recoup.blocking_errors(uuid[]) is 'The errors that keep these entities from moving on.';

create or replace function recoup.blocked_locking(outreach_ids uuid[]) returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  blocking text[];
begin
  perform recoup.require_read_committed('The promotion gate');
  -- In order, against deadlocks. The look is a statement of its own: its snapshot is younger than the wait.
  perform pg_advisory_xact_lock(7701, b.bucket)
     from (select distinct recoup.entity_bucket(o) as bucket
             from unnest(outreach_ids) o where o is not null order by 1) b;
  blocking := recoup.blocking_tables();
  return (
    select coalesce(array_agg(distinct e.outreach_id), '{}') from recoup.error e
     where e.error_table = any(blocking) and e.outreach_id = any(outreach_ids)
       and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null);
end $$;
comment on function recoup.blocked_locking(uuid[]) is
'Those of the entities that are blocked. Errors of all of them wait until this transaction is over.';

create or replace function recoup.is_blocked_locking(outreach_id uuid) returns boolean
language sql volatile as $$ select recoup.blocked_locking(array[outreach_id]) <> '{}' $$;
comment on function recoup.is_blocked_locking(uuid) is
'Whether an entity is blocked. Its errors wait until this transaction is over: what is promoted in it passes none.';
