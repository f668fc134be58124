-- name: mint
-- Skips what is already minted, and what is not authorised: the rule would refuse the whole page for it.
with t as materialized (select recoup.now() as now_)
insert into cl.company_identity (intake_id, company_name, company_domain, minted_at)
select i.intake_id, i.company_name, i.company_domain, t.now_
  from t, unnest(%(intakes)s::uuid[]) g (intake_id)
 cross join lateral (select i.intake_id, i.company_name, i.company_domain from cl.gate_zero_intake i
                      where i.intake_id = g.intake_id and i.status || '' = 'AUTHORIZED' limit 1) i
on conflict (intake_id) do nothing
returning sovereign_company_id, intake_id, company_name, company_domain, minted_at;

-- name: mint_lag
-- The first AUTH that the mint has not seen. Not counted: the rest of a page that it is reading, and late
-- commits, which are read next and would need a search.
with place as materialized (
  select coalesce(s.since, '1:1:'::pg_snapshot) as since, coalesce(s.incarnation, 1) as incarnation,
         newest.incarnation as present
    from (select max(i.incarnation) as incarnation from recoup.incarnation i) newest
    left join recoup.subscription s on s.log = %(log)s and s.name = %(name)s)
select extract(epoch from recoup.now() - min(first.event_timestamp))::float8
  from place
 cross join lateral (
   (select l.event_timestamp from cl.gate_zero_authorization l
     where l.incarnation = place.incarnation and l.xid >= pg_snapshot_xmax(place.since) order by l.xid limit 1)
    union all
   (select l.event_timestamp from cl.gate_zero_authorization l
     where place.incarnation < place.present and l.incarnation > place.incarnation order by l.seq limit 1)) first;

-- name: find
select c.sovereign_company_id, c.intake_id, c.company_name, c.company_domain, c.minted_at
  from cl.company_identity c
 where c.sovereign_company_id between %(low)s and %(high)s
 order by c.sovereign_company_id limit %(limit)s;

-- name: identities
-- Newest first, in the order of the log.
select c.sovereign_company_id, c.intake_id, c.company_name, c.company_domain, c.minted_at
  from cl.sovereign_mint_air m
 cross join lateral (select c.* from cl.company_identity c where c.intake_id = m.entity_id limit 1) c
 where m.seq < case when %(after)s::uuid is null then 9223372036854775807
                     else (select l.seq from cl.company_identity p
                             join cl.sovereign_mint_air l on l.entity_id = p.intake_id
                            where p.sovereign_company_id = %(after)s::uuid) end
 order by m.seq desc
 limit %(limit)s;

-- name: of_intakes
select c.sovereign_company_id, c.intake_id, c.company_name, c.company_domain, c.minted_at
  from cl.company_identity c where c.intake_id = any(%(intakes)s::uuid[]) order by c.minted_at, c.intake_id;

-- name: minted_already
select count(*) from cl.company_identity c where c.intake_id = any(%(intakes)s::uuid[]);
