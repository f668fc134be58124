-- What a decision is about.

create or replace function recovery.decision_digest(c recovery.candidate) returns text
language sql stable as $$
  select left(encode(sha256(convert_to(array[c.candidate_id::text, c.action_name, c.parameters::text, c.scope_id::text,
    c.cost::text, c.confidence::text]::text, 'UTF8')), 'hex'), 16)
$$;
comment on function recovery.decision_digest(recovery.candidate) is
'Digest of what a person decides on: candidate, action, parameters, scope, cost and confidence.';
