create or replace function parcels.record_steps() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'parcels.parcel');
  if tg_op = 'INSERT' then
    insert into parcels.parcel_event (incarnation, logged_at, parcel_id, to_status, actor_id, authority)
    select recoup.present_incarnation(), n.moved_at, n.parcel_id, n.status, recoup.acting_id(), recoup.acting_role()
      from new_rows n;
  else
    execute 'insert into parcels.parcel_event
               (incarnation, logged_at, parcel_id, from_status, to_status, outcome, token, reason, actor_id, authority)
             select recoup.present_incarnation(), n.moved_at, n.parcel_id, o.status, n.status,
                    case when n.sorts > o.sorts then n.outcome end, case when n.sorts > o.sorts then n.token end,
                    nullif(current_setting(''recoup.reason'', true), ''''), recoup.acting_id(), recoup.acting_role()
               from new_rows n join old_rows o on o.parcel_id = n.parcel_id';
  end if;
  return null;
end $$;
revoke execute on function parcels.record_steps() from public;
