-- The recorder of alerts: every birth and move, in recoup.alert_event.

create or replace function recoup.record_alerts() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  incarnation_ constant integer := recoup.present_incarnation();
  kind         constant text := recoup.acting_kind();
  id           constant text := recoup.acting_id();
  role_        constant text := recoup.acting_role();
begin
  perform recoup.require_table(tg_relid, 'recoup.alert');
  -- A move of an alert is always from firing.
  insert into recoup.alert_event (incarnation, logged_at, alert_id, rule, key, from_status, to_status, value, worst,
                                  notices, routes, unsent, actor, actor_id, authority)
  select incarnation_, n.updated_at, n.alert_id, n.rule, n.key, case when tg_op = 'UPDATE' then 'firing' end, n.status,
         n.last_value, n.worst_value, n.notices, n.routes, n.unsent, kind, id, role_
    from new_rows n;
  return null;
end $$;
revoke execute on function recoup.record_alerts() from public;
comment on function recoup.record_alerts() is 'The event of an alert: it fired, notified again, or ended.';
