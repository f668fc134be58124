-- The invariants of identities and of the mint's AIR log, as queries for the rows that break them. Rows as in Gate
-- Zero's invariants.sql: the first column, breaks, is the id of an invariant of invariants.py.

-- name: columns
-- Another invariant compares Gate Zero's AIR with the document.
with found as (
  select c.oid, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
         row_number() over (partition by c.oid order by a.attnum) as place
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.oid in (to_regclass('cl.gate_zero_air'), to_regclass('cl.sovereign_mint_air')))
select 'mint/air/columns' as breaks, p.place, g.name as gate_name, g.type as gate_type, g.nullable as gate_nullable,
       m.name as found_name, m.type as found_type, m.nullable as found_nullable
  from generate_series(1, 11) p (place)
  left join found g on g.place = p.place and g.oid = to_regclass('cl.gate_zero_air')
  left join found m on m.place = p.place and m.oid = to_regclass('cl.sovereign_mint_air')
 where m.name is null or (g.name, g.type, g.nullable) is distinct from (m.name, m.type, m.nullable)

-- name: air_rows
-- Rules for a single row of cl.sovereign_mint_air.
select b.breaks, e.air_event_id, e.entity_type, e.entity_id, e.stage_id, e.process_id, e.event_type, e.reason_code,
       e.payload_ref, e.actor, e.event_timestamp, e.seq, e.sovereign_company_id, e.authority
  from (select e.*, array_remove(array[
            case when num_nulls(e.air_event_id, e.entity_type, e.entity_id, e.stage_id, e.process_id, e.event_type,
                                e.reason_code, e.event_timestamp, e.sovereign_company_id) > 0
                 then 'mint/air/not-null' end,
            case when (e.entity_type, e.stage_id, e.process_id, e.event_type, e.reason_code)
                        <> ('intake', 'SOVEREIGN_MINT', 'MINT_SOVEREIGN_IDENTITY', 'MINT', 'IDENTITY_MINTED')
                 then 'mint/air/fixed-identifiers' end,
            case when e.actor is null or e.actor not in ('system', 'ai', 'human') then 'mint/air/actor' end,
            case when e.authority is distinct from 'recoup_mint' then 'laws/L1/mint-authority' end
          ], null) as broken
          from cl.sovereign_mint_air e) e
 cross join unnest(e.broken) b (breaks)
 where e.broken <> '{}'

-- name: unique_event_id
select 'mint/air/unique-event-id' as breaks, air_event_id, count(*) as rows
  from cl.sovereign_mint_air group by air_event_id having count(*) > 1

-- name: acknowledged
-- What the mint has already read of the log: all of earlier clusters, what its snapshot shows, and of the range that it
-- reads the pages up to after_seq. AUTH names the original intake, REENTER the new one.
with behind as (
  select a.air_event_id, a.entity_id, a.attempt_id, a.seq, a.event_timestamp
    from recoup.subscription s
    join cl.gate_zero_air a
      on a.incarnation < s.incarnation
      or a.incarnation = s.incarnation
         and (pg_visible_in_snapshot(a.xid, s.since)
              or a.seq <= s.after_seq and (s.until is null or pg_visible_in_snapshot(a.xid, s.until)))
   where s.log = 'cl.gate_zero_authorization' and s.name = 'mint' and a.event_type = 'AUTH'),
reentered as (
  select e.attempt_id, e.payload_ref from cl.gate_zero_air e where e.event_type = 'REENTER')
select 'gate_zero_air/8/each-auth-is-minted' as breaks, b.air_event_id, b.entity_id as intake_id,
       r.payload_ref as reentered_as, b.seq, b.event_timestamp
  from behind b
  left join reentered r on r.attempt_id = b.attempt_id
  left join cl.company_identity c on 'intake:' || c.intake_id = coalesce(r.payload_ref, 'intake:' || b.entity_id)
 where c.intake_id is null

-- name: identities
-- Every identity with its MINT, in both directions, its intake and the AUTH of the lineage. A minute is allowed between
-- AUTH and MINT: a server's clock may be set back, and their order is that of seq.
with authorised as (
  select a.entity_id, min(a.seq) as seq, min(a.event_timestamp) as event_timestamp
    from cl.gate_zero_air a where a.event_type = 'AUTH' group by a.entity_id),
reentered as (
  select i.reentered_from from cl.gate_zero_intake i where i.reentered_from is not null group by i.reentered_from),
held as (
  select c.sovereign_company_id, c.intake_id, c.company_name, c.company_domain, c.minted_at, i.status, i.batch_id,
         i.reentered_from, i.company_name as its_name, i.company_domain as its_domain,
         r.reentered_from is not null as retry_passed, s.seq as auth_seq, s.event_timestamp as authorised_at,
         count(*) over (partition by coalesce(i.reentered_from, c.intake_id)) as in_lineage
    from cl.company_identity c
    left join cl.gate_zero_intake i on i.intake_id = c.intake_id
    left join authorised s on s.entity_id = coalesce(i.reentered_from, i.intake_id)
    left join reentered r on r.reentered_from = i.intake_id),
compared as (
  select h.*, h.sovereign_company_id is not null as here, m.air_event_id is not null as logged,
         m.entity_id as logged_intake_id, m.event_timestamp as logged_at, m.batch_id as logged_batch_id,
         m.payload_ref, m.seq, m.sovereign_company_id as logged_company_id,
         count(*) over (partition by coalesce(h.sovereign_company_id, m.sovereign_company_id)) as pairs
    from held h
    full join cl.sovereign_mint_air m on m.sovereign_company_id = h.sovereign_company_id)
select b.breaks, coalesce(x.sovereign_company_id, x.logged_company_id) as sovereign_company_id, x.intake_id,
       x.logged_intake_id, x.status, x.company_name, x.its_name, x.company_domain, x.its_domain, x.minted_at,
       x.logged_at, x.authorised_at, x.payload_ref, x.batch_id, x.logged_batch_id, x.reentered_from
  from (select x.*, array_remove(array[
            case when x.here and (x.status is distinct from 'AUTHORIZED' or x.auth_seq is null)
                 then 'gate_zero_air/8/minted-by-authorization' end,
            case when x.seq < x.auth_seq or x.minted_at < x.authorised_at - interval '1 minute'
                 then 'gate_zero_air/8/minted-after-auth' end,
            case when x.here and (x.company_name, x.company_domain) is distinct from (x.its_name, x.its_domain)
                 then 'gate_zero_air/8/data-stays' end,
            case when not x.here or not x.logged or x.pairs > 1 then 'gate_zero_air/8/emit-mint' end,
            case when x.here and (x.retry_passed or x.status = 'REENTER_SUCCEEDED')
                 then 'gate_zero_recovery/9/identity-on-new-intake' end,
            case when x.here and x.in_lineage > 1 then 'mint/identity/one-per-lineage' end,
            case when x.here and x.logged and (x.logged_intake_id, x.logged_at, x.payload_ref)
                        is distinct from (x.intake_id, x.minted_at, 'company:' || x.sovereign_company_id)
                 then 'mint/air/agrees-with-identity' end,
            case when x.here and x.logged and x.logged_batch_id is distinct from x.batch_id
                 then 'mint/air/batch-inherited' end,
            -- From the events: which, whose and when. Its data are those of the intake.
            case when not x.here or not x.logged or x.pairs > 1
                   or (x.intake_id, x.minted_at, x.company_name, x.company_domain)
                        is distinct from (x.logged_intake_id, x.logged_at, x.its_name, x.its_domain)
                 then 'rebuild/cl.company_identity' end
          ], null) as broken
          from compared x) x
 cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'
