-- name: last_seq
select coalesce(max(seq), 0) from cl.gate_zero_air;

-- name: seal
-- The next block, or no row when everything settled is sealed.
select s.rows from recoup.seal_next(%(log)s, 1, %(most)s) s;

-- name: digest
select count(*), sha256(string_agg(sha256(convert_to(recoup.canon_gate_zero_air_1(l), 'UTF8')), ''::bytea order by l.seq))
  from cl.gate_zero_air l
 where l.seq > %(after)s and l.seq <= %(last)s;
