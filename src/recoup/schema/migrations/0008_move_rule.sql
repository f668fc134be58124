-- A domain's own rule of a move is judged in the guard's pass, so the declaration names it.
alter table recoup.lifecycle add column move_rule jsonb;
comment on column recoup.lifecycle.move_rule is
'Functions that judge a move by its old and new row: broken, refusal, policy, gathers, then; null: none.';
-- The guard has taken its place.
drop function if exists recoup.rule_error_moves() cascade;
-- Nothing looks at the call stack any more.
drop function if exists recoup.called_by(text, text), recoup.made_through(recoup.lifecycle_step, text),
  recoup.is_consequence(recoup.lifecycle_step, text);
