-- Evaluations of rules: what failed in them.

alter table recovery.evaluation add column errors jsonb check (jsonb_typeof(errors) = 'object');
grant insert (errors) on recovery.evaluation to recoup_rule_engine;
