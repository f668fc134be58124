-- Which errors are to be retried, and when, apart from the errors themselves: a claim writes a narrow row, and an error
-- is written once for each retry, when it ends.

create table recoup.error_queue (
  unit        bigint primary key,
  like recoup.queue_form including all,
  category    text not null,
  max_retries integer not null
) with (fillfactor = 70);
comment on table recoup.error_queue is
'Errors that are to be retried: since when each is due, or who holds it until when.';
comment on column recoup.error_queue.unit is 'The error''s id; part is its table, round the retries that have ended.';
comment on column recoup.error_queue.category is 'The error''s category: how long it waits for its next retry.';
comment on column recoup.error_queue.max_retries is 'The error''s max_retries.';

-- What is under way goes on: tokens, leases, due times and counts are carried over.
insert into recoup.error_queue (unit, part, round, wake_at, until, token, worker, claimed_at, category, max_retries)
select e.error_id, e.error_table, e.retry_count, coalesce(e.lease_until, e.next_retry_at), e.retry_until, e.token,
       e.leased_by, case when e.token is not null then e.last_retry_at end, e.category, e.max_retries
  from recoup.error e where e.status = 'RETRY_PENDING' and e.archived_at is null;

drop index recoup.error_due;
drop index recoup.error_lease_until;
drop index recoup.error_window;
alter table recoup.error drop constraint error_lease, drop constraint error_lease_pending;
-- The token is another one now, that of the retry that ended last: no row has it yet.
alter table recoup.error drop column token, drop column leased_by, drop column lease_until, add column token uuid;
alter table recoup.error_archive
  drop column token, drop column leased_by, drop column lease_until, add column token uuid;
comment on column recoup.error_archive.token is 'Fencing token of the retry that ended last.';
comment on column recoup.error.token is
'Fencing token of the retry that ended last; who holds it now, recoup.error_queue says.';
comment on column recoup.error.last_retry_at is 'When the last retry that ended began.';
alter table recoup.error_event add column token uuid;
comment on column recoup.error_event.token is 'Of a retry that ended: the token of its claim (recoup.claim_log).';

grant select on recoup.error_queue to recoup_reader;
grant update (token, worker, claimed_at, wake_at) on recoup.error_queue to recoup_hub, recoup_error_worker;
grant update (token) on recoup.error to recoup_hub, recoup_error_worker, recoup_operator;
grant update (last_retry_at) on recoup.error to recoup_operator;
-- To lock a row needs the right to change one: nobody but those above claims (recoup.guard_claims).
grant update (wake_at) on recoup.error_queue to recoup_operator, recoup_archiver;
