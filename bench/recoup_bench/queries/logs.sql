-- name: append_events
-- A page of a log in one transaction. The guard is off.
insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation,
                              attempt_id, actor_id, authority)
select recoup.new_id(), 'ATTEMPT', 'START', 'bench', 'system', t.now_, i.incarnation, recoup.new_id(), 'bench',
       'recoup_gate'
  from generate_series(1, %(rows)s::integer), (select clock_timestamp() as now_) t,
       (select max(incarnation) as incarnation from recoup.incarnation) i;

-- name: page
-- The usual query, which loses late commits.
select seq, air_event_id, entity_id, event_type, reason_code, batch_id, payload_ref, actor, actor_id, attempt_id,
       event_timestamp
  from cl.gate_zero_air where seq > %(after)s order by seq limit %(limit)s;

-- name: last_seq
select coalesce(max(seq), 0) from cl.gate_zero_air;

-- name: seal
-- The next block, or no row when everything settled is sealed.
select s.rows from recoup.seal_next('cl.gate_zero_air', 2, %(most)s) s;

-- name: digest
select count(*),
       sha256(string_agg(sha256(convert_to(recoup.canon_gate_zero_air_2(l), 'UTF8')), ''::bytea order by l.seq))
  from cl.gate_zero_air l where l.seq > %(after)s and l.seq <= %(last)s;
