-- What actions change in this database and can be undone: each says what was there before and what it left, with
-- digests, and a rollback restores the one if the other is still there.

create or replace function recovery.digest_of(value jsonb) returns text
language sql immutable as $$ select encode(sha256(convert_to(value::text, 'UTF8')), 'hex') $$;
comment on function recovery.digest_of(jsonb) is 'Digest of a value by the text that jsonb has for it; null of none.';

create or replace function recovery.config_now(key_ text, out version integer, out value jsonb)
language sql stable as $$
  select c.version, c.value from recovery.config c where c.key = key_ order by c.version desc limit 1
$$;
comment on function recovery.config_now(text) is 'The present version of a key and its value; null: it is not set.';

-- Both values are left out where there was none: JSON has a null of its own.
create or replace function recovery.change_record(type text, key text, before jsonb, after jsonb) returns jsonb
language sql immutable as $$
  select jsonb_build_object('type', type, 'key', key)
      || case when before is null then '{}' else jsonb_build_object('before', before, 'before_digest',
           recovery.digest_of(before)) end
      || case when after is null then '{}' else jsonb_build_object('after', after, 'after_digest',
           recovery.digest_of(after)) end
$$;
comment on function recovery.change_record(text, text, jsonb, jsonb) is
'What an action that can be undone records: what it changed, the value before, the value it left, and their digests.';

create or replace function recovery.present_value(undo jsonb) returns jsonb
language sql stable as $$
  -- One line for each type of action whose effect is here and can be undone.
  select case undo ->> 'type'
    when 'reconfigure' then (select c.value from recovery.config_now(undo ->> 'key') c)
    when 'circuit_breaker' then recovery.breaker_state(undo ->> 'key') end
$$;
comment on function recovery.present_value(jsonb) is 'The present value of what an action that can be undone changed.';

create or replace function recovery.undone(c recovery.candidate) returns recovery.candidate
language sql stable as $$
  select u from recovery.candidate u where u.candidate_id = (c.parameters ->> 'undoes')::uuid
$$;
comment on function recovery.undone(recovery.candidate) is 'The candidate that a rollback undoes.';

create or replace function recovery.effect_record(c recovery.candidate) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  undo_ jsonb;
begin
  if c.action_type = 'reconfigure' then
    return jsonb_build_object('undo', recovery.change_record('reconfigure', c.parameters ->> 'key',
      (select n.value from recovery.config_now(c.parameters ->> 'key') n), c.parameters -> 'value'));
  elsif c.action_type = 'rollback' then
    undo_ := (recovery.undone(c)).result -> 'undo';
    return jsonb_build_object('restored', recovery.change_record(undo_ ->> 'type', undo_ ->> 'key', undo_ -> 'after',
      undo_ -> 'before'));
  end if;
  return null;
end $$;
comment on function recovery.effect_record(recovery.candidate) is
'What the effect of an action that can be undone, or undoes, records in its result; null of all others.';

create or replace function recovery.conflicts(c recovery.candidate) returns boolean
language sql stable as $$
  select recovery.digest_of(recovery.present_value(x.undo)) is distinct from (x.undo ->> 'after_digest')
    from (select (recovery.undone(c)).result -> 'undo' as undo) x
$$;
comment on function recovery.conflicts(recovery.candidate) is
'Whether the present value is another one than the undone candidate left.';

create or replace function recovery.hold_keys(ids uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from recovery.candidate c
    where c.candidate_id = any(ids) and c.action_type in ('reconfigure', 'rollback')
    order by c.candidate_id for no key update;
  if not found then
    return;
  end if;
  -- Who changes a key waits for the other one who does: so what one finds before is what the other left.
  perform pg_advisory_xact_lock(7705, k.hash)
    from (select distinct hashtext(coalesce(c.parameters ->> 'key', (recovery.undone(c)).result -> 'undo' ->> 'key'))
                   as hash
            from recovery.candidate c
           where c.candidate_id = any(ids) and c.action_type in ('reconfigure', 'rollback') order by 1) k
   where k.hash is not null;
end $$;
comment on function recovery.hold_keys(uuid[]) is
'Makes others wait who change what these candidates change, until the transaction ends.';

create or replace function recovery.change_reversibly(ids uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  one  recovery.candidate;
  made integer := 0;
begin
  -- One by one: what one finds before is what the last one left. Only what the rows say, and only if the candidate
  -- tells the same: its record is what a rollback restores.
  for one in select c.* from recovery.candidate c where c.candidate_id = any(ids) order by c.candidate_id loop
    if one.result is distinct from recovery.effect_record(one) then
      continue;
    elsif one.action_type = 'reconfigure' then
      perform recovery.put_config(one.parameters ->> 'key', one.parameters -> 'value', one.candidate_id);
    elsif recovery.conflicts(one) then
      continue;
    elsif one.result -> 'restored' ->> 'type' = 'reconfigure' then
      perform recovery.undo_reconfigure(one.candidate_id, (recovery.undone(one)).result -> 'undo');
    elsif one.result -> 'restored' ->> 'type' = 'circuit_breaker' then
      perform recovery.undo_circuit_breaker(one.candidate_id, (recovery.undone(one)).result -> 'undo');
    else
      continue;
    end if;
    made := made + 1;
  end loop;
  return made;
end $$;
comment on function recovery.change_reversibly(uuid[]) is
'Makes the changes of candidates that reconfigure or roll back. Returns how many had recorded the truth.';

create or replace function recovery.undo_reconfigure(candidate uuid, undo jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform recovery.put_config(undo ->> 'key', undo -> 'before', candidate);
end $$;
comment on function recovery.undo_reconfigure(uuid, jsonb) is
'Restores the value that a key had before an action changed it, as a new version.';

create or replace function recovery.put_config(key_ text, value_ jsonb, candidate uuid default null) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  next_ integer;
begin
  perform pg_advisory_xact_lock(7705, hashtext(key_));
  insert into recovery.config (key, version, status, value, candidate_id, set_by, reason, set_at)
  select key_, coalesce(n.version, 0) + 1, case when value_ is null then 'removed' else 'set' end, value_, candidate,
         recoup.acting_id(), coalesce(nullif(current_setting('recoup.reason', true), ''), 'none given'), recoup.now()
    from recovery.config_now(key_) n
  returning version into next_;
  return next_;
end $$;
comment on function recovery.put_config(text, jsonb, uuid) is
'Adds a version of a key, after all others of it. Null: it is removed.';

create or replace function recovery.undo_refused(given jsonb, match_ uuid, policy jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  one     recovery.candidate;
  is_ours boolean;
begin
  select c.* into one from recovery.candidate c where c.candidate_id = (given ->> 'undoes')::uuid;
  is_ours := recovery.makes(one.action_type, one.subject_kind, one.parameters) is not null;
  return case
    when one.candidate_id is null then 'undo_unknown'
    when one.finished_at is null or one.effect_made_at is null or one.status not in ('succeeded', 'failed')
      then 'undo_not_done'
    -- A rollback is not undone: to have again what it removed is a new action, with its own approval.
    when one.action_type = 'rollback' then 'undo_undeclared'
    when is_ours and one.result -> 'undo' is null then 'undo_undeclared'
    when not is_ours and not coalesce((policy -> 'actions' -> one.action_name ->> 'undo')::boolean, false)
      then 'undo_undeclared'
    when given ->> 'action' is distinct from case when not is_ours then one.action_name end
         or match_ <> one.failure_match_id
            and not exists (select from recovery.failure_match m
                             where m.failure_match_id = match_ and m.subject_kind = 'outside'
                               and m.subject_ref = 'candidate:' || one.candidate_id) then 'undo_elsewhere' end;
end $$;
comment on function recovery.undo_refused(jsonb, uuid, jsonb) is
'Why a rollback cannot undo what it names, for this match; or null.';

create or replace function recovery.rule_config() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.key, n.version into bad from new_rows n
   where not recovery.is_recent(n.set_at, now_) or n.set_by <> recoup.acting_id()
      or (n.candidate_id is null) <> (recoup.acting_role() = 'recoup_operator')
      or n.version > 1 and not exists (select from recovery.config c
                                        where c.key = n.key and c.version = n.version - 1) limit 1;
  if found then
    raise exception using errcode = 'RC097',
      message = format('Version %s of %s is not the next one, set now, by the acting person or for a candidate.',
                       bad.version, bad.key),
      hint = 'Use: recoup recovery config set KEY VALUE --reason …',
      detail = jsonb_build_object('key', bad.key, 'version', bad.version, 'now', now_);
  end if;
  return null;
end $$;
comment on function recovery.rule_config() is 'A version of a key is its next one, set now by the actor.';

comment on column recovery.candidate.undoes is
'Of a rollback: the candidate that it undoes. Null again when it failed, was skipped or rejected.';
comment on table recovery.config is
'Keys that programs read, with all their versions; the last one counts. Set by people, or by the action reconfigure.';
comment on column recovery.config.key is 'The key.';
comment on column recovery.config.version is 'Number of the version, from 1 without a gap.';
comment on column recovery.config.status is 'set: it has a value; removed: it has none, as before it was first set.';
comment on column recovery.config.value is 'The value; null: it was removed.';
comment on column recovery.config.candidate_id is 'The candidate that set or restored it; null: a person set it.';
comment on column recovery.config.set_by is 'Who set it.';
comment on column recovery.config.reason is 'Why.';
comment on column recovery.config.set_at is 'When.';
