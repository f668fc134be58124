-- What recording needs besides recoup.record_errors.

-- name: figures_in_force
-- And whether this transaction applied it, and may still roll it back.
select p.version, (p.figures -> 'errors')::text, p.xid is not distinct from pg_current_xact_id_if_assigned()
  from recoup.policy p order by p.version desc limit 1;

-- name: hold
select recoup.hold_entities(%(entities)s::uuid[]);

-- name: do_not_wait
-- An error of an entity that another transaction promotes is refused at once.
select set_config('recoup.promotion_wait', 'none', true);
