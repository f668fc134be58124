-- The recorder of deliveries: every birth and move, in recoup.delivery_event.

create or replace function recoup.record_deliveries() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- A join by hash is right for one row and for a hundred thousand, so its plan may be kept.
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
  why          constant text := nullif(current_setting('recoup.reason', true), '');
begin
  perform recoup.require_table(tg_relid, 'recoup.delivery');
  if tg_op = 'INSERT' then
    insert into recoup.delivery_event (
      incarnation, logged_at, delivery_id, route, to_status, attempts, next_try_at, reason, actor, actor_id, authority)
    select incarnation_, n.updated_at, n.delivery_id, n.route, n.status, n.attempts, n.next_try_at, why, kind, id, role_
      from new_rows n;
    return null;
  end if;
  insert into recoup.delivery_event (
    incarnation, logged_at, delivery_id, route, from_status, to_status, attempts, next_try_at, outcome, token, reason,
    actor, actor_id, authority)
  select incarnation_, n.updated_at, n.delivery_id, n.route, o.status, n.status, n.attempts, n.next_try_at, n.outcome,
         case when n.attempts > o.attempts then n.token end,
         case when n.outcome in ('FAILED', 'LAPSED') then n.last_failure else why end, kind, id, role_
    from new_rows n join old_rows o on o.delivery_id = n.delivery_id;
  return null;
end $$;
revoke execute on function recoup.record_deliveries() from public;
comment on function recoup.record_deliveries() is 'The event of a step of a delivery: queued, tried or cancelled.';
