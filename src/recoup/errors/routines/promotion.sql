-- The promotion gate: may this entity move on?
--
-- Without the lock, an error that commits a moment later is not seen. With the lock, within the transaction that
-- promotes, every error of the entity is either seen, or waits until the promotion has committed.

create or replace function recoup.require_entities(entities uuid[]) returns void
language plpgsql stable parallel safe as $$
begin
  if entities is null or array_position(entities, null) is not null then
    raise exception using errcode = 'RC061', message = 'The entity is null.',
      hint = 'Give its id. A missing id must not pass the gate.', detail = '{}';
  end if;
end $$;
comment on function recoup.require_entities(uuid[]) is 'Refuses entities that are null.';

create or replace function recoup.is_blocked(outreach_id uuid) returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  entity constant uuid := outreach_id;
begin
  if entity is null then
    perform recoup.require_entities(null);
  end if;
  if coalesce(current_setting('recoup.hub', true), '') <> '' then
    return exists (select from recoup.blocking_owners(array[entity]));
  end if;
  -- The policy is read within the statement: another statement would cost a tenth of the whole.
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
  perform recoup.require_entities(outreach_ids);
  return query
    select e.* from recoup.error e
     where e.error_table = any(blocking) and e.outreach_id = any(outreach_ids)
       and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null;
end $$;
comment on function recoup.blocking_errors(uuid[]) is 'The errors that block these entities.';

create or replace function recoup.blocking_owners(outreach_ids uuid[])
  returns table (outreach_id uuid, owners text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  hub    constant text := coalesce(current_setting('recoup.hub', true), '');
  tables constant jsonb := recoup.error_policy() -> 'tables';
begin
  -- Of all tables: where another hub's blocks, an entity is not free. After an error the setting is what it was, too.
  perform set_config('recoup.hub', '', true);
  return query
    select e.outreach_id, array_agg(distinct coalesce(tables -> e.error_table ->> 'owner', ''))
      from recoup.blocking_errors(outreach_ids) e group by e.outreach_id;
  perform set_config('recoup.hub', hub, true);
end $$;
comment on function recoup.blocking_owners(uuid[]) is
'Which of these entities are blocked, and the owners of what blocks each: all that a hub learns of others.';

create or replace function recoup.blocked_locking(outreach_ids uuid[]) returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  blocking text[];
begin
  perform recoup.require_read_committed('The promotion gate');
  perform recoup.require_entities(outreach_ids);
  perform recoup.hold_for_promotion(outreach_ids);
  -- A statement of its own: its snapshot is younger than the wait.
  if coalesce(current_setting('recoup.hub', true), '') <> '' then
    return array(select o.outreach_id from recoup.blocking_owners(outreach_ids) o order by 1);
  end if;
  blocking := recoup.blocking_tables();
  return (
    select coalesce(array_agg(distinct e.outreach_id), '{}') from recoup.error e
     where e.error_table = any(blocking) and e.outreach_id = any(outreach_ids)
       and e.disposition in ('RETRY', 'PARKED') and e.archived_at is null);
end $$;
comment on function recoup.blocked_locking(uuid[]) is
'Those of the entities that are blocked. Errors of all of them wait until this transaction ends.';

create or replace function recoup.is_blocked_locking(outreach_id uuid) returns boolean
language sql volatile as $$ select recoup.blocked_locking(array[outreach_id]) <> '{}' $$;
comment on function recoup.is_blocked_locking(uuid) is
'Whether an entity is blocked. Its errors wait until this transaction ends.';

create or replace function recoup.closes_error(event_type text) returns boolean
language sql immutable parallel safe as $$
  select event_type in ('SUCCEEDED', 'RESOLVED', 'CLEARED', 'SUPERSEDED', 'EXPIRED', 'RETIRED', 'ARCHIVED')
$$;
comment on function recoup.closes_error(text) is 'Whether an error is closed from this event on, and blocks nothing.';

create or replace function recoup.blocking_errors_at(outreach_ids uuid[], at_ timestamptz)
  returns table (outreach_id uuid, error_table text, error_id bigint, status text, since timestamptz, owner text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  tables constant jsonb := (select p.figures #> '{errors,tables}' from recoup.policy p
                             where p.applied_at <= at_ order by p.version desc limit 1);
begin
  perform recoup.require_entities(outreach_ids);
  -- A minute to spare: what closed an error may be logged a moment after the time that its row has.
  return query
    select x.outreach_id, x.error_table, x.error_id, v.to_status, x.created_at, tables -> x.error_table ->> 'owner'
      from ((select e.outreach_id, e.error_table, e.error_id, e.created_at from recoup.error e
              where e.outreach_id = any(outreach_ids) and e.archived_at is null)
            union all
            (select e.outreach_id, e.error_table, e.error_id, e.created_at from recoup.error e
              where e.outreach_id = any(outreach_ids) and e.archived_at is not null
                and e.archived_at > at_ - interval '1 minute')
            union all
            (select a.outreach_id, a.error_table, a.error_id, a.created_at from recoup.error_archive a
              where a.outreach_id = any(outreach_ids) and a.archived_at > at_ - interval '1 minute')) x
     cross join lateral (
       select v.to_status, v.disposition, v.event_type from recoup.error_event v
        where v.error_id = x.error_id and v.error_table = x.error_table and v.logged_at <= at_
        order by v.seq desc limit 1) v
     where (tables -> x.error_table ->> 'blocks')::boolean and v.disposition in ('RETRY', 'PARKED')
       and not recoup.closes_error(v.event_type)
     order by x.outreach_id, x.created_at, x.error_id;
end $$;
comment on function recoup.blocking_errors_at(uuid[], timestamptz) is
'The errors that blocked these entities at a time, by the log and the policy of that time; not those of archives that
were dropped.';

create or replace function recoup.blocking_owners_at(outreach_ids uuid[], at_ timestamptz)
  returns table (outreach_id uuid, owners text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  hub constant text := coalesce(current_setting('recoup.hub', true), '');
begin
  -- Of all tables, as recoup.blocking_owners.
  perform set_config('recoup.hub', '', true);
  return query
    select e.outreach_id, array_agg(distinct coalesce(e.owner, ''))
      from recoup.blocking_errors_at(outreach_ids, at_) e group by e.outreach_id;
  perform set_config('recoup.hub', hub, true);
end $$;
comment on function recoup.blocking_owners_at(uuid[], timestamptz) is
'Which of these entities were blocked at a time, and the owners of what blocked each: all that a hub learns of others.';
