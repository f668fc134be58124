-- Deliveries of alerts name their alert. What cannot be delivered by its route is sent once by another one.

alter table recoup.delivery add column alert_id uuid, add column instead_of uuid;
alter table recoup.delivery drop constraint delivery_origin_check;
alter table recoup.delivery add constraint delivery_origin_check
  check (origin in ('candidate', 'operator', 'alert', 'heartbeat', 'fallback'));
alter table recoup.delivery add constraint delivery_alert check ((origin = 'alert') = (alert_id is not null));
alter table recoup.delivery add constraint delivery_instead check ((origin = 'fallback') = (instead_of is not null));
create index delivery_alert on recoup.delivery (alert_id) where alert_id is not null;
-- This prevents a second one, whatever happens to the first.
create unique index delivery_stands_in on recoup.delivery (instead_of) where instead_of is not null;
comment on column recoup.delivery.origin is 'Why it was queued: candidate, operator, alert, heartbeat or fallback.';
comment on column recoup.delivery.alert_id is 'The alert that it tells of.';
comment on column recoup.delivery.instead_of is 'The dead delivery that it replaces, by the fallback route.';
-- Its births are consequences, which the owner writes: by hand the guard refuses them.
grant insert (delivery_id, route, subject, body, about, dedup_key, origin, alert_id)
  on recoup.delivery to recoup_error_worker;
