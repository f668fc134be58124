-- The policy on recovery, for decisions in the database: read once per statement and passed on.

create or replace function recovery.policy() returns jsonb
language sql stable as $$ select p.figures -> 'recovery' from recoup.policy p order by p.version desc limit 1 $$;
comment on function recovery.policy() is 'The section on recovery of the active policy.';

create or replace function recovery.gates() returns jsonb
language sql stable as $$
  select p.figures -> 'recovery' || jsonb_build_object(
           'paused', coalesce((select jsonb_agg(case h.scope when 'global' then '*' else h.scope_id end)
                                 from recoup.pause h
                                where h.status = 'PAUSED'
                                  and (h.scope in ('global', 'action')
                                       or h.scope = 'table' and h.scope_id = 'recovery.candidate')), '[]'))
    from recoup.policy p order by p.version desc limit 1
$$;
comment on function recovery.gates() is
'The section on recovery of the active policy, with the actions that are paused (* or a table: all of them).';

create or replace function recovery.leases_expire() returns boolean
language sql stable as $$
  -- A simulated clock that was moved leaves every heartbeat behind.
  select not exists (
    select from recoup.clock c, recoup.worker w
     where c.status = 'simulated' and w.status = 'running' and w.heartbeat_at < recoup.now())
$$;
comment on function recovery.leases_expire() is
'Whether leases expire now: not after a simulated clock moved, until every running worker has sent a heartbeat.';

create or replace function recovery.applicable(action_type text, subject_kind text) returns boolean
language sql immutable as $$
  -- An intake is verified by Gate Zero and nothing else.
  select case action_type
    when 'retry' then true
    when 'notify' then true
    when 'manual' then true
    when 'skip' then true
    when 'fallback' then subject_kind <> 'intake'
    when 'circuit_breaker' then true
    when 'reconfigure' then true
    when 'rollback' then true
    when 'escalate' then true
    else false end
$$;
comment on function recovery.applicable(text, text) is
'Whether actions of a type can be executed for subjects of a kind.';

create or replace function recovery.makes(action_type text, subject_kind text, parameters jsonb default null)
returns text
language sql immutable as $$
  select case
    when action_type = 'retry' and subject_kind <> 'outside' then subject_kind
    -- What is ours waits behind the breaker to be tried again: only that shows whether the failure is gone.
    when action_type = 'circuit_breaker'
      then case subject_kind when 'outside' then 'breaker' else subject_kind end
    when action_type = 'notify' then 'delivery'
    when action_type = 'manual' then 'task'
    when action_type = 'skip' then 'nothing'
    when action_type = 'escalate' then case subject_kind when 'error' then 'nothing' else 'task' end
    when action_type = 'fallback' and subject_kind in ('error', 'run', 'partition') then subject_kind
    -- What is changed here and has a subject here is tried with it: only that shows whether the failure is gone.
    when action_type = 'reconfigure' and parameters ? 'key' or action_type = 'rollback' and not parameters ? 'action'
      then case subject_kind when 'outside' then 'nothing' else subject_kind end end
$$;
comment on function recovery.makes(text, text, jsonb) is
'What the effect of an action makes in this database and then awaits; nothing: it awaits nothing; null: it is outside.';

create or replace function recovery.served_as(action_name text, action_type text, parameters jsonb) returns text
language sql immutable as $$
  select case when action_type = 'rollback' and parameters ? 'action' then 'undo ' || (parameters ->> 'action')
    else action_name end
$$;
comment on function recovery.served_as(text, text, jsonb) is
'The name under which an executor serves an action outside of this database: of its undoing, undo and the action.';

create or replace function recovery.lacks(action_type text, subject_kind text, parameters jsonb) returns text
language sql immutable as $$
  select case
    when action_type = 'reconfigure' and (subject_kind <> 'outside' or parameters ? 'key') then case
      when (jsonb_typeof(parameters -> 'key') = 'string' and parameters ->> 'key' ~ '^[a-z][a-z0-9_.-]{0,99}$')
           is not true then 'key'
      when not parameters ? 'value' then 'value' end
    when action_type = 'fallback' and subject_kind <> 'outside' and not parameters ? 'alternative' then 'alternative'
    when action_type = 'notify' then case
      when (jsonb_typeof(parameters -> 'route') = 'string'
            and octet_length(parameters ->> 'route') between 1 and 60) is not true then 'route' end
    when action_type = 'circuit_breaker' and parameters ? 'breaker' then case
      when (jsonb_typeof(parameters -> 'breaker') = 'string'
            and octet_length(parameters ->> 'breaker') between 1 and 500) is not true then 'breaker' end
    when action_type in ('escalate', 'manual') then case
      -- An error goes to the owner of its next tier, unless another one is given; and a tier has no due time.
      when (action_type <> 'escalate' or subject_kind <> 'error' or parameters ? 'owner')
           and (jsonb_typeof(parameters -> 'owner') = 'string'
                and octet_length(parameters ->> 'owner') between 1 and 500) is not true then 'owner'
      when not (action_type = 'escalate' and subject_kind = 'error')
           and (jsonb_typeof(parameters -> 'due_hours') = 'number'
                and parameters ->> 'due_hours' ~ '^[1-9][0-9]{0,3}$') is not true then 'due_hours' end
    when action_type = 'rollback' and (parameters ->> 'undoes' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
         is not true then 'undoes' end
$$;
comment on function recovery.lacks(text, text, jsonb) is
'What an action has to be given for a subject of a kind and is not, or is not usable; null: nothing.';

create or replace view recovery.action as
select a.key as action_name, p.version as policy_version, a.value ->> 'type' as action_type,
       case when a.value ->> 'type' in ('escalate', 'notify', 'manual', 'skip') then 'compensating'
         else 'corrective' end
         as kind,
       (a.value ->> 'is_automated')::boolean as is_automated,
       (a.value ->> 'requires_approval')::boolean as requires_approval,
       a.value -> 'parameters' as parameters, (a.value ->> 'cost')::integer as cost,
       (a.value ->> 'timeout_s')::integer as timeout_s
  from recoup.policy p cross join lateral jsonb_each(p.figures -> 'recovery' -> 'actions') a;
comment on view recovery.action is
'The catalogue of actions, for every version of the policy. It is the policy itself, so it cannot differ from it.';
comment on column recovery.action.action_name is 'Name of the action.';
comment on column recovery.action.policy_version is 'The policy that has it.';
comment on column recovery.action.action_type is
'retry, fallback, circuit_breaker, reconfigure, rollback, escalate, notify, manual or skip.';
comment on column recovery.action.kind is 'corrective: fixes the problem; compensating: manages its impact.';
comment on column recovery.action.is_automated is 'Whether it may start without a person, if all other gates allow it.';
comment on column recovery.action.requires_approval is 'Whether a person has to approve it.';
comment on column recovery.action.parameters is 'What it is given, unless a candidate has its own.';
comment on column recovery.action.cost is 'Units that it takes from its scope.';
comment on column recovery.action.timeout_s is 'Seconds that it may take.';
grant select on recovery.action to recoup_reader;
