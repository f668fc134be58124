-- What recording needs beside its one call (recoup.record_errors).

-- name: figures_in_force
-- And whether it is this transaction's own, which may yet be rolled back.
select p.version, (p.figures -> 'errors')::text, p.xid is not distinct from pg_current_xact_id_if_assigned()
  from recoup.policy p order by p.version desc limit 1;

-- name: hold
select recoup.hold_entities(%(entities)s::uuid[]);

-- name: do_not_wait
-- For promotions in the way: an error of theirs is refused at once.
select set_config('recoup.promotion_wait', 'none', true);
