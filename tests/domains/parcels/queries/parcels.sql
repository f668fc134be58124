-- name: groups
select p.city, p.status, count(*) as parcels from parcels.parcel p where p.city = %(city)s group by 1, 2 order by 1, 2;

-- name: chosen
select p.parcel_id::text as unit from parcels.parcel p where p.city = %(city)s order by p.parcel_id

-- name: ship
with held as materialized (select p.parcel_id, p.status from parcels.parcel p
                            where p.parcel_id = any(%(ids)s) order by p.parcel_id for no key update),
shipped as (update parcels.parcel p set status = 'SHIPPED', moved_at = recoup.now()
              from held h where p.parcel_id = h.parcel_id and h.status = 'SORTED')
select h.parcel_id, h.status from held h;

-- name: invariants
select 'parcels/moved' as breaks, p.parcel_id, p.moved_at from parcels.parcel p where p.moved_at > recoup.now()
