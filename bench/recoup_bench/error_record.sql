-- Errors by hand: what becomes of each was decided elsewhere, and nothing is looked for that it might supersede.

-- name: record
with recorded as (
  insert into raw.error (error_table, outreach_id, error_code, error_message, error_signature, severity, category, disposition, status,
    ttl_tier, expires_at, max_retries, next_retry_at, retry_until, parked_at, parked_by, park_reason, payload, decided_by, clamped_from,
    policy_version, created_at, updated_at)
  select g.error_table, g.outreach_id, g.error_code, g.error_message, g.error_signature, g.severity, g.category, g.disposition, g.status,
         g.ttl_tier, t.now_ + make_interval(days => g.days), g.max_retries, t.now_ + g.wait, t.now_ + make_interval(hours => g.time_window),
         case when g.status = 'PARKED' then t.now_ end, case when g.status = 'PARKED' then 'system' end, g.park_reason, g.payload::jsonb,
         g.decided_by, g.clamped_from, 1, t.now_, t.now_
    from unnest(%(tables)s::text[], %(entities)s::uuid[], %(codes)s::text[], %(messages)s::text[], %(signatures)s::text[], %(severities)s::text[],
                %(categories)s::text[], %(dispositions)s::text[], %(statuses)s::text[], %(tiers)s::text[], %(days)s::integer[], %(budgets)s::integer[],
                %(waits)s::interval[], %(windows)s::integer[], %(park_reasons)s::text[], %(payloads)s::text[], %(deciders)s::text[], %(clamps)s::text[])
         as g (error_table, outreach_id, error_code, error_message, error_signature, severity, category, disposition, status, ttl_tier, days,
               max_retries, wait, time_window, park_reason, payload, decided_by, clamped_from),
         (select clock_timestamp() as now_) t
  returning error_table, error_id, status, disposition, park_reason, decided_by, clamped_from, created_at),
told as (
  insert into raw.error_event (incarnation, logged_at, error_table, error_id, event_type, to_status, disposition, retry_count, reason, facts, actor, actor_id, authority)
  select 1, r.created_at, r.error_table, r.error_id, 'RECORDED', r.status, r.disposition, 0, r.park_reason,
         case when r.clamped_from is not null then jsonb_build_object('decided_by', r.decided_by, 'clamped_from', r.clamped_from) end,
         'system', %(actor)s, 'recoup_hub'
    from recorded r)
select error_id from recorded;
