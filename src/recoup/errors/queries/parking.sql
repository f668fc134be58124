-- What people do with errors. Rows are selected by pairs and by the lists of tables and ids: the pairs tell which, the
-- lists use the primary keys, however large the tables are.

-- name: hold
-- Before the errors are locked, as recording does: otherwise one holds the entity and waits for the error, the other
-- holds the error and waits for the entity, and with a promotion between them both wait for the deadlock check.
select recoup.hold_entities(array(
  select e.outreach_id
    from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
   cross join lateral (
     select e.outreach_id from recoup.error e
      where e.error_table = g.error_table and e.error_id = g.error_id limit 1) e));

-- name: lock
-- In the order of tables and ids, so that two sets with common rows wait for each other instead of deadlocking.
select g.error_table, g.error_id, e.status, e.ttl_tier, e.escalation_level, e.assigned_to, e.archive_reason
  from (select * from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
         order by error_table, error_id) g
 cross join lateral (
   select e.* from recoup.error e
    where e.error_table = g.error_table and e.error_id = g.error_id limit 1 for no key update) e
  -- After the error: then it cannot be claimed.
  left join lateral (
    select from recoup.error_queue q where q.unit = e.error_id limit 1 for no key update) q on true;

-- name: archived
select a.error_table, a.error_id
  from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
  join recoup.error_archive a on a.error_table = g.error_table and a.error_id = g.error_id;

-- name: park
-- A retry that is under way ends: its worker's token is no longer valid, and the retry counts. In the first tier, or in
-- the one where it was.
with t as materialized (
  select recoup.now() as now_, recoup.acting_id() as who, recoup.error_policy() as policy)
update recoup.error e
   set status = 'PARKED', disposition = 'PARKED', parked_at = t.now_, parked_by = t.who, park_reason = %(reason)s,
       parked_since = coalesce(e.parked_since, t.now_),
       escalation_level = recoup.tier_when_parked(e.escalation_level, e.parked_since, t.now_, t.policy),
       escalated_at = t.now_,
       escalated_to = recoup.owner_when_parked(e.error_table, e.escalation_level, e.escalated_to, e.parked_since,
                                               t.now_, t.policy),
       escalation_reason = %(reason)s,
       sla_due_at = t.now_ + recoup.sla_of(
         recoup.tier_when_parked(e.escalation_level, e.parked_since, t.now_, t.policy), t.policy),
       sla_met_at = null, sla_breached_at = null,
       next_retry_at = null, retry_count = e.retry_count + (g.token is not null)::integer,
       token = coalesce(g.token, e.token), last_retry_at = coalesce(g.claimed_at, e.last_retry_at),
       updated_at = greatest(e.updated_at, t.now_)
  from t, (
    select g.error_table, g.error_id, q.token, q.claimed_at
      from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
      left join recoup.error_queue q on q.unit = g.error_id) g
 where e.error_table = g.error_table and e.error_id = g.error_id
   and e.error_table = any(%(among)s::text[]) and e.error_id = any(%(ids)s::bigint[]);

-- name: unpark
-- Without a window: a person started it. Its parking columns are cleared; the log has them. Its place among the tiers
-- of escalation is kept, in case it is parked again. It is kept for its tier from now, so that there is time for its
-- retries.
with t as materialized (select recoup.now() as now_, recoup.error_policy() as policy)
update recoup.error e
   set status = 'RETRY_PENDING', disposition = 'RETRY', max_retries = greatest(e.max_retries, e.retry_count + 1),
       next_retry_at = t.now_, retry_until = null,
       expires_at = greatest(e.expires_at, recoup.kept_until(e.ttl_tier, t.now_, t.policy)),
       parked_at = null, parked_by = null, park_reason = null, parked_since = coalesce(e.parked_since, e.parked_at),
       last_reviewed_at = t.now_,
       sla_met_at = recoup.sla_met(e.status, e.sla_due_at, e.sla_met_at, e.sla_breached_at, t.now_),
       retry_with = null,
       updated_at = greatest(e.updated_at, t.now_)
  from t, unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 where e.error_table = g.error_table and e.error_id = g.error_id
   and e.error_table = any(%(among)s::text[]) and e.error_id = any(%(ids)s::bigint[]);

-- name: resolve
with t as materialized (select recoup.now() as now_)
update recoup.error e
   set status = 'RESOLVED', archived_at = t.now_, archive_reason = 'RESOLVED',
       last_reviewed_at = t.now_,
       sla_met_at = recoup.sla_met(e.status, e.sla_due_at, e.sla_met_at, e.sla_breached_at, t.now_),
       next_retry_at = null, retry_count = e.retry_count + (g.token is not null)::integer,
       token = coalesce(g.token, e.token), last_retry_at = coalesce(g.claimed_at, e.last_retry_at),
       updated_at = greatest(e.updated_at, t.now_)
  from t, (
    select g.error_table, g.error_id, q.token, q.claimed_at
      from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
      left join recoup.error_queue q on q.unit = g.error_id) g
 where e.error_table = g.error_table and e.error_id = g.error_id
   and e.error_table = any(%(among)s::text[]) and e.error_id = any(%(ids)s::bigint[]);

-- name: escalate
-- The clock of its new tier begins; that of the one before ends.
with t as materialized (select recoup.now() as now_, recoup.error_policy() as policy)
update recoup.error e
   set status = 'ESCALATED', escalation_level = g.level, escalated_at = t.now_, escalated_to = g.owner,
       escalation_reason = %(reason)s, parked_since = coalesce(e.parked_since, e.parked_at),
       sla_due_at = t.now_ + recoup.sla_of(g.level, t.policy), sla_met_at = null, sla_breached_at = null,
       last_reviewed_at = t.now_, updated_at = greatest(e.updated_at, t.now_)
  from t, unnest(%(tables)s::text[], %(ids)s::bigint[], %(levels)s::integer[], %(owners)s::text[])
            g (error_table, error_id, level, owner)
 where e.error_table = g.error_table and e.error_id = g.error_id
   and e.error_table = any(%(among)s::text[]) and e.error_id = any(%(ids)s::bigint[]);

-- name: assign
with t as materialized (select recoup.now() as now_)
update recoup.error e
   set assigned_to = %(to)s, last_reviewed_at = t.now_,
       sla_met_at = recoup.sla_met(e.status, e.sla_due_at, e.sla_met_at, e.sla_breached_at, t.now_),
       updated_at = greatest(e.updated_at, t.now_)
  from t, unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 where e.error_table = g.error_table and e.error_id = g.error_id
   and e.error_table = any(%(among)s::text[]) and e.error_id = any(%(ids)s::bigint[]);

-- name: review
with t as materialized (select recoup.now() as now_)
update recoup.error e
   set last_reviewed_at = t.now_,
       sla_met_at = recoup.sla_met(e.status, e.sla_due_at, e.sla_met_at, e.sla_breached_at, t.now_),
       updated_at = greatest(e.updated_at, t.now_)
  from t, unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 where e.error_table = g.error_table and e.error_id = g.error_id
   and e.error_table = any(%(among)s::text[]) and e.error_id = any(%(ids)s::bigint[]);

-- name: archive
-- Its status stays; the archiver moves it.
with t as materialized (select recoup.now() as now_)
update recoup.error e
   set archived_at = t.now_, archive_reason = 'MANUAL', last_reviewed_at = t.now_,
       sla_met_at = recoup.sla_met(e.status, e.sla_due_at, e.sla_met_at, e.sla_breached_at, t.now_),
       next_retry_at = null, retry_count = e.retry_count + (g.token is not null)::integer,
       token = coalesce(g.token, e.token), last_retry_at = coalesce(g.claimed_at, e.last_retry_at),
       updated_at = greatest(e.updated_at, t.now_)
  from t, (
    select g.error_table, g.error_id, q.token, q.claimed_at
      from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
      left join recoup.error_queue q on q.unit = g.error_id) g
 where e.error_table = g.error_table and e.error_id = g.error_id
   and e.error_table = any(%(among)s::text[]) and e.error_id = any(%(ids)s::bigint[]);
