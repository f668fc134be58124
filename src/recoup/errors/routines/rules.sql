-- Rules of errors that a lifecycle alone cannot say: what a table allows, leases, budgets, what may leave.
--
-- They run behind the guard (b_), once per statement. Figures come from the policy in force, read once per statement.

create or replace function recoup.error_policy() returns jsonb
language sql stable as $$ select p.figures -> 'errors' from recoup.policy p order by p.version desc limit 1 $$;
comment on function recoup.error_policy() is 'The section on errors of the policy in force.';

create or replace function recoup.each_blocking_table() returns setof text
language sql stable as $$
  select t.key from jsonb_each((select p.figures -> 'errors' -> 'tables' from recoup.policy p order by p.version desc limit 1)) t
   where (t.value -> 'blocks')::boolean
$$;
comment on function recoup.each_blocking_table() is 'Error tables whose open errors keep their entity from moving on. Inlined where it is asked.';

create or replace function recoup.blocking_tables() returns text[]
language sql stable as $$ select coalesce(array_agg(b), '{}') from recoup.each_blocking_table() b $$;
comment on function recoup.blocking_tables() is 'Error tables whose open errors keep their entity from moving on.';

create or replace function recoup.retry_rules(policy jsonb, out category text, out backoff text, out base_s integer, out cap_s integer,
  out jitter_percent integer, out time_window interval)
returns setof record
language sql immutable as $$
  select r.key, r.value ->> 'backoff', (r.value ->> 'base_s')::integer, (r.value ->> 'cap_s')::integer,
         (r.value ->> 'jitter_percent')::integer, make_interval(hours => (r.value ->> 'window_hours')::integer)
    from jsonb_each(policy -> 'retry') r
$$;
comment on function recoup.retry_rules(jsonb) is 'How each category is retried, by a policy''s section on errors.';

create or replace function recoup.retry_wait(backoff text, base_s integer, cap_s integer, jitter_percent integer, retry integer) returns interval
language sql volatile as $$
  -- Exponential: base to the power of the retry's number; linear: base times it. Jitter only ever lengthens it. Not before
  -- a power of 60 does a double precision overflow; any cap is far below.
  -- Written so that it is inlined: called for each of a thousand rows it would cost more than writing them.
  select case when backoff <> 'none' then interval '1 second'
    * least(cap_s, case backoff when 'exponential' then power(base_s::float8, least(retry, 60)) else base_s::float8 * retry end)
    * (1 + case when jitter_percent = 0 then 0 else random() * jitter_percent / 100 end) end
$$;
comment on function recoup.retry_wait(text, integer, integer, integer, integer) is 'How long after the last failure the retry of this number comes; null: not by itself.';

create or replace function recoup.may_expire(e recoup.error, now_ timestamptz, policy jsonb) returns boolean
language sql stable as $$
  -- Whoever is called about a parked one has had time; and a table may hold on to what still blocks. Days of 24 hours,
  -- whatever the session's time zone makes of its own.
  select e.expires_at < now_
     and (e.status not in ('PARKED', 'ESCALATED') or e.parked_at < now_ - make_interval(hours => 24 * (policy ->> 'keep_parked_days')::integer))
     and not (e.disposition in ('RETRY', 'PARKED')
              and coalesce((policy -> 'tables' -> e.error_table ->> 'hold_blocking_past_ttl')::boolean, false))
$$;
comment on function recoup.may_expire(recoup.error, timestamptz, jsonb) is 'Whether the time of an error is over, by a policy''s section on errors, and nothing holds it.';

create or replace function recoup.ends_as(policy jsonb) returns jsonb
language sql immutable as $$
  select jsonb_object_agg(t.key, case when t.value -> 'allowed' ? 'PARK' then 'PARKED' when t.value -> 'allowed' ? 'ARCHIVE' then 'ARCHIVE'
                                      else 'IGNORE' end)
    from jsonb_each(policy -> 'tables') t
$$;
comment on function recoup.ends_as(jsonb) is 'The disposition, by table, of what is not retried any more: it waits for a person, or where that is not allowed for the archive.';

create or replace function recoup.entity_bucket(entity uuid) returns integer
language sql immutable parallel safe as $$ select (hashtextextended(entity::text, 0) & 1023)::integer $$;
comment on function recoup.entity_bucket(uuid) is 'The lock that an entity shares with about a thousandth of all others.';

create or replace function recoup.hold_promotions(buckets integer[]) returns void
language plpgsql
set lock_timeout = '20s'  -- longer than for a row: what fails here is a failure that would not be recorded
as $$
begin
  -- In order, so that two that hold several wait for each other instead of deadlocking. A thousand locks at most, however
  -- many entities: one for each entity would use up the server's table of locks.
  perform pg_advisory_xact_lock_shared(7701, b.bucket) from (select distinct unnest(buckets) as bucket order by 1) b;
end $$;
comment on function recoup.hold_promotions(integer[]) is 'Makes promotions of these entities wait until this transaction is over (recoup.is_blocked_locking).';

-- What may be stored -----------------------------------------------------------------------------------------------------

create or replace function recoup.refuse_disposition(error_table_ text, disposition_ text, allowed jsonb) returns void
language plpgsql as $$
begin
  raise exception using errcode = 'RC044',
    message = case when allowed is null then format('%s is not in the policy in force.', error_table_)
                   else format('%s does not allow %s.', error_table_, disposition_) end,
    hint = case when allowed is null then 'Add it to the policy, then: recoup migrate'
                else format('It allows %s (errors.tables in the policy).', (select string_agg(a, ', ') from jsonb_array_elements_text(allowed) a)) end,
    detail = jsonb_build_object('error_table', error_table_, 'disposition', disposition_, 'allowed', allowed);
end $$;
comment on function recoup.refuse_disposition(text, text, jsonb) is 'Refuses a disposition that its table does not allow.';

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
   where not coalesce(tables -> d.error_table -> 'allowed' ? case d.disposition when 'PARKED' then 'PARK' else d.disposition end, false) limit 1;
  if found then
    perform recoup.refuse_disposition(bad.error_table, bad.disposition, bad.allowed);
  end if;
  if exists (select from (select distinct n.policy_version from new_rows n) d
              where not exists (select from recoup.policy p where p.version = d.policy_version)) then
    raise exception using errcode = 'RC045', message = 'An error names a policy that there is not.',
      hint = 'Stamp it with recoup.policy_version().', detail = jsonb_build_object('in_force', recoup.policy_version());
  end if;
  select n.error_id, n.token is not null as leased, n.archive_reason into bad from new_rows n
   where n.created_at > now_ + interval '1 second' or n.updated_at > now_ + interval '1 second' or n.token is not null
      or n.updated_at < now_ - interval '1 minute' or n.archive_reason <> 'SUPERSEDED'
      or n.archived_at not between now_ - interval '1 minute' and now_ + interval '1 second' limit 1;
  if found then
    raise exception using errcode = 'RC045',
      message = case when bad.leased then format('Error %s is born with a lease.', bad.error_id)
                     when bad.archive_reason <> 'SUPERSEDED' then format('Error %s is born as %s.', bad.error_id, bad.archive_reason)
                     else format('Error %s has a time that is not now.', bad.error_id) end,
      hint = 'Record errors with recoup.record_errors, or through the library: it writes what is right.',
      detail = jsonb_build_object('error_id', bad.error_id, 'now', now_);
  end if;
  -- From here on a promotion that locks waits for us, or we for it; whoever comes second sees what the first one did.
  perform recoup.hold_promotions((select array_agg(distinct recoup.entity_bucket(n.outreach_id)) from new_rows n
                                   where n.disposition in ('RETRY', 'PARKED') and n.outreach_id is not null));
  return null;
end $$;
comment on function recoup.rule_error_births() is 'An error is born with a disposition that its table allows, now, under a policy that there is; locked promotions wait for it.';

create or replace function recoup.error_move_broken(o recoup.error, n recoup.error, now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  -- STABLE, as the sums in it are: only then is it inlined.
  select case
    when o.archived_at is not null then 'over'
    when o.token is not null and n.token is not null and n.token <> o.token then 'leased'
    when o.token is null and n.token is not null and acting = 'recoup_operator' then 'lease'
    -- A second, because the statement that claimed it looked a moment ago.
    when o.token is null and n.token is not null and (o.next_retry_at > now_ or o.retry_until <= now_ - interval '1 second') then 'early'
    when n.retry_count <> o.retry_count + (o.token is not null and n.token is null)::integer then 'count'
    when n.max_retries > greatest(o.max_retries, n.retry_count + 1) then 'grant'
    when n.archive_reason = 'SUPERSEDED' and acting <> 'recoup_hub' or n.archive_reason = 'MANUAL' and acting <> 'recoup_operator' then 'reason'
    when n.archive_reason = 'TTL_EXPIRED' and not coalesce(recoup.may_expire(o, now_, policy), false) then 'unexpired'
    when n.archived_at is null and n.status = o.status and n.status <> 'RETRY_PENDING' and acting = 'recoup_hub' then 'nothing'
    when n.status = 'PARKED' and o.status = 'RETRY_PENDING' and acting <> 'recoup_operator'
         and (n.park_reason <> 'MAX_RETRIES_EXCEEDED' or n.parked_by <> 'system') then 'reason'
    -- Without a retry that ends, only a window that closed takes it from its hub; and nothing is resolved that nobody retried.
    when o.status = 'RETRY_PENDING' and n.status in ('PARKED', 'ACTIVE') and acting <> 'recoup_operator' and o.token is null
         and not coalesce(o.retry_until <= now_, false) then 'budget'
    when n.status = 'RESOLVED' and acting <> 'recoup_operator' and (o.token is null or n.last_outcome is distinct from 'SUCCEEDED') then 'unclaimed'
    when n.status = 'RETRY_PENDING' and n.archived_at is null and acting <> 'recoup_operator' and o.token is not distinct from n.token then 'nothing'
    when n.status = 'RETRY_PENDING' and o.status = 'RETRY_PENDING' and acting = 'recoup_operator' and n.archived_at is null
         and (n.token, n.leased_by, n.lease_until, n.next_retry_at) is distinct from (o.token, o.leased_by, o.lease_until, o.next_retry_at) then 'nothing'
    -- A retry that failed is parked when it was the last, or when the next would come after the window, or by itself never.
    when o.token is not null and n.status in ('PARKED', 'ACTIVE') and acting <> 'recoup_operator' and n.retry_count < n.max_retries
         and policy -> 'retry' -> n.category ->> 'backoff' <> 'none'
         and coalesce(o.retry_until > now_ + make_interval(secs => (policy -> 'retry' -> n.category ->> 'cap_s')::float8
                                                                   * (1 + (policy -> 'retry' -> n.category ->> 'jitter_percent')::float8 / 100)), true) then 'budget'
    when o.token is not null and n.token is null and n.status = 'RETRY_PENDING' and n.archived_at is null
         and n.next_retry_at > now_ + interval '30 days' then 'times'
    when o.token is null and n.token is not null and n.lease_until > now_ + interval '24 hours 1 second' then 'long'
    -- What a statement calls now is now: nothing is dated back, into a month that is dropped, or ahead.
    when o.archived_at is null and n.archived_at not between now_ - interval '1 minute' and now_ + interval '1 second'
         or n.updated_at > greatest(o.updated_at, now_ + interval '1 second')
         or n.parked_at is distinct from o.parked_at and n.parked_at not between now_ - interval '1 minute' and now_ + interval '1 second' then 'times'
    end
$$;
comment on function recoup.error_move_broken(recoup.error, recoup.error, timestamptz, text, jsonb) is 'The rule that a move of an error breaks, or null.';

create or replace function recoup.rule_error_moves() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
-- A join by hash is right for one row and for a hundred thousand, so its plan may be kept.
set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_hashjoin = on set enable_mergejoin = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  acting  constant text := current_user;
  policy  constant jsonb := recoup.error_policy();
  allowed jsonb;
  seen    record;
  bad     record;
begin
  if not exists (select from new_rows) then
    return null;
  end if;
  perform recoup.require_read_committed('Errors');
  -- One pass over old and new.
  select bool_or(recoup.error_move_broken(o, n, now_, acting, policy) is not null) as broken,
         array_agg(distinct recoup.entity_bucket(n.outreach_id)) filter (where n.disposition <> o.disposition and n.outreach_id is not null
           and n.disposition in ('RETRY', 'PARKED') and o.disposition not in ('RETRY', 'PARKED')) as buckets,
         jsonb_object_agg(n.error_table, n.disposition) filter (where n.disposition <> o.disposition and n.archived_at is null) as changed
    into seen
    from new_rows n join old_rows o on o.error_id = n.error_id and o.error_table = n.error_table;
  if seen.broken then
    select n.error_table, n.error_id, n.status, o.status as was, o.lease_until, o.next_retry_at, n.expires_at,
           recoup.error_move_broken(o, n, now_, acting, policy) as why into bad
      from new_rows n join old_rows o on o.error_id = n.error_id and o.error_table = n.error_table
     where recoup.error_move_broken(o, n, now_, acting, policy) is not null limit 1;
    raise exception using errcode = case bad.why when 'over' then 'RC046' when 'leased' then 'RC047' when 'early' then 'RC048' else 'RC049' end,
      message = format('Error %s of %s: ', bad.error_id, bad.error_table) || case bad.why
        when 'over' then 'it is over, and waits for the archiver.'
        when 'leased' then format('it is being retried, under a lease until %s.', bad.lease_until)
        when 'early' then format('its next retry is due at %s, not now.', coalesce(bad.next_retry_at::text, 'no time'))
        when 'count' then 'retry_count rises by one when a retry ends, and at no other time.'
        when 'grant' then 'an unparking grants one retry.'
        when 'reason' then 'this authority does not give that reason.'
        when 'unexpired' then format('it expires at %s, not now.', coalesce(bad.expires_at::text, 'no time'))
        when 'nothing' then 'nothing happened to it.'
        when 'budget' then 'it has retries left.'
        when 'unclaimed' then 'a retry that nobody claimed does not succeed.'
        when 'long' then 'a lease is a day at most.'
        when 'times' then 'it has a time that is not now.'
        else 'an operator claims no retries.' end,
      hint = case bad.why
        when 'over' then 'What is over does not come back: if it still fails, it is recorded anew.'
        when 'leased' then 'Wait for its outcome, or for its lease to lapse.'
        when 'early' then 'Claim what is due: recoup errors claim. A window that closed leaves it to a person: recoup errors unpark.'
        else 'Use the verbs: recoup errors --help.' end,
      detail = jsonb_build_object('error_table', bad.error_table, 'error_id', bad.error_id, 'why', bad.why, 'from', bad.was, 'to', bad.status);
  end if;
  if seen.buckets is not null then
    perform recoup.hold_promotions(seen.buckets);  -- what begins to block makes locked promotions wait
  end if;
  if seen.changed is not null then
    -- A new disposition is one that the table allows. What merely stays as it is, stays, though the policy was narrowed.
    allowed := policy -> 'tables';
    if acting <> 'recoup_operator' then
      -- What is not retried any more waits for a person wherever that is allowed.
      select n.error_table, n.disposition into bad from new_rows n join old_rows o on o.error_id = n.error_id and o.error_table = n.error_table
       where o.status = 'RETRY_PENDING' and n.disposition <> o.disposition and n.disposition is distinct from recoup.ends_as(policy) ->> n.error_table limit 1;
      if found then
        perform recoup.refuse_disposition(bad.error_table, bad.disposition, jsonb_build_array(recoup.ends_as(policy) ->> bad.error_table));
      end if;
    end if;
    select d.error_table, d.disposition into bad from (
      select distinct n.error_table, n.disposition
        from new_rows n join old_rows o on o.error_id = n.error_id and o.error_table = n.error_table
       where n.disposition <> o.disposition and n.archived_at is null) d
     where not coalesce(allowed -> d.error_table -> 'allowed' ? case d.disposition when 'PARKED' then 'PARK' else d.disposition end, false) limit 1;
    if found then
      perform recoup.refuse_disposition(bad.error_table, bad.disposition, allowed -> bad.error_table -> 'allowed');
    end if;
  end if;
  return null;
end $$;
comment on function recoup.rule_error_moves() is 'Leases, counts, budgets and reasons of a move; what is over does not move.';

create or replace function recoup.rule_error_exits() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  policy constant jsonb := recoup.error_policy();
  bad    record;
begin
  select o.error_table, o.error_id, o.token is not null as leased, o.expires_at, o.lease_until into bad from old_rows o
   where o.archived_at is null and (o.token is not null or not coalesce(recoup.may_expire(o, now_, policy), false)) limit 1;
  if found then
    raise exception using errcode = 'RC050',
      message = format('Error %s of %s: ', bad.error_id, bad.error_table) || case
        when bad.leased then format('it is being retried, under a lease until %s.', bad.lease_until)
        when bad.expires_at < now_ then 'its time is over, but it is held: parked not long ago, or by its table.'
        else format('it expires at %s, not now.', coalesce(bad.expires_at::text, 'no time')) end,
      hint = 'What leaves is resolved, superseded, archived by hand, or expired.',
      detail = jsonb_build_object('error_table', bad.error_table, 'error_id', bad.error_id, 'expires_at', bad.expires_at, 'now', now_);
  end if;
  return null;
end $$;
comment on function recoup.rule_error_exits() is 'What leaves is over or expired, and nobody retries it.';

create or replace function recoup.rule_archive_months() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  tables constant jsonb := recoup.error_policy() -> 'tables';
  bad    record;
begin
  select n.error_table, n.month into bad from new_rows n
   where n.status = 'DROPPED'
     and coalesce(n.month + interval '1 month' > now_ at time zone 'UTC' - make_interval(years => (tables -> n.error_table ->> 'archive_years')::integer), true) limit 1;
  if found then
    raise exception using errcode = 'RC051',
      message = format('The archive of %s of %s is kept for %s years.', bad.error_table, to_char(bad.month, 'YYYY-MM'), tables -> bad.error_table ->> 'archive_years'),
      hint = 'A month is dropped when all of it is older than its retention.',
      detail = jsonb_build_object('error_table', bad.error_table, 'month', bad.month, 'now', now_);
  end if;
  select n.error_table, n.month into bad from new_rows n
   where n.status = 'DROPPED'
     and exists (select from recoup.error e where e.error_table = n.error_table and e.archived_at is not null
                    and e.archived_at at time zone 'UTC' >= n.month and e.archived_at at time zone 'UTC' < n.month + interval '1 month') limit 1;
  if found then
    raise exception using errcode = 'RC051',
      message = format('Errors of %s that were over in %s still wait for the archiver.', bad.error_table, to_char(bad.month, 'YYYY-MM')),
      hint = 'A month is dropped when nothing can come into it any more: recoup worker --duty error-archive',
      detail = jsonb_build_object('error_table', bad.error_table, 'month', bad.month, 'now', now_);
  end if;
  return null;
end $$;
comment on function recoup.rule_archive_months() is 'No month of an archive is dropped before its retention is over, or while an error of it is still live.';
