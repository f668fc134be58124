-- What a decision is about.

create or replace function recovery.decision_digest(c recovery.candidate) returns text
language sql stable as $$
  select left(encode(sha256(convert_to(array[c.candidate_id::text, c.action_name, c.parameters::text, c.scope_id::text,
    c.cost::text, c.confidence::text]::text, 'UTF8')), 'hex'), 16)
$$;
comment on function recovery.decision_digest(recovery.candidate) is
'Digest of what a person decides on: candidate, action, parameters, scope, cost and confidence.';

create or replace function recovery.hold_scopes(ids uuid[]) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  -- As the owner: the reviewer has no right to change scopes. In the order of claims: candidates first, then scopes by
  -- id.
  select from recovery.scope s where s.scope_id = any(ids) order by s.scope_id for no key update
$$;
revoke execute on function recovery.hold_scopes(uuid[]) from public;
grant execute on function recovery.hold_scopes(uuid[]) to recoup_reviewer;
comment on function recovery.hold_scopes(uuid[]) is
'Locks scopes until the transaction ends: two reviewers together approve no more than what is left of one.';
