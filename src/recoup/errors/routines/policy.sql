-- The policy on errors, for decisions in the database. Values come as the policy's section on errors
-- (recoup.error_policy), read once per statement and passed on.

create or replace function recoup.error_policy() returns jsonb
language sql stable as $$ select p.figures -> 'errors' from recoup.policy p order by p.version desc limit 1 $$;
comment on function recoup.error_policy() is 'The section on errors of the active policy.';

create or replace function recoup.each_blocking_table() returns setof text
language sql stable as $$
  select t.key
    from jsonb_each((select p.figures -> 'errors' -> 'tables' from recoup.policy p order by p.version desc limit 1)) t
   where (t.value -> 'blocks')::boolean
$$;
comment on function recoup.each_blocking_table() is
'Error tables whose open errors block their entity. Inlined.';

create or replace function recoup.blocking_tables() returns text[]
language sql stable as $$ select coalesce(array_agg(b), '{}') from recoup.each_blocking_table() b $$;
comment on function recoup.blocking_tables() is 'Error tables whose open errors block their entity.';

create or replace function recoup.retry_rules(policy jsonb,
  out category text, out backoff text, out base_s integer, out cap_s integer, out jitter_percent integer,
  out time_window interval)
returns setof record
language sql immutable as $$
  select r.key, r.value ->> 'backoff', (r.value ->> 'base_s')::integer, (r.value ->> 'cap_s')::integer,
         (r.value ->> 'jitter_percent')::integer, make_interval(hours => (r.value ->> 'window_hours')::integer)
    from jsonb_each(policy -> 'retry') r
  offset 0  -- read once for each category, not once for each row that is joined to it
$$;
comment on function recoup.retry_rules(jsonb) is 'How each category is retried, by a policy''s section on errors.';

create or replace function recoup.retry_wait(
  backoff text, base_s integer, cap_s integer, jitter_percent integer, retry integer) returns interval
language sql volatile as $$
  -- Exponential: base to the power of the retry's number; linear: base times it. Jitter only ever lengthens it. Not
  -- before a power of 60 does a double precision overflow; any cap is far below.
  -- Written so that it is inlined: called for each of a thousand rows it would cost more than writing them.
  select case when backoff <> 'none' then
    interval '1 second'
    * least(cap_s, case backoff when 'exponential' then power(base_s::float8, least(retry, 60))
                                else base_s::float8 * retry end)
    * (1 + case when jitter_percent = 0 then 0 else random() * jitter_percent / 100 end) end
$$;
comment on function recoup.retry_wait(text, integer, integer, integer, integer) is
'How long after the last failure the retry of this number comes; null: not automatically.';

create or replace function recoup.retries_end(
  retry_count integer, max_retries integer, next_retry_at timestamptz, retry_until timestamptz) returns text
language sql immutable as $$
  select case when retry_count >= max_retries or next_retry_at is null then 'MAX_RETRIES_EXCEEDED'
              when next_retry_at > retry_until then 'RETRY_WINDOW_CLOSED' end
$$;
comment on function recoup.retries_end(integer, integer, timestamptz, timestamptz) is
'Why no retry follows: none left, none automatic, or it would come after the window. Null: one follows.';

create or replace function recoup.ends_as(policy jsonb) returns jsonb
language sql immutable as $$
  select jsonb_object_agg(t.key, case when t.value -> 'allowed' ? 'PARK' then 'PARKED'
                                      when t.value -> 'allowed' ? 'ARCHIVE' then 'ARCHIVE' else 'IGNORE' end)
    from jsonb_each(policy -> 'tables') t
$$;
comment on function recoup.ends_as(jsonb) is
'Disposition, by table, of errors whose retries ended: PARKED if the table allows it, else ARCHIVE or IGNORE.';

create or replace function recoup.status_of(disposition text) returns text
language sql immutable as $$
  select case disposition when 'RETRY' then 'RETRY_PENDING' when 'PARKED' then 'PARKED' else 'ACTIVE' end
$$;
comment on function recoup.status_of(text) is 'The status of an error that has just got this disposition.';

create or replace function recoup.may_expire(e recoup.error, now_ timestamptz, policy jsonb) returns boolean
language sql stable as $$
  -- A parked error is kept until the owner of the last tier had the time to act; and a table may keep errors that still
  -- block. Days of 24 hours, whatever the session's time zone is.
  select e.expires_at < now_
     -- Not before its window is closed: whether it is parked or archived must not depend on which task runs first.
     and not (e.status = 'RETRY_PENDING' and coalesce(e.retry_until <= now_, false))
     and (e.status not in ('PARKED', 'ESCALATED')
          or e.parked_at < now_ - make_interval(hours => 24 * (policy ->> 'keep_parked_days')::integer)
             and e.escalation_level >= 3 and recoup.sla_end(e, policy) < now_
             -- Nor before its clock is marked as ended, whichever task runs first: a breach would be lost with it.
             and (e.sla_due_at is null or num_nonnulls(e.sla_met_at, e.sla_breached_at) > 0))
     and not (e.disposition in ('RETRY', 'PARKED')
              and coalesce((policy -> 'tables' -> e.error_table ->> 'hold_blocking_past_ttl')::boolean, false))
$$;
comment on function recoup.may_expire(recoup.error, timestamptz, jsonb) is
'Whether an error has expired, by a policy''s section on errors, and nothing keeps it.';

create or replace function recoup.kept_until(tier text, now_ timestamptz, policy jsonb) returns timestamptz
language sql stable as $$ select now_ + make_interval(hours => 24 * (policy -> 'tier_days' ->> tier)::integer) $$;
comment on function recoup.kept_until(text, timestamptz, jsonb) is
'Until when an error of this tier is kept if it is unparked now; null: for ever.';
