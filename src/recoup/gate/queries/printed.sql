-- What the documents cl.gate_zero_recovery and cl.gate_zero_air print, as queries for what differs from it: columns,
-- comments, and the queries themselves, which have to run as printed. Rows as in invariants.sql: the first column,
-- breaks, is an id.

-- name: columns
with printed (breaks, relation, place, name, type, nullable) as (values
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 1, 'recovery_id', 'uuid', false),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 2, 'intake_id', 'uuid', false),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 3, 'batch_id', 'text', true),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 4, 'failure_reason', 'text', false),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 5, 'attempt_count', 'integer', false),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 6, 'next_eligible_at', 'timestamp with time zone', false),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 7, 'status', 'text', false),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 8, 'created_at', 'timestamp with time zone', false),
  ('gate_zero_recovery/2/columns', 'cl.gate_zero_recovery', 9, 'updated_at', 'timestamp with time zone', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 1, 'air_event_id', 'uuid', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 2, 'entity_type', 'text', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 3, 'entity_id', 'uuid', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 4, 'stage_id', 'text', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 5, 'process_id', 'text', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 6, 'event_type', 'text', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 7, 'reason_code', 'text', false),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 8, 'batch_id', 'text', true),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 9, 'payload_ref', 'text', true),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 10, 'actor', 'text', true),
  ('gate_zero_air/2/columns', 'cl.gate_zero_air', 11, 'event_timestamp', 'timestamp with time zone', false)),
found as (
  select c.oid, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
         row_number() over (partition by c.oid order by a.attnum) as place
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.oid in (to_regclass('cl.gate_zero_recovery'), to_regclass('cl.gate_zero_air')))
select p.breaks, p.place, p.name as printed_name, p.type as printed_type, p.nullable as printed_nullable,
       f.name as found_name, f.type as found_type, f.nullable as found_nullable
  from printed p left join found f on f.oid = to_regclass(p.relation) and f.place = p.place
 where (p.name, p.type, p.nullable) is distinct from (f.name, f.type, f.nullable)

-- name: comments
-- As printed, but for the one slip: ACTIVE is not terminal (docs/explain/amendments.md).
with printed (breaks, relation, name, text) as (values
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', null,
   'Failed intake records awaiting retry. '
   'Tracks throttle state (attempt_count, next_eligible_at) and failure reason. '
   'Terminal states: EXHAUSTED (no more retries) and SUCCEEDED (a retry passed); ACTIVE is retryable.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'recovery_id',
   'Unique identifier for this recovery record. Auto-generated UUID.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'intake_id',
   'Reference to original gate_zero_intake record. One intake → one recovery.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'batch_id',
   'Inherited from intake. Used for batch-level operations.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'failure_reason',
   'Reason code from last failed attempt. Updated on each retry.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'attempt_count',
   'Number of verification attempts. Starts at 1. Max 3.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'next_eligible_at',
   'Earliest timestamp when retry is permitted. Enforced gate.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'status',
   'Recovery status: ACTIVE (retryable) or EXHAUSTED (terminal).'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'created_at',
   'Timestamp when recovery record was created.'),
  ('gate_zero_recovery/11/comments', 'cl.gate_zero_recovery', 'updated_at',
   'Timestamp of last update.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', null,
   'Immutable AIR (Action/Incident/Result) event log for Gate Zero. '
   'Records every verification attempt, pass, fail, and authorization. '
   'Downstream workers subscribe to this table for AUTH events. Append-only; no UPDATE or DELETE permitted.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'air_event_id',
   'Unique identifier for this AIR event. Auto-generated UUID. Immutable.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'entity_type',
   'Type of entity: always "intake" for Gate Zero.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'entity_id',
   'The intake_id this event relates to.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'stage_id',
   'Stage identifier: always "GATE_ZERO" for this table.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'process_id',
   'Process identifier: the specific action taken (e.g., VERIFY_COMPANY_EXISTENCE).'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'event_type',
   'Event outcome: ATTEMPT, PASS, FAIL, AUTH, EXHAUSTED, REENTER.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'reason_code',
   'Specific reason code for this event.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'batch_id',
   'Optional batch identifier. Inherited from intake.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'payload_ref',
   'Optional pointer to additional payload data.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'actor',
   'Who/what triggered this event: system, ai, human.'),
  ('gate_zero_air/10/comments', 'cl.gate_zero_air', 'event_timestamp',
   'When this event occurred. Immutable. Always UTC.'))
select p.breaks, p.relation, p.name as column_name, p.text as printed, f.text as found
  from printed p
  left join pg_attribute a on a.attrelid = to_regclass(p.relation) and a.attname = p.name
 cross join lateral (select case when p.name is null then obj_description(to_regclass(p.relation), 'pg_class')
                                 else col_description(to_regclass(p.relation), a.attnum) end) f (text)
 where f.text is distinct from p.text
   -- Applied as printed, the amended one is right too.
   and (p.breaks, p.name is null, f.text) is distinct from (
     'gate_zero_recovery/11/comments', true,
     'Failed intake records awaiting retry. '
     'Tracks throttle state (attempt_count, next_eligible_at) and failure reason. '
     'Terminal states: ACTIVE (retryable) or EXHAUSTED (no more retries).')

-- name: printed_eligible_retries
-- The document's query as printed; what it returns and nobody may retry.
select 'gate_zero_recovery/10/eligible-retries-query' as breaks, p.*, i.status
  from (SELECT r.recovery_id, r.intake_id, r.attempt_count, i.company_name
        FROM cl.gate_zero_recovery r
        JOIN cl.gate_zero_intake i ON r.intake_id = i.intake_id
        WHERE r.status = 'ACTIVE'
          AND r.next_eligible_at <= now()
        ORDER BY r.next_eligible_at ASC) p
  join cl.gate_zero_intake i on i.intake_id = p.intake_id
 where i.status <> 'FAILED'

-- name: printed_exhausted_records
select 'gate_zero_recovery/10/exhausted-records-query' as breaks, p.*, i.status
  from (SELECT r.intake_id, r.failure_reason, r.attempt_count
        FROM cl.gate_zero_recovery r
        WHERE r.status = 'EXHAUSTED'
          AND r.batch_id = '2025_annual_outreach') p
  join cl.gate_zero_intake i on i.intake_id = p.intake_id
 where i.status <> 'EXHAUSTED'

-- name: printed_subscription
-- From the beginning. An AUTH that the mint worker would read must lead to an intake it may mint.
select 'gate_zero_air/8/subscription-query' as breaks, p.*, i.status
  from (SELECT entity_id AS intake_id, event_timestamp
        FROM cl.gate_zero_air
        WHERE stage_id = 'GATE_ZERO'
          AND event_type = 'AUTH'
          AND reason_code = 'EXISTENCE_CONFIRMED'
          AND event_timestamp > '-infinity'
        ORDER BY event_timestamp ASC) p
  left join cl.gate_zero_intake i on i.intake_id = p.intake_id
 where i.status is null or i.status not in ('AUTHORIZED', 'REENTER_SUCCEEDED')

-- name: printed_intake_history
-- Of the entity that was written last. An event before an earlier one is not chronological.
select 'gate_zero_air/9/intake-history-query' as breaks, p.*
  from (select p.*, lag(p.event_timestamp) over () as before_timestamp,
               p.place = 1 and p.event_type <> 'ATTEMPT' as begins_badly
          from (select p.*, row_number() over () as place
                  from (SELECT event_type, reason_code, event_timestamp
                        FROM cl.gate_zero_air
                        WHERE entity_id = (select l.entity_id from cl.gate_zero_air l order by l.seq desc limit 1)
                        ORDER BY event_timestamp ASC) p) p) p
 where p.event_timestamp <= p.before_timestamp or p.begins_badly

-- name: printed_recent_failures
select 'gate_zero_air/9/recent-failures-query' as breaks, p.*, i.status
  from (SELECT entity_id, reason_code, event_timestamp
        FROM cl.gate_zero_air
        WHERE event_type = 'FAIL'
          AND event_timestamp > now() - INTERVAL '24 hours'
        ORDER BY event_timestamp DESC) p
  left join cl.gate_zero_intake i on i.intake_id = p.entity_id
 where i.status is null or i.status in ('PENDING', 'AUTHORIZED')

-- name: printed_authorization_subscription
select 'gate_zero_air/9/authorization-subscription-query' as breaks, p.*, i.status
  from (SELECT entity_id, event_timestamp
        FROM cl.gate_zero_air
        WHERE stage_id = 'GATE_ZERO'
          AND event_type = 'AUTH'
          AND reason_code = 'EXISTENCE_CONFIRMED'
        ORDER BY event_timestamp ASC) p
  left join cl.gate_zero_intake i on i.intake_id = p.entity_id
 where i.status is null or i.status not in ('AUTHORIZED', 'REENTER_SUCCEEDED')
