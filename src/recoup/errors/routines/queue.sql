-- The queue of retries follows the errors: what is to be retried is in it, once, and what is not, is not.

create or replace view recoup.error_claim as
select c.seq, c.logged_at, split_part(u, '/', 1) as error_table, split_part(u, '/', 2)::bigint as error_id,
       split_part(u, '/', 3)::integer - 1 as retry_count, c.token, c.worker, c.lease_until, c.actor, c.actor_id,
       c.authority
  from recoup.claim_log c cross join unnest(c.units) u
 where c.subject = 'recoup.error';
comment on view recoup.error_claim is 'Every claim of an error, one by one, as recoup.claim_log has them together.';
comment on column recoup.error_claim.seq is 'Order over all logs.';
comment on column recoup.error_claim.logged_at is 'When.';
comment on column recoup.error_claim.error_table is 'The error''s table …';
comment on column recoup.error_claim.error_id is '… and its id there.';
comment on column recoup.error_claim.retry_count is 'Retries that had ended before.';
comment on column recoup.error_claim.token is 'Fencing token.';
comment on column recoup.error_claim.worker is 'Who claimed.';
comment on column recoup.error_claim.lease_until is 'The end of the lease.';
comment on column recoup.error_claim.actor is 'system, ai or human.';
comment on column recoup.error_claim.actor_id is 'Who exactly.';
comment on column recoup.error_claim.authority is 'Database role that acted.';
grant select on recoup.error_claim to recoup_reader;

create or replace view recoup.error_story as
select v.seq, v.logged_at, v.error_table, v.error_id, v.event_type, v.from_status, v.to_status, v.disposition,
       v.retry_count, v.reason, v.facts, v.token, v.actor, v.actor_id, v.authority
  from recoup.error_event v
union all
select c.seq, c.logged_at, c.error_table, c.error_id, 'CLAIMED', 'RETRY_PENDING', 'RETRY_PENDING', 'RETRY',
       c.retry_count, c.worker, null, c.token, c.actor, c.actor_id, c.authority
  from recoup.error_claim c;
comment on view recoup.error_story is 'All that happened to errors: their events, and their claims as CLAIMED.';
comment on column recoup.error_story.seq is 'Order over all logs.';
comment on column recoup.error_story.logged_at is 'When.';
comment on column recoup.error_story.error_table is 'The error''s table …';
comment on column recoup.error_story.error_id is '… and its id there.';
comment on column recoup.error_story.event_type is 'What happened.';
comment on column recoup.error_story.from_status is 'Status before; null at birth.';
comment on column recoup.error_story.to_status is 'Status after.';
comment on column recoup.error_story.disposition is 'Disposition after.';
comment on column recoup.error_story.retry_count is 'Ended retries after.';
comment on column recoup.error_story.reason is 'Why; of a claim, who claimed.';
comment on column recoup.error_story.facts is 'What else belongs to it.';
comment on column recoup.error_story.token is 'Of a claim, and of the retry that it was for.';
comment on column recoup.error_story.actor is 'system, ai or human.';
comment on column recoup.error_story.actor_id is 'Who exactly.';
comment on column recoup.error_story.authority is 'Database role that acted.';
grant select on recoup.error_story to recoup_reader;

create or replace function recoup.hold_unclaimed(error_id_ bigint) returns setof bigint
language sql as $$
  -- Locked, so that nobody claims it now; passed over while somebody does.
  select q.unit from recoup.error_queue q where q.unit = error_id_ and q.token is null for no key update skip locked
$$;
comment on function recoup.hold_unclaimed(bigint) is
'An error that waits for its retry, unclaimed and locked; or nothing.';

create or replace function recoup.queue_retries() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'recoup.error');
  insert into recoup.error_queue (unit, part, round, wake_at, until, category, max_retries)
  select n.error_id, n.error_table, n.retry_count, n.next_retry_at, n.retry_until, n.category, n.max_retries
    from new_rows n where n.status = 'RETRY_PENDING' and n.archived_at is null;
  return null;
end $$;
revoke execute on function recoup.queue_retries() from public;
comment on function recoup.queue_retries() is 'What is born to be retried is queued.';

create or replace function recoup.settle_retries() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  kinds   record;
  broken  bigint;
  put_off bigint := 0;
begin
  perform recoup.require_table(tg_relid, 'recoup.error');
  select count(*) filter (where n.status = 'RETRY_PENDING' and n.archived_at is null) as waiting,
         count(*) filter (where n.status <> 'RETRY_PENDING' or n.archived_at is not null) as gone into kinds
    from new_rows n;
  -- Who ends a retry that is under way counts it, and presents its token; who ends none does neither.
  if kinds.gone > 0 then
    with gone as (
      delete from recoup.error_queue q
       using new_rows n
       where q.unit = n.error_id and (n.status <> 'RETRY_PENDING' or n.archived_at is not null)
      returning q.unit, n.retry_count - q.round <> (q.token is not null)::integer or q.token <> n.token as is_broken)
    select min(g.unit) filter (where g.is_broken) into broken from gone g;
  end if;
  if kinds.waiting > 0 and broken is null then
    update recoup.error_queue q
       set token = null, worker = null, claimed_at = null, wake_at = n.next_retry_at, round = n.retry_count
      from new_rows n
     where q.unit = n.error_id and n.status = 'RETRY_PENDING' and n.archived_at is null
       and q.token = n.token and q.round + 1 = n.retry_count;
    get diagnostics put_off = row_count;
  end if;
  if kinds.waiting > put_off and broken is null then
    select min(q.unit) into broken
      from new_rows n
     cross join lateral (select q.unit, q.round from recoup.error_queue q where q.unit = n.error_id limit 1) q
     where n.status = 'RETRY_PENDING' and n.archived_at is null and q.round <> n.retry_count;
    insert into recoup.error_queue (unit, part, round, wake_at, until, category, max_retries)
    select n.error_id, n.error_table, n.retry_count, n.next_retry_at, n.retry_until, n.category, n.max_retries
      from new_rows n
     where n.status = 'RETRY_PENDING' and n.archived_at is null
       and not exists (select from recoup.error_queue q where q.unit = n.error_id);
  end if;
  if broken is not null then
    raise exception using errcode = 'RC047',
      message = format('Error %s: its retry is not yours to end.', broken),
      hint = 'Wait for its outcome, or for its lease to expire.',
      detail = jsonb_build_object('error_id', broken, 'why', 'token');
  end if;
  return null;
end $$;
revoke execute on function recoup.settle_retries() from public;
comment on function recoup.settle_retries() is
'The place in the queue follows the error: taken out, put off, or queued again.';

create or replace function recoup.dequeue_retries() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'recoup.error');
  delete from recoup.error_queue q
   where q.unit = any(array(select o.error_id from old_rows o
                             where o.status = 'RETRY_PENDING' and o.archived_at is null));
  return null;
end $$;
revoke execute on function recoup.dequeue_retries() from public;
comment on function recoup.dequeue_retries() is 'What leaves while it waits for its retry is taken out of the queue.';

call recoup.equip_queue('recoup.error_queue', 'recoup.error', '24 hours', 'hub', 'error_worker');
