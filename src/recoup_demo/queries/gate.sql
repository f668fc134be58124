-- What the demo of the gate shows. Its tables are small.

-- name: longest_recovery
-- An intake whose last attempt passed.
select a.intake_id from cl.gate_zero_attempt a
 where a.attempt_number = 3 and a.status = 'passed'
 order by a.opened_at, a.intake_id
 limit 1;
