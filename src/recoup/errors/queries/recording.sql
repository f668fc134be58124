-- What recording needs: the policy in force, and the one call.

-- name: figures_in_force
-- And whether it is this transaction's own, which may yet be rolled back.
select p.version, (p.figures -> 'errors')::text, p.xid is not distinct from pg_current_xact_id_if_assigned() from recoup.policy p order by p.version desc limit 1;

-- name: hold
select recoup.hold_promotions((select array_agg(distinct recoup.entity_bucket(e)) from unnest(%(entities)s::uuid[]) e where e is not null));

-- name: record
select recoup.record_errors(%(places)s::integer[], %(entities)s::uuid[], %(messages)s::text[], %(signatures)s::text[],
  %(payloads)s::text[]::jsonb[], %(later)s::integer[], %(tables)s::text[], %(codes)s::text[], %(severities)s::text[], %(categories)s::text[],
  %(dispositions)s::text[], %(tiers)s::text[], %(days)s::integer[], %(budgets)s::integer[], %(park_reasons)s::text[], %(deciders)s::text[],
  %(clamps)s::text[], %(version)s);
