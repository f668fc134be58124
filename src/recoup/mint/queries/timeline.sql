-- Identities on a time line: by their intakes.

-- name: of_companies
select c.sovereign_company_id::text from cl.company_identity c where c.intake_id = any(%(intakes)s::uuid[]);

-- name: companies_of
select c.intake_id::text from cl.company_identity c where c.sovereign_company_id = any(%(identities)s::uuid[]);

-- name: statuses
select c.sovereign_company_id::text, c.intake_id, c.company_name, c.company_domain, c.minted_at
  from cl.company_identity c where c.sovereign_company_id = any(%(identities)s::uuid[]) and c.minted_at <= %(until)s;

-- name: events
select c.sovereign_company_id::text, m.seq, m.event_timestamp, m.event_type, m.entity_id, m.actor, m.actor_id,
       m.authority
  from unnest(%(identities)s::uuid[]) g (id)
 cross join lateral (select c.* from cl.company_identity c where c.sovereign_company_id = g.id limit 1) c
 cross join lateral (
   select m.* from cl.sovereign_mint_air m
    where m.entity_id = c.intake_id and m.event_timestamp <= %(until)s
      and (m.event_timestamp, m.seq) <= (%(before_at)s::timestamptz, %(before_seq)s::bigint) limit 1) m
 order by m.event_timestamp desc, m.seq desc limit %(limit)s;
