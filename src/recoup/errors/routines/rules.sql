-- Rules of errors that a lifecycle alone cannot express: allowed dispositions, leases, budgets, exits.
--
-- They run after the guard (b_), once per statement. Values come from the active policy, read once per statement.

create or replace function recoup.refuse_disposition(error_table_ text, disposition_ text, allowed jsonb) returns void
language plpgsql as $$
begin
  raise exception using errcode = 'RC044',
    message = case when allowed is null then format('%s is not in the active policy.', error_table_)
                   else format('%s does not allow %s.', error_table_, disposition_) end,
    hint = case when allowed is null then 'Add it to the policy, then: recoup migrate'
                else format('It allows %s (errors.tables in the policy).',
                            (select string_agg(a, ', ') from jsonb_array_elements_text(allowed) a)) end,
    detail = jsonb_build_object('error_table', error_table_, 'disposition', disposition_, 'allowed', allowed);
end $$;
comment on function recoup.refuse_disposition(text, text, jsonb) is
'Refuses a disposition that its table does not allow.';

create or replace function recoup.allows(allowed jsonb, disposition_ text) returns boolean
language sql immutable as $$
  select coalesce(allowed ? case disposition_ when 'PARKED' then 'PARK' else disposition_ end, false)
$$;
comment on function recoup.allows(jsonb, text) is
'Whether the policy allows a table this disposition; false for a table that it does not list.';

-- Births -----------------------------------------------------------------------------------------------------------

create or replace function recoup.rule_error_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  tables jsonb;
  bad    record;
begin
  if not exists (select from new_rows) then
    return null;
  end if;
  perform recoup.require_read_committed('Errors');
  tables := recoup.error_policy() -> 'tables';
  select d.error_table, d.disposition, tables -> d.error_table -> 'allowed' as allowed into bad
    from (select distinct n.error_table, n.disposition from new_rows n) d
   where not recoup.allows(tables -> d.error_table -> 'allowed', d.disposition) limit 1;
  if found then
    perform recoup.refuse_disposition(bad.error_table, bad.disposition, bad.allowed);
  end if;
  -- Distinct, because the regular expression takes longer than all other rules of a row.
  select d.policy_version, d.error_signature, d.error_signature !~ '^s[0-9]+-[0-9a-f]{24}$' as unsigned into bad
    from (select distinct n.policy_version, n.error_signature from new_rows n) d
   where not exists (select from recoup.policy p where p.version = d.policy_version)
      or d.error_signature !~ '^s[0-9]+-[0-9a-f]{24}$' limit 1;
  if found then
    raise exception using errcode = 'RC045',
      message = case when bad.unsigned then 'An error has an invalid signature.'
                     else 'An error has a policy version that does not exist.' end,
      hint = 'Use recoup.policy_version(), and a signature of the library.',
      detail = jsonb_build_object('in_force', recoup.policy_version(), 'signature', bad.error_signature);
  end if;
  select n.error_id, n.token is not null as leased, n.archive_reason, recoup.error_birth_broken(n, now_) as broken
    into bad
    from new_rows n
   where n.created_at > now_ + interval '1 hour'  -- inherited, as above
      or n.updated_at > now_ + interval '1 second' or n.token is not null
      or n.updated_at < now_ - interval '1 minute' or n.archive_reason <> 'SUPERSEDED'
      or n.archived_at not between now_ - interval '1 minute' and now_ + interval '1 second'
      or recoup.error_birth_broken(n, now_) is not null limit 1;
  if found then
    raise exception using errcode = 'RC045',
      message = case when bad.broken is not null then format('Error %s %s', bad.error_id, bad.broken)
                     when bad.leased then format('Error %s is recorded with a lease.', bad.error_id)
                     when bad.archive_reason <> 'SUPERSEDED'
                       then format('Error %s is recorded as %s.', bad.error_id, bad.archive_reason)
                     else format('Error %s has a time that is not now.', bad.error_id) end,
      hint = 'Record errors with recoup.record_errors, or through the library.',
      detail = jsonb_build_object('error_id', bad.error_id, 'now', now_);
  end if;
  -- From here on a locking promotion waits for us, or we for it; the second one sees what the first one did.
  perform recoup.hold_entities(
    array(select n.outreach_id from new_rows n where n.disposition in ('RETRY', 'PARKED')));
  return null;
end $$;
comment on function recoup.rule_error_births() is
'An error is recorded now, with a disposition that its table allows and an existing policy; promotions wait.';

-- Moves: the conditions, and the messages under the same codes -----------------------------------------------

create or replace function recoup.error_move_broken(
  o recoup.error, n recoup.error, now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  -- STABLE, as the sums in it are: otherwise it is not inlined.
  select coalesce(
    case
      when o.archived_at is not null
           and (acting in ('recoup_executor', 'recoup_reviewer') or not recoup.is_redaction(o, n)) then 'over'
      when (n.error_message is distinct from o.error_message or n.payload is distinct from o.payload)
           and not recoup.is_redaction(o, n) then 'redaction'
      -- A retry ends with the token of its claim, which recoup.queue_error_moves compares; or no retry ends.
      when n.retry_count <> o.retry_count
           and (n.retry_count <> o.retry_count + 1 or o.status <> 'RETRY_PENDING' or n.token is null) then 'retry_count'
      when n.retry_count = o.retry_count and n.token is distinct from o.token then 'token'
      when n.max_retries > greatest(o.max_retries, n.retry_count + 1) then 'max_retries'
      when n.expires_at <> o.expires_at
           and (n.status <> 'RETRY_PENDING' or o.status = 'RETRY_PENDING'
                or n.expires_at > recoup.kept_until(n.ttl_tier, now_ + interval '1 second', policy))
        then 'expires_at' end,
    -- It is closed.
    case n.archive_reason
      when 'SUPERSEDED' then case when acting <> 'recoup_hub' then 'superseded_by_another' end
      when 'MANUAL' then case when acting not in ('recoup_operator', 'recoup_executor') then 'archived_by_another' end
      when 'TTL_EXPIRED' then case
        when coalesce(o.expires_at >= now_, true) then 'unexpired'
        when not coalesce(recoup.may_expire(o, now_, policy), false) then 'held' end
      when 'RESOLVED' then case
        when acting = 'recoup_operator' then null
        -- A later run of a hub succeeded: the error keeps what its own retries came to.
        when acting = 'recoup_hub' and (n.last_outcome, n.last_failure)
                                       is not distinct from (o.last_outcome, o.last_failure) then null
        when n.retry_count = o.retry_count then 'resolved_unclaimed'
        when n.last_outcome is distinct from 'SUCCEEDED' then 'resolved_by_failure' end end,
    -- Retries end, by those who retry it.
    case when o.status = 'RETRY_PENDING' and n.status in ('PARKED', 'ACTIVE') and not recoup.decides_errors(acting)
      then case
      when n.status = 'PARKED'
           and (n.park_reason not in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED') or n.parked_by <> 'system')
        then 'park_reason'
      -- Without a retry that ends, only a closed window ends its retries.
      when n.retry_count = o.retry_count
        then case when not coalesce(o.retry_until <= now_, false) then 'window_open' end
      -- After a failed retry it is parked when that was the last one, or when the next would come after the window, or
      -- when no retry is automatic.
      when n.retry_count < n.max_retries and policy -> 'retry' -> n.category ->> 'backoff' <> 'none'
           and coalesce(o.retry_until > now_ + make_interval(secs =>
                 (policy -> 'retry' -> n.category ->> 'cap_s')::float8
                 * (1 + (policy -> 'retry' -> n.category ->> 'jitter_percent')::float8 / 100)), true)
        then 'retries_left' end end,
    -- It stays open.
    case when n.archived_at is null then case
      when recoup.decides_errors(acting) then case
        when o.status = 'RETRY_PENDING' and n.status = 'RETRY_PENDING'
             and (n.retry_count, n.next_retry_at) is distinct from (o.retry_count, o.next_retry_at)
          then 'operator_reschedules' end
      when n.status = 'RETRY_PENDING' then case
        when n.retry_count = o.retry_count then 'no_retry_moved'
        when n.next_retry_at > now_ + interval '30 days' then 'put_off' end
      when n.status = o.status
           and (acting = 'recoup_hub' or (n.escalation_level, n.sla_breached_at)
                                         is not distinct from (o.escalation_level, o.sla_breached_at)) then 'unmoved'
      end end,
    -- For a recovery candidate: it is unparked, escalated or archived, or reviewed with the approval, and nothing else.
    case acting
      when 'recoup_executor' then case
        when n.status = o.status and n.archive_reason is distinct from 'MANUAL'
             and (n.archived_at is not null or n.escalation_level <= o.escalation_level)
             or n.status <> o.status and n.archived_at is not null then 'beyond_candidate' end
      when 'recoup_reviewer' then case
        when to_jsonb(n) - '{last_reviewed_at,sla_met_at,updated_at}'::text[]
             <> to_jsonb(o) - '{last_reviewed_at,sla_met_at,updated_at}'::text[]
          then 'beyond_review' end
      -- What the worker does with a parked error: its tier is raised, or its review is overdue.
      when 'recoup_error_worker' then case
        when o.status in ('PARKED', 'ESCALATED')
             and to_jsonb(n) - recoup.tier_columns() <> to_jsonb(o) - recoup.tier_columns() then 'beyond_tier' end end,
    -- Times are now: nothing is dated back, into a month that is dropped, or ahead.
    case
      when n.archived_at not between now_ - interval '1 minute' and now_ + interval '1 second' then 'archived_at'
      when n.updated_at > greatest(o.updated_at, now_ + interval '1 second') then 'updated_at'
      when n.parked_at is distinct from o.parked_at
           and n.parked_at not between now_ - interval '1 minute' and now_ + interval '1 second' then 'parked_at' end,
    case when n.retry_count <> o.retry_count
           or (n.error_message, n.payload, n.last_failure)
              is not distinct from (o.error_message, o.payload, o.last_failure)
           or not recoup.is_redaction(o, n)
      then coalesce(recoup.error_change_broken(o, n, now_, acting), recoup.tier_broken(o, n, now_, acting, policy)) end)
$$;
comment on function recoup.error_move_broken(recoup.error, recoup.error, timestamptz, text, jsonb) is
'The rule that a move of an error breaks (recoup.error_move_rules), or null.';

create or replace function recoup.error_move_rules() returns table (code text, sqlstate text, message text, hint text)
language sql immutable as $$
  -- %1$s: when it expires.
  values
    ('over', 'RC046', 'it is closed, and waits for the archiver.',
     'A closed error is not reopened: if it still fails, record it again.'),
    ('redaction', 'RC063', 'its message and its payload stay as they were recorded.',
     'To erase a secret: recoup errors redact ID --reason …'),
    ('retry_count', 'RC049', 'retry_count rises by one when a retry ends, with the token of its claim, and at no'
     ' other time.', null),
    ('token', 'RC049', 'token changes when a retry ends, and at no other time.', null),
    ('max_retries', 'RC049', 'an unparking grants one retry.', null),
    ('expires_at', 'RC049', 'only an unparking moves its expiry, and to its tier from now at most.', null),
    ('superseded_by_another', 'RC049', 'only a hub that records a newer error gives that reason: SUPERSEDED.', null),
    ('archived_by_another', 'RC049', 'only an operator, or a recovery candidate, gives that reason:'
     ' MANUAL.', null),
    ('unexpired', 'RC049', 'it expires at %1$s, not now.', null),
    ('held', 'RC049', 'it has expired, but is kept: it is parked and its last tier has not ended, or its table keeps'
     ' it, or its window is not closed yet.', null),
    ('resolved_unclaimed', 'RC049', 'a retry that was not claimed cannot succeed.', null),
    ('resolved_by_failure', 'RC049', 'a retry whose last_outcome is not SUCCEEDED resolves nothing.', null),
    ('park_reason', 'RC049',
     'only an operator parks for that reason: after retries the reason is MAX_RETRIES_EXCEEDED or RETRY_WINDOW_CLOSED,'
     ' by system.', null),
    ('window_open', 'RC049', 'no retry of it failed, and its window is open: it is still to be retried.', null),
    ('retries_left', 'RC049', 'it has retries left.', null),
    ('operator_reschedules', 'RC049', 'an operator changes neither the number nor the time of its retries.',
     'Park it, resolve it, or archive it: that ends a retry that is under way.'),
    ('no_retry_moved', 'RC049', 'no retry of it ended: its next retry stays as it is.', null),
    ('put_off', 'RC049', 'its next retry would be more than 30 days away.', null),
    ('unmoved', 'RC049', 'nothing changed: a hub retries errors, and supersedes them.', null),
    ('beyond_candidate', 'RC049', 'a recovery candidate unparks, escalates or archives it, and changes nothing else.',
     null),
    ('beyond_review', 'RC049', 'with a decision on a recovery candidate it is reviewed, and nothing else changes.',
     null),
    ('beyond_tier', 'RC049', 'a worker raises the tier of a parked error, or marks its review as overdue, and nothing'
     ' else.', null),
    ('first_tier', 'RC049', 'parking sets its tier: the first, or the one where it was, with the owner and the clock of'
     ' that tier.', null),
    ('tier_not_due', 'RC049', 'with time its tier is raised to the one that is due, and to the owner of that tier,'
     ' after an overdue review is marked.', null),
    ('parked_since', 'RC049', 'parked_since is when it was first parked.', null),
    ('sla', 'RC049', 'the clock of its review begins with its tier, and ends with the first review or when it is'
     ' overdue.', null),
    ('unreviewed', 'RC049', 'whatever a person does with a parked error is a review: last_reviewed_at is not now.',
     'Take it from recoup.now().'),
    ('archived_at', 'RC049', 'archived_at is not now.', 'Take it from recoup.now().'),
    ('updated_at', 'RC049', 'updated_at is not now, but ahead.', 'Take it from recoup.now().'),
    ('parked_at', 'RC049', 'parked_at is not now.', 'Take it from recoup.now().'),
    ('no_retry_told', 'RC049', 'no retry of it ended: the result of the last one stays as it is.', null),
    ('last_retry_at', 'RC049', 'last_retry_at is in the future.', null),
    ('parking', 'RC049', 'when, by whom and why it was parked stays as it is until it is unparked.', null),
    ('parked_by', 'RC049', 'parked_by is not the person who parks it.', 'Take it from recoup.acting_id().'),
    ('escalation', 'RC049', 'an escalation rises, now, and stays until the error is closed.', null),
    ('unparked_later', 'RC049', 'an unparked error is retried now, not later.', 'Take the time from recoup.now().'),
    ('retry_until', 'RC049', 'an operator changes no window: an unparked error has none.', null),
    ('grant', 'RC049', 'only unparking grants a retry.', null),
    ('retry_with', 'RC049', 'an alternative comes with a recovery candidate, and goes when it is unparked.', null),
    ('last_reviewed_at', 'RC049', 'last_reviewed_at is not now.', 'Take it from recoup.now().'),
    ('not_one_thing', 'RC049', 'one change at a time: assigned, reviewed, escalated, archived, or another status.',
     'Make one change after the other: each has its own event.')
$$;
comment on function recoup.error_move_rules() is 'The message and hint for each rule of recoup.error_move_broken.';

create or replace function recoup.error_move_refusal(code_ text, o recoup.error, n recoup.error,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select r.sqlstate,
         format('Error %s of %s: ', n.error_id, n.error_table)
           || format(r.message, coalesce(o.expires_at::text, 'no time')),
         coalesce(r.hint, 'Use the verbs: recoup errors --help.'),
         jsonb_build_object('error_table', n.error_table, 'error_id', n.error_id, 'why', code_, 'from', o.status,
                            'to', n.status)
    from recoup.error_move_rules() r where r.code = code_
$$;
comment on function recoup.error_move_refusal(text, recoup.error, recoup.error) is
'The refusal of a move that breaks a rule of recoup.error_move_broken.';

create or replace function recoup.error_change(o recoup.error, n recoup.error) returns jsonb
language sql stable as $$
  select case when n.disposition <> o.disposition then jsonb_build_object(
    'error_table', n.error_table, 'disposition', n.disposition, 'retried', o.status = 'RETRY_PENDING',
    'live', n.archived_at is null,
    'entity', case when n.disposition in ('RETRY', 'PARKED') and o.disposition not in ('RETRY', 'PARKED')
                   then n.outreach_id end) end
$$;
comment on function recoup.error_change(recoup.error, recoup.error) is
'What recoup.judge_error_changes needs to know of a new disposition, or null.';

create or replace function recoup.judge_error_changes(acting text, policy jsonb, changes jsonb) returns void
language plpgsql as $$
declare
  seen record;
  bad  record;
begin
  perform recoup.require_read_committed('Errors');
  if changes is null then
    return;
  end if;
  select array_agg(c.entity) filter (where c.entity is not null) as entities, bool_or(c.live) as live into seen
    from jsonb_to_recordset(changes) c (entity uuid, live boolean);
  if seen.entities is not null then
    perform recoup.hold_entities(seen.entities);  -- an error that begins to block makes locking promotions wait
  end if;
  if not seen.live then
    return;
  end if;
  -- When retries end, the error is parked wherever that is allowed.
  if not recoup.decides_errors(acting) then
    select c.error_table, c.disposition, e.ends -> c.error_table as ends into bad
      from (select recoup.ends_as(policy) as ends) e
     cross join jsonb_to_recordset(changes) c (error_table text, disposition text, retried boolean)
     where c.retried and c.disposition is distinct from e.ends ->> c.error_table limit 1;
    if found then
      perform recoup.refuse_disposition(bad.error_table, bad.disposition, jsonb_build_array(bad.ends));
    end if;
  end if;
  -- A new disposition must be allowed by the table. An unchanged one may stay, also if the policy allows it no longer.
  select c.error_table, c.disposition, policy -> 'tables' -> c.error_table -> 'allowed' as allowed into bad
    from jsonb_to_recordset(changes) c (error_table text, disposition text, live boolean)
   where c.live and not recoup.allows(policy -> 'tables' -> c.error_table -> 'allowed', c.disposition) limit 1;
  if found then
    perform recoup.refuse_disposition(bad.error_table, bad.disposition, bad.allowed);
  end if;
end $$;
comment on function recoup.judge_error_changes(text, jsonb, jsonb) is
'New dispositions are allowed, and make promotions wait; errors are moved at READ COMMITTED.';

-- Exits, and months of the archive ---------------------------------------------------------------------------------

create or replace function recoup.rule_error_exits() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recoup.error_policy();
  bad    record;
  open_  record;
  kept   bigint[];
begin
  select o.error_table, o.error_id, q.wake_at is not null as leased, o.expires_at, q.wake_at as lease_until into bad
    from old_rows o
    left join lateral (select q.wake_at from recoup.error_queue q
                        where q.unit = o.error_id and q.token is not null limit 1) q on o.status = 'RETRY_PENDING'
   where o.archived_at is null
     and (q.wake_at is not null or not coalesce(recoup.may_expire(o, now_, policy), false)) limit 1;
  if found then
    raise exception using errcode = 'RC050',
      message = format('Error %s of %s: ', bad.error_id, bad.error_table) || case
        when bad.leased then format('it is being retried, under a lease until %s.', bad.lease_until)
        when bad.expires_at < now_ then 'it has expired, but is kept: it is parked and its last tier has not ended, or'
                                        ' its table keeps it, or its window is not closed yet.'
        else format('it expires at %s, not now.', coalesce(bad.expires_at::text, 'no time')) end,
      hint = 'Only resolved, superseded, archived or expired errors leave the table.',
      detail = jsonb_build_object('error_table', bad.error_table, 'error_id', bad.error_id,
                                  'expires_at', bad.expires_at, 'now', now_);
  end if;
  for open_ in
    select o.error_table, array_agg(o.error_id) as ids, array_agg(recoup.held_lineage(o, now_)) as lineages
      from old_rows o where o.archived_at is null group by o.error_table
  loop
    kept := recoup.kept_errors(open_.error_table, open_.ids, open_.lineages, now_);
    if kept <> '{}' then
      raise exception using errcode = 'RC050',
        message = format('Error %s of %s: it has expired, but is kept: recovery works on it.', kept[1],
                         open_.error_table),
        hint = 'It leaves when recovery has ended, or some days later (recovery.hold_days in the policy).',
        detail = jsonb_build_object('error_table', open_.error_table, 'error_id', kept[1], 'now', now_);
    end if;
  end loop;
  return null;
end $$;
comment on function recoup.rule_error_exits() is
'Only closed or expired errors leave, and none that is being retried or that recovery works on.';

create or replace function recoup.rule_archive_months() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  tables constant jsonb := recoup.error_policy() -> 'tables';
  bad    record;
begin
  select n.error_table, n.month, tables -> n.error_table ->> 'archive_years' as years into bad from new_rows n
   where n.status = 'DROPPED'
     and coalesce(n.month + interval '1 month'
                  > now_ at time zone 'UTC'
                    - make_interval(years => (tables -> n.error_table ->> 'archive_years')::integer), true) limit 1;
  if found then
    raise exception using errcode = 'RC051',
      message = format('The archive of %s of %s is kept for %s years.', bad.error_table, to_char(bad.month, 'YYYY-MM'),
                       bad.years),
      hint = 'A month is dropped when all of it is older than its retention.',
      detail = jsonb_build_object('error_table', bad.error_table, 'month', bad.month, 'now', now_);
  end if;
  select n.error_table, n.month into bad from new_rows n
   where n.status = 'DROPPED'
     and exists (select from recoup.error e
                  where e.error_table = n.error_table and e.archived_at is not null
                    and e.archived_at at time zone 'UTC' >= n.month
                    and e.archived_at at time zone 'UTC' < n.month + interval '1 month') limit 1;
  if found then
    raise exception using errcode = 'RC051',
      message = format('Errors of %s that were closed in %s still wait for the archiver.', bad.error_table,
                       to_char(bad.month, 'YYYY-MM')),
      hint = 'A month is dropped when nothing can be moved into it any more: recoup worker --duty error-archive',
      detail = jsonb_build_object('error_table', bad.error_table, 'month', bad.month, 'now', now_);
  end if;
  return null;
end $$;
comment on function recoup.rule_archive_months() is
'No month of an archive is dropped before its retention ends, or while an error of it is still live.';
