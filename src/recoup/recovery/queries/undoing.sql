-- What a rollback is to undo.

-- name: undone
select c.candidate_id, c.status, c.action_name, c.action_type, c.subject_kind, c.parameters, c.failure_match_id,
       c.effect_made_at is not null as effect_made, c.result -> 'undo' is not null as has_undo,
       coalesce(c.result -> 'undo', c.result) as record, m.subject_ref,
       m.ended_at is null as is_open,
       (select u.candidate_id from recovery.candidate u where u.undoes = c.candidate_id limit 1) as undone_by
  from recovery.candidate c join recovery.failure_match m on m.failure_match_id = c.failure_match_id
 where c.candidate_id = %(candidate)s;
