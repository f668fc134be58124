-- name: page
-- What is written before somebody notices that late commits are lost.
select seq, air_event_id, entity_id, event_type, reason_code, batch_id, payload_ref, actor, actor_id, attempt_id, event_timestamp
  from cl.gate_zero_air
 where seq > %(after)s
 order by seq
 limit %(limit)s;
