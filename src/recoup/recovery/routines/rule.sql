-- The rules of the policy as a table, by version: the policy itself, so that it cannot differ from it.

create or replace view recovery.rule as
select r.key as rule_name, p.version as policy_version, r.value ->> 'when' as condition,
       r.value ->> 'action' as recommended_action, (r.value ->> 'weight')::real as weight,
       (r.value ->> 'times')::integer as times, r.value -> 'parameters' as parameters,
       r.value ->> 'description' as description
  from recoup.policy p cross join lateral jsonb_each(p.figures -> 'recovery' -> 'rules') r;
comment on view recovery.rule is
'The rules, for every version of the policy. It is the policy itself, so it cannot differ from it.';
comment on column recovery.rule.rule_name is 'Name of the rule.';
comment on column recovery.rule.policy_version is 'The policy that has it.';
comment on column recovery.rule.condition is 'When it recommends its action: a condition in CEL.';
comment on column recovery.rule.recommended_action is 'The action that it recommends.';
comment on column recovery.rule.weight is 'How strongly, from 0 to 1.';
comment on column recovery.rule.times is 'How often its action may be tried for one failure.';
comment on column recovery.rule.parameters is 'What the action is given, in addition to its own.';
comment on column recovery.rule.description is 'What it is for.';
grant select on recovery.rule to recoup_reader;
