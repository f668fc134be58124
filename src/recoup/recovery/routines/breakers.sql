-- Breakers: opened for a dependency that is down. Claims ask them where they ask pauses.
--
-- What depends on a breaker is not claimed until open_until. Then one claim takes one unit as a probe, and the breaker
-- is half open under that unit's lease. How the unit ended is read from its own rows, by the next claim that comes by
-- or by a duty: well, and the breaker closes; badly or not in time, and it opens again for twice as long. So the end of
-- a unit waits for no breaker, and a worker that dies leaves nothing to do.

create or replace function recovery.breaker_terms(name_ text, policy jsonb default recovery.policy(),
  out parts text[], out wait_s integer, out max_wait_s integer)
language sql stable as $$
  -- One that the policy does not list is for whatever has its name.
  select case when b.listed is null then array['run_kind:' || name_, 'source:' || name_, 'table:' || name_]
    else array(select 'run_kind:' || k from jsonb_array_elements_text(b.listed -> 'run_kinds') k
               union all select 'source:' || k from jsonb_array_elements_text(b.listed -> 'sources') k
               union all select 'table:' || k from jsonb_array_elements_text(b.listed -> 'tables') k order by 1) end,
         coalesce(b.listed ->> 'wait_s', policy -> 'breaker' ->> 'wait_s')::integer,
         coalesce(b.listed ->> 'max_wait_s', policy -> 'breaker' ->> 'max_wait_s')::integer
    from (select policy -> 'breakers' -> name_ as listed) b
$$;
comment on function recovery.breaker_terms(text, jsonb) is
'What depends on a breaker and how long it stays open, as the active policy has it.';

create or replace function recovery.breaker_state(name_ text) returns jsonb
language sql stable as $$
  -- Probes and longer waits belong to the same opening.
  select coalesce(
    (select jsonb_build_object('status', 'open', 'opened_at', b.opened_at) from recovery.breaker b
      where b.name = name_ and b.status <> 'closed'), '{"status": "closed"}')
$$;
comment on function recovery.breaker_state(text) is 'Whether a breaker is open, and since when: what an undo compares.';

-- Claims --------------------------------------------------------------------------------------------------------------

create or replace function recovery.probe_end(subject_ text, unit_ text, token_ uuid) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Whether what the unit needs has answered: true or false; null: the unit has not ended.
  return case subject_
    when 'recoup.error' then (
      select v.event_type = 'SUCCEEDED' from recoup.error_event v
       where v.error_table = split_part(unit_, '/', 1) and v.error_id = split_part(unit_, '/', 2)::bigint
         and v.token = token_ and v.event_type in ('SUCCEEDED', 'FAILED', 'LAPSED') limit 1)
    -- A company that does not exist is an answer, too.
    when 'cl.gate_zero_attempt' then (
      select a.status = 'passed' or a.status = 'failed' and a.reason_code not in ('API_UNAVAILABLE', 'TIMEOUT')
        from cl.gate_zero_attempt a where a.attempt_id = unit_::uuid and a.status <> 'open')
    when 'recovery.run' then (
      select r.status = 'succeeded' from recovery.run r
       where r.run_id = unit_::uuid and r.status in ('succeeded', 'failed', 'crashed'))
    -- Published and not validated, it is dispatched again: that one waits for the breaker, too.
    when 'partitions.run' then (
      select r.status = 'accepted' from partitions.run r
       where r.run_id = unit_::uuid and (r.status in ('accepted', 'rejected', 'lost') or r.lease_until is null))
    else (select c.status = 'succeeded' from recovery.candidate c
           where c.candidate_id = unit_::uuid and c.finished_at is not null) end;
end $$;
comment on function recovery.probe_end(text, text, uuid) is
'How the unit that tries a breaker ended: true: well; null: it has not.';

create or replace function recovery.is_probing(subject_ text, unit_ text, token_ uuid, parts_ text[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case subject_
    when 'recoup.error' then exists (
      select from recoup.error_queue q
       where q.unit = split_part(unit_, '/', 2)::bigint and q.part = split_part(unit_, '/', 1) and q.token = token_
         and parts_ && array['table:recoup.error', 'table:' || q.part])
    when 'cl.gate_zero_attempt' then exists (
      select from cl.gate_zero_attempt a
       where a.attempt_id = unit_::uuid and a.token = token_ and a.status = 'open'
         and parts_ && '{table:cl.gate_zero_attempt,table:cl.gate_zero_intake,table:cl.gate_zero_recovery}')
    when 'recovery.run' then exists (
      select from recovery.run r
       where r.run_id = unit_::uuid and r.token = token_ and r.status = 'running'
         and parts_ && array['run_kind:' || r.kind, 'source:' || r.source, 'table:recovery.run'])
    when 'partitions.run' then exists (
      select from partitions.run r join partitions.schedule s on s.partition_id = r.partition_id
       where r.run_id = unit_::uuid and r.token = token_ and r.status in ('open', 'published')
         and parts_ && array['source:' || s.source, 'table:partitions.partition_state'])
    else exists (
      select from recovery.candidate c join recovery.incident i on i.incident_id = c.incident_id
       where c.candidate_id = unit_::uuid and c.token = token_ and c.status = 'executing'
         and parts_ && array['source:' || i.source]) end;
end $$;
comment on function recovery.is_probing(text, text, uuid, text[]) is
'Whether a unit is worked on under this token, and depends on one of these.';

create or replace function recovery.settle_probes(now_ timestamptz default recoup.now()) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  settled integer;
begin
  with ended as materialized (
    select b.name, coalesce(recovery.probe_end(b.probe_subject, b.probe_unit, b.probe_token), false) as good
      from recovery.breaker b
     where b.status = 'half_open'
       -- A claim of a hub does not see the units of others: that one has not ended is for those who see it to say.
       and (recovery.probe_end(b.probe_subject, b.probe_unit, b.probe_token) is not null
            or b.probe_until < now_ and recovery.leases_expire()
               and coalesce(current_setting('recoup.hub', true), '') = '')
     order by b.name
       for no key update skip locked)
  update recovery.breaker b
     set status = case when e.good then 'closed' else 'open' end,
         wait_s = case when e.good then b.wait_s else least(b.wait_s::bigint * 2, b.max_wait_s) end,
         open_until = case when e.good then b.open_until
                           else now_ + make_interval(secs => least(b.wait_s::bigint * 2, b.max_wait_s)) end,
         probe_subject = null, probe_unit = null, probe_token = null, probe_until = null,
         closed_at = case when e.good then now_ end, closed_by = case when e.good then 'probe' end
    from ended e where b.name = e.name;
  get diagnostics settled = row_count;
  return settled;
end $$;
comment on function recovery.settle_probes(timestamptz) is
'Closes every breaker whose probe ended well, and opens again, for twice as long, those whose did not or whose lease '
'expired.';

create or replace function recovery.shut_parts(kind_ text, wanted text[], now_ timestamptz,
  out shut text[], out due text[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  held text[];
begin
  if exists (select from recovery.breaker b where b.status = 'half_open') then
    perform recovery.settle_probes(now_);
  end if;
  -- Whose turn it is to be tried is tried by one claim: others skip what it holds.
  held := array(
    select b.name from recovery.breaker b
     where b.status = 'open' and b.open_until <= now_
       and exists (select from unnest(b.parts) p
                    where split_part(p, ':', 1) = kind_
                      and (wanted is null or substr(p, length(kind_) + 2) = any(wanted)))
     order by b.name
       for no key update skip locked);
  select coalesce(array_agg(x.part) filter (where not x.is_due), '{}'),
         coalesce(array_agg(x.part) filter (where x.is_due), '{}') into shut, due
    from (select substr(p, length(kind_) + 2) as part, bool_and(b.name = any(held)) as is_due
            from recovery.breaker b cross join unnest(b.parts) p
           where b.status in ('open', 'half_open') and split_part(p, ':', 1) = kind_ group by 1) x;
end $$;
comment on function recovery.shut_parts(text, text[], timestamptz) is
'What is not claimed because a breaker is not closed; and of what one unit may be claimed as a probe, by this '
'transaction.';

create or replace function recovery.start_probe(parts_ text[], subject_ text, unit_ text, token_ uuid,
  until_ timestamptz, now_ timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update recovery.breaker b
     set status = 'half_open', probes = b.probes + 1, probe_subject = subject_, probe_unit = unit_,
         probe_token = token_, probe_until = until_
   where b.status = 'open' and b.open_until <= now_ and b.parts && parts_;
end $$;
comment on function recovery.start_probe(text[], text, text, uuid, timestamptz, timestamptz) is
'Makes a unit that was just claimed the probe of the breakers that it depends on.';

create or replace function recovery.breaker_of(variadic parts_ text[]) returns recovery.breaker
language sql stable as $$
  select b from recovery.breaker b where b.status in ('open', 'half_open') and b.parts && parts_
   order by b.open_until desc limit 1
$$;
comment on function recovery.breaker_of(text[]) is 'The breaker behind which these wait, or null.';

create or replace function recovery.refuse_behind(parts_ text[], now_ timestamptz, alone boolean) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  shut recovery.breaker;
begin
  -- One unit alone may try it when its wait has ended: the claim then makes it the probe.
  select b.* into shut from recovery.breaker b
   where b.status in ('open', 'half_open') and b.parts && parts_
     and not (alone and b.status = 'open' and b.open_until <= now_) limit 1;
  if found then
    raise exception using errcode = 'RC091',
      message = format('The breaker %s is %s: %s', shut.name, replace(shut.status, '_', ' '), shut.reason),
      hint = format('Wait; it is tried by one unit%s. To close it: recoup recovery breaker close %s --reason …',
                    case shut.status when 'open' then ' after ' || shut.open_until end, shut.name),
      detail = jsonb_build_object('breaker', shut.name, 'status', shut.status, 'open_until', shut.open_until);
  end if;
end $$;
comment on function recovery.refuse_behind(text[], timestamptz, boolean) is
'Refuses to begin what depends on a breaker that is not closed, unless it is the unit that tries it.';

-- Rules ---------------------------------------------------------------------------------------------------------------

create or replace function recovery.breaker_broken(o recovery.breaker, n recovery.breaker, now_ timestamptz,
  acting text, terms record) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Opened: for the first time, or again.
  if o.name is null or o.status = 'closed' and n.status = 'open' then
    return case
      when not recovery.is_recent(n.opened_at, now_) or n.opened_by <> recoup.acting_id() then 'now'
      when (n.parts, n.wait_s, n.max_wait_s) is distinct from (terms.parts, terms.wait_s, terms.max_wait_s)
           or n.open_until <> n.opened_at + make_interval(secs => n.wait_s) then 'terms'
      when n.probes <> 0 then 'probe'
      when (n.candidate_id is not null) <> (acting = 'recoup_executor') then 'candidate' end;
  end if;
  if (n.parts, n.max_wait_s, n.opened_at, n.opened_by, n.reason, n.candidate_id)
     is distinct from (o.parts, o.max_wait_s, o.opened_at, o.opened_by, o.reason, o.candidate_id) then
    return 'opening';
  elsif n.status = 'half_open' then
    return case
      when o.open_until > now_ then 'waits'
      when n.probes <> o.probes + 1 or (n.wait_s, n.open_until) is distinct from (o.wait_s, o.open_until)
           or n.probe_until <= now_ or n.probe_until > now_ + interval '720 hours'
           or not recovery.is_probing(n.probe_subject, n.probe_unit, n.probe_token, n.parts) then 'probe' end;
  elsif n.probes <> o.probes then
    return 'probe';
  elsif n.status = 'open' then
    return case
      when coalesce(recovery.probe_end(o.probe_subject, o.probe_unit, o.probe_token),
                    o.probe_until >= now_ or coalesce(current_setting('recoup.hub', true), '') <> '') then 'ended'
      when n.wait_s <> least(o.wait_s::bigint * 2, o.max_wait_s)
           or not recovery.is_recent(n.open_until - make_interval(secs => n.wait_s), now_) then 'terms' end;
  end if;
  return case
    when not recovery.is_recent(n.closed_at, now_)
         or (n.wait_s, n.open_until) is distinct from (o.wait_s, o.open_until) then 'now'
    when acting in ('recoup_operator', 'recoup_executor') then case
      when n.closed_by <> recoup.acting_id() then 'now' end
    when n.closed_by <> 'probe'
         or recovery.probe_end(o.probe_subject, o.probe_unit, o.probe_token) is not true then 'ended' end;
end $$;
comment on function recovery.breaker_broken(recovery.breaker, recovery.breaker, timestamptz, text, record) is
'The rule that a birth (old row null) or a move of a breaker breaks, or null.';

create or replace function recovery.rule_breakers() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  acting constant text := recoup.acting_role();
  policy constant jsonb := recovery.policy();
  bad    record;
begin
  -- Opened, or closed by hand. A hub's own claims still make probes, also of what it shares with others.
  if tg_op = 'INSERT' then
    perform recoup.refuse_of_others('the breaker ' || n.name, n.parts) from new_rows n;
    select n.name, recovery.breaker_broken(null, n, now_, acting, t) as why into bad
      from new_rows n cross join lateral recovery.breaker_terms(n.name, policy) t
     where recovery.breaker_broken(null, n, now_, acting, t) is not null limit 1;
  else
    perform recoup.refuse_of_others('the breaker ' || n.name, n.parts)
       from new_rows n join old_rows o on o.name = n.name
      where o.status = 'closed' or n.status = 'closed'
            and recovery.probe_end(o.probe_subject, o.probe_unit, o.probe_token) is not true;
    select n.name, recovery.breaker_broken(o, n, now_, acting, t) as why into bad
      from new_rows n join old_rows o on o.name = n.name cross join lateral recovery.breaker_terms(n.name, policy) t
     where recovery.breaker_broken(o, n, now_, acting, t) is not null limit 1;
  end if;
  if bad.why is not null then
    raise exception using errcode = 'RC090',
      message = format('Breaker %s: ', bad.name) || case bad.why
        when 'now' then 'it is opened and closed now, under the name of the acting login.'
        when 'terms' then 'what depends on it, and how long it waits, are as the policy has them.'
        when 'candidate' then 'it is opened by an operator, or for a candidate.'
        when 'opening' then 'its opening stays as it is until it is closed.'
        when 'waits' then 'it is not tried before its wait has ended.'
        when 'probe' then 'it is tried by one unit that was just claimed.'
        else 'its probe has not ended like that.' end,
      hint = 'See: recoup recovery breakers. To end it by hand: recoup recovery breaker close NAME --reason …',
      detail = jsonb_build_object('breaker', bad.name, 'why', bad.why, 'now', now_, 'authority', acting);
  end if;
  return null;
end $$;
comment on function recovery.rule_breakers() is
'A breaker is opened as the policy has it, tried by a claimed unit when its wait has ended, and follows its end.';

-- The action ----------------------------------------------------------------------------------------------------------

create or replace function recovery.open_breakers(names text[], reason_ text, candidates uuid[], at_ timestamptz)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  opened integer;
begin
  insert into recovery.breaker as b (name, status, parts, wait_s, max_wait_s, opened_at, open_until, opened_by, reason,
                                     candidate_id)
  select g.name, 'open', t.parts, t.wait_s, t.max_wait_s, at_, at_ + make_interval(secs => t.wait_s),
         recoup.acting_id(), reason_, g.candidate
    from (select * from unnest(names, candidates) g (name, candidate) order by g.name) g
   cross join (select recovery.policy() as policy offset 0) p
   cross join lateral recovery.breaker_terms(g.name, p.policy) t
  on conflict (name) do update
     set status = 'open', parts = excluded.parts, wait_s = excluded.wait_s, max_wait_s = excluded.max_wait_s,
         opened_at = excluded.opened_at, open_until = excluded.open_until, opened_by = excluded.opened_by,
         reason = excluded.reason, candidate_id = excluded.candidate_id, probes = 0, closed_at = null, closed_by = null
   where b.status = 'closed';
  get diagnostics opened = row_count;
  return opened;
end $$;
comment on function recovery.open_breakers(text[], text, uuid[], timestamptz) is
'Opens breakers, each for a candidate or by an operator. Returns how many: what is open already stays as it is.';

create or replace function recovery.close_breaker(name_ text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  closed integer;
begin
  update recovery.breaker b
     set status = 'closed', closed_at = recoup.now(), closed_by = recoup.acting_id(), probe_subject = null,
         probe_unit = null, probe_token = null, probe_until = null
   where b.name = name_ and b.status in ('open', 'half_open');
  get diagnostics closed = row_count;
  return closed;
end $$;
comment on function recovery.close_breaker(text) is 'Closes a breaker by hand. What depends on it is claimed again.';

create or replace function recovery.breaker_named(parameters jsonb, source_ text) returns text
language sql immutable as $$ select coalesce(parameters ->> 'breaker', source_) $$;
comment on function recovery.breaker_named(jsonb, text) is
'The breaker that an action opens: the one that it is given, else that of the failure''s source.';

create or replace function recovery.break_circuits(ids uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  told   record;
  opened integer;
begin
  -- Only what each candidate has reported: a rollback restores that. The first of several opens it.
  select array_agg(c.undo ->> 'key') filter (where c.undo -> 'before' <> c.undo -> 'after') as names,
         array_agg(c.candidate_id) filter (where c.undo -> 'before' <> c.undo -> 'after') as openers,
         min((c.undo -> 'after' ->> 'opened_at')::timestamptz) filter (where c.undo -> 'before' <> c.undo -> 'after')
           as at,
         count(*) filter (where recovery.breaker_named(c.parameters, c.source) = c.undo ->> 'key'
                            and (c.awaits ->> 'kind' <> 'breaker' or c.awaits ->> 'key' = c.undo ->> 'key')) as told
    into told
    from (select c.candidate_id, c.parameters, c.awaits, c.result -> 'undo' as undo, m.source
            from recovery.candidate c
           cross join lateral (select m.source from recovery.failure_match m
                                where m.failure_match_id = c.failure_match_id limit 1) m
           where c.candidate_id = any(ids)) c;
  if told.names is not null then
    opened := recovery.open_breakers(told.names, left(current_setting('recoup.reason', true), 2000), told.openers,
                                     told.at);
    if opened <> cardinality(told.names) then
      -- Another one opened it since we looked.
      raise exception using errcode = '40001', message = 'A breaker was opened at the same time.';
    end if;
  end if;
  return told.told;
end $$;
comment on function recovery.break_circuits(uuid[]) is
'The action circuit_breaker: opens the breakers that candidates name, unless they are open.';

create or replace function recovery.undo_circuit_breaker(candidate uuid, undo jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if undo -> 'before' ->> 'status' = 'closed' then
    perform recovery.close_breaker(undo ->> 'key');
  end if;
end $$;
comment on function recovery.undo_circuit_breaker(uuid, jsonb) is
'Closes the breaker that an action opened; if that one only joined it, nothing.';

create or replace function recovery.waiting_behind(parts_ text[], most integer) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tables  constant text[] := array(select substr(p, 7) from unnest(parts_) p where starts_with(p, 'table:'));
  kinds   constant text[] := array(select substr(p, 10) from unnest(parts_) p where starts_with(p, 'run_kind:'));
  sources constant text[] := array(select substr(p, 8) from unnest(parts_) p where starts_with(p, 'source:'));
  now_    constant timestamptz := recoup.now();
begin
  -- Up to a number of each: a backlog of millions is not counted one by one.
  return (select count(*) from (select from recoup.error_queue q
                                 where q.token is null and q.wake_at <= now_
                                   and (q.part = any(tables) or 'recoup.error' = any(tables)) limit most) e)
    + case when tables && '{cl.gate_zero_attempt,cl.gate_zero_intake,cl.gate_zero_recovery}' then
        (select count(*) from (select from cl.gate_zero_intake i where i.status = 'PENDING' limit most) i)
        + (select count(*) from (select from cl.gate_zero_recovery r
                                  where r.status = 'ACTIVE' and r.next_eligible_at <= now_ limit most) r) else 0 end
    + (select count(*) from (select from recovery.run r
                              where r.status = 'queued' and (r.kind = any(kinds) or r.source = any(sources)
                                                             or 'recovery.run' = any(tables)) limit most) r)
    + (select count(*) from (select from partitions.schedule s
                              where s.status = 'waiting' and s.next_run_at <= now_
                                and (s.source = any(sources) or 'partitions.partition_state' = any(tables))
                              limit most) s)
    + (select count(*) from (select from recovery.candidate c join recovery.incident i using (incident_id)
                              where c.is_ready and c.executed_at is null and c.execute_by > now_
                                and recovery.makes(c.action_type, c.subject_kind, c.parameters) is null
                                and i.source = any(sources) limit most) c);
end $$;
comment on function recovery.waiting_behind(text[], integer) is
'How many units of each kind wait that depend on a breaker, counted up to a number of each.';
