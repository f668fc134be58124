-- Claims of errors, one by one, as a part of their story.

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
