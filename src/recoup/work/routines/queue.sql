-- Queues: what waits for its time, and who holds it, apart from the state of the work itself.
--
-- A queue is a narrow table of the form recoup.queue_form, with a row for each unit that is to be worked on.
-- Rows come, go and are put off as consequences of moves of the subject, and are claimed by hand: a claim sets token,
-- worker and the end of the lease, and nothing else. Claims are written to recoup.claim_log, one row for each claim.

create or replace function recoup.guard_queue() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not recoup.by_follower() then
    raise exception using errcode = 'RC012',
      message = format('%I.%I: its rows come and go with the work itself, not by hand.', tg_table_schema,
                       tg_table_name),
      hint = 'Move the work; its place in the queue follows.',
      detail = jsonb_build_object('queue', format('%I.%I', tg_table_schema, tg_table_name), 'operation', tg_op,
                                  'authority', current_user);
  end if;
  return null;
end $$;
comment on function recoup.guard_queue() is 'Refuses to put something into a queue, or to take it out, by hand.';

create or replace function recoup.guard_claims() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  longest constant interval := tg_argv[1];
  seen    record;
begin
  if recoup.by_follower() then
    return null;  -- put off, as the consequence of an outcome
  end if;
  perform set_config('recoup.acting_role', current_user, true);  -- for the recorder behind us
  if not starts_with(current_user, 'recoup_') or substr(current_user, 8) <> all(tg_argv[2:]) then
    raise exception using errcode = 'RC049',
      message = format('%s: %s claims nothing of it.', tg_argv[0], recoup.actor_name()),
      hint = format('It is claimed by: %s.', array_to_string(tg_argv[2:], ', ')),
      detail = jsonb_build_object('subject', tg_argv[0], 'authority', current_user);
  end if;
  select count(*) as pairs, min(o.wake_at) as due, max(o.wake_at) as last_due, min(o.until) as until,
         max(n.wake_at) as lease, bool_or(n.wake_at <= n.claimed_at) as no_lease,
         min(n.claimed_at) as since, max(n.claimed_at) as last, bool_or(o.token is not null or n.token is null) as held,
         min(n.unit::text) as unit into seen
    from new_rows n join old_rows o on o.unit = n.unit;
  if seen.pairs = 0 and not exists (select from new_rows) then
    return null;
  end if;
  if seen.held or seen.pairs <> (select count(*) from new_rows) or seen.last_due > now_
     -- A second, because the statement that claimed it looked a moment ago.
     or seen.until <= now_ - interval '1 second'
     or seen.lease > now_ + longest + interval '1 second' or seen.no_lease
     or seen.since < now_ - interval '1 minute' or seen.last > now_ + interval '1 second' then
    raise exception using errcode = case when seen.held then 'RC047'
        when seen.last_due > now_ or seen.until <= now_ - interval '1 second' then 'RC048' else 'RC049' end,
      message = format('%s: ', tg_argv[0]) || case
        when seen.held then 'what is claimed is not claimed again, nor prolonged, nor given back by hand.'
        when seen.last_due > now_ then format('its next retry is due at %s, not now.', seen.last_due)
        when seen.until <= now_ - interval '1 second' then format('its window for retries closed at %s.', seen.until)
        when seen.lease > now_ + longest + interval '1 second' then format('a lease is %s at most.', tg_argv[1])
        when seen.no_lease then 'a lease ends after it began.'
        else 'a claim is made now, and its unit stays what it is.' end,
      hint = 'Claim what is due, for no longer than the work takes.',
      detail = jsonb_build_object('subject', tg_argv[0], 'unit', seen.unit, 'now', now_, 'authority', current_user);
  end if;
  return null;
end $$;
comment on function recoup.guard_claims() is 'Refuses a claim of what is not due, is held already, or for too long.';

create or replace function recoup.record_claims() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- Put off, or claimed: a statement does one of the two.
  if (select n.token is not null from new_rows n limit 1) then
    insert into recoup.claim_log (incarnation, logged_at, subject, token, worker, lease_until, units, actor, actor_id,
                                  authority)
    select recoup.present_incarnation(), min(n.claimed_at), tg_argv[0], n.token, n.worker, n.wake_at,
           array_agg(case when n.part = '' then '' else n.part || '/' end || n.unit || '/' || n.round + 1),
           recoup.acting_kind(), recoup.acting_id(), recoup.acting_role()
      from new_rows n group by n.token, n.worker, n.wake_at;
  end if;
  return null;
end $$;
revoke execute on function recoup.record_claims() from public;
comment on function recoup.record_claims() is
'A claim, in the log of claims: one row for all that was claimed together.';

create or replace procedure recoup.equip_queue(subject_ text)
language plpgsql as $$
declare
  declared constant jsonb := (select l.queue from recoup.lifecycle l where l.subject = subject_);
  queue    constant regclass := declared ->> 'table';
  claimers constant text[] := array(select jsonb_array_elements_text(declared -> 'claimed_by'));
  who      text;
begin
  if declared is null then
    return;
  end if;
  call recoup.put_trigger(queue, 'a_guard_queue', 'before', 'insert or delete or truncate', 'statement',
                          'recoup.guard_queue');
  call recoup.put_trigger(queue, 'a_guard_claims', 'after', 'update', 'statement', 'recoup.guard_claims',
                          variadic array[subject_, (declared ->> 'lease_hours_most') || ' hours'] || claimers);
  call recoup.put_trigger(queue, 'c_record_claims', 'after', 'update', 'statement', 'recoup.record_claims', subject_);
  if not has_table_privilege('recoup_reader', queue, 'select') then
    execute format('grant select on %s to recoup_reader', queue);
  end if;
  for who in select 'recoup_' || c from unnest(claimers) c
              where not has_column_privilege('recoup_' || c, queue, 'token', 'update') loop
    execute format('grant update (token, worker, claimed_at, wake_at) on %s to %I', queue, who);
    execute format('grant insert (subject, unit_id, token, result) on recoup.late_result to %I', who);
    execute format('grant usage on sequence recoup.event_seq to %I', who);
  end loop;
end $$;
comment on procedure recoup.equip_queue(text) is
'Puts the guards and the recorder of claims on the queue of a lifecycle, if it has one, and lets those claim who may.';
