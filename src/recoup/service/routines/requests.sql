-- Requests that are repeated, and how many of them somebody may send.

create or replace function recoup.day_slot(at timestamptz) returns smallint
language sql immutable as $$ select ((extract(epoch from at)::bigint / 86400) % 4)::smallint $$;
comment on function recoup.day_slot(timestamptz) is 'The slot of recoup.idempotency for a time.';

create or replace function recoup.begin_request(
  principal_ text, key_ text, method_ text, path_ text, digest_ bytea,
  out fresh boolean, out same boolean, out status smallint, out answer text, out about text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_   constant timestamptz := recoup.now();
  since  constant timestamptz := now_ - interval '24 hours';
  today  constant smallint := recoup.day_slot(now_);
  before constant smallint := recoup.day_slot(since);
begin
  -- The unique index alone would not stop two equal requests on both sides of midnight.
  perform pg_advisory_xact_lock(hashtextextended(principal_ || E'\x1f' || key_, 60));
  -- A statement of its own: it sees what was committed while it waited.
  select (i.method, i.path, i.digest) = (method_, path_, digest_), i.status, i.answer, i.about
    into same, status, answer, about
    from recoup.idempotency i
   where i.principal = principal_ and i.key = key_ and i.slot in (today, before) and i.created_at > since
   order by i.created_at desc limit 1;
  fresh := not found;
  if fresh then
    -- A row of four days ago, whose slot was not emptied, gives way.
    insert into recoup.idempotency as i (slot, principal, key, method, path, digest)
    values (today, principal_, key_, method_, path_, digest_)
    on conflict (principal, key, slot) do update
      set method = excluded.method, path = excluded.path, digest = excluded.digest, created_at = excluded.created_at,
          status = null, answer = null, about = null
    where i.created_at <= since;
  end if;
end $$;
revoke execute on function recoup.begin_request(text, text, text, text, bytea) from public;
comment on function recoup.begin_request(text, text, text, text, bytea) is
'Stores that a request was received, before its effect; or returns what the same key was answered. An equal request '
'waits until this transaction has ended.';

create or replace function recoup.end_request(
  principal_ text, key_ text, status_ integer, answer_ text, about_ text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  update recoup.idempotency i set status = status_::smallint, answer = answer_, about = about_
   where i.principal = principal_ and i.key = key_ and i.status is null
     and i.slot in (recoup.day_slot(now_), recoup.day_slot(now_ - interval '24 hours'))
     and i.created_at > now_ - interval '24 hours';
  return found;
end $$;
revoke execute on function recoup.end_request(text, text, integer, text, text) from public;
comment on function recoup.end_request(text, text, integer, text, text) is
'Stores what a request was answered, in the transaction of its effect.';

create or replace function recoup.drop_old_requests() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'  -- requests that come meanwhile wait no longer than this
as $$
declare
  now_    constant timestamptz := recoup.now();
  slot_   smallint;
  dropped integer := 0;
  any_    boolean;
begin
  for slot_ in select s from generate_series(0, 3) s
                where s not in (recoup.day_slot(now_), recoup.day_slot(now_ - interval '24 hours'),
                                recoup.day_slot(now_ + interval '24 hours')) loop
    execute format('select exists (select from recoup.idempotency_%s)', slot_) into any_;
    if any_ then
      execute format('truncate recoup.idempotency_%s', slot_);
      dropped := dropped + 1;
    end if;
  end loop;
  return dropped;
end $$;
revoke execute on function recoup.drop_old_requests() from public;
comment on function recoup.drop_old_requests() is 'Empties the slots of days that have ended. Returns how many.';

create or replace function recoup.take_tokens(
  principal_ text, rate double precision, burst double precision, wanted integer,
  out granted integer, out wait_s double precision)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := clock_timestamp();  -- of the server: a simulated clock does not move by itself
  left_ double precision;
begin
  insert into recoup.rate_bucket (principal, tokens, refilled_at) values (principal_, burst, now_)
  on conflict (principal) do nothing;
  select least(burst, b.tokens + rate * greatest(0, extract(epoch from now_ - b.refilled_at))) into left_
    from recoup.rate_bucket b where b.principal = principal_ for update;
  granted := floor(least(left_, wanted));
  wait_s := case when granted = 0 then (1 - left_) / rate else 0 end;
  update recoup.rate_bucket b set tokens = left_ - granted, refilled_at = greatest(b.refilled_at, now_)
   where b.principal = principal_;
end $$;
comment on function recoup.take_tokens(text, double precision, double precision, integer) is
'Takes up to N requests from what a caller may send now; if there is none, how long until there is one.';

create or replace function recoup.count_denied(
  addresses text[], prefixes text[], refusals text[], counts bigint[], rows_most integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  minute_ constant timestamptz := date_trunc('minute', clock_timestamp());
begin
  -- One at a time, so that the limit holds.
  perform pg_advisory_xact_lock(hashtextextended('recoup.denied_call', 60));
  insert into recoup.denied_call as d (minute, address, key_prefix, refusal, calls)
  select minute_, f.address, f.key_prefix, f.refusal, sum(f.calls)
    from (
      select case when x.fits then x.address else '*' end as address,
             case when x.fits then x.prefix else '' end as key_prefix, x.refusal, x.calls
        from (
          select g.*, g.known or row_number() over (partition by g.known order by g.calls desc, g.address, g.prefix)
                   <= rows_most - (select count(*) from recoup.denied_call d where d.minute = minute_) as fits
            from (
              select s.*, exists (select from recoup.denied_call d
                                   where (d.minute, d.address, d.key_prefix, d.refusal)
                                         = (minute_, s.address, s.prefix, s.refusal)) as known
                from (
                  select u.address, coalesce(k.prefix, '') as prefix, u.refusal, sum(u.calls) as calls
                    from unnest(addresses, prefixes, refusals, counts) u (address, prefix, refusal, calls)
                    left join recoup.api_key k on k.prefix = u.prefix
                   group by 1, 2, 3) s) g) x) f
   group by f.address, f.key_prefix, f.refusal
  on conflict (minute, address, key_prefix, refusal) do update set calls = d.calls + excluded.calls;
end $$;
comment on function recoup.count_denied(text[], text[], text[], bigint[], integer) is
'Counts denied calls of this minute. What would be more rows than allowed is counted together.';

grant execute on function recoup.begin_request(text, text, text, text, bytea),
  recoup.end_request(text, text, integer, text, text)
  to recoup_hub, recoup_gate, recoup_runner, recoup_matcher, recoup_evaluator, recoup_scoped_execution,
     recoup_operator, recoup_control_plane, recoup_reviewer, recoup_consumer, recoup_key_manager;
grant execute on function recoup.drop_old_requests() to recoup_service;
