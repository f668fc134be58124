-- name: matching
-- The conditions of a selection, over partitions (p), their schedules (s) and their last verdicts (a). Planned
-- again each time, so that conditions that are not used cost nothing.
(%(sources)s::text[] is null or p.source = any(%(sources)s::text[]))
   and (%(customer_ids)s::text[] is null or p.customer_id = any(%(customer_ids)s::text[]))
   and (%(query_names)s::text[] is null or p.query_name = any(%(query_names)s::text[]))
   and (%(first_day)s::date is null or p.logical_date >= %(first_day)s::date)
   and (%(last_day)s::date is null or p.logical_date <= %(last_day)s::date)
   and (%(firsts)s::date[] is null or exists (
          select from unnest(%(firsts)s::date[], %(lasts)s::date[]) d (first, last)
           where p.logical_date between coalesce(d.first, '-infinity') and coalesce(d.last, 'infinity')))
   and (%(statuses)s::text[] is null or p.status = any(%(statuses)s::text[]))
   and (%(backfills)s::uuid[] is null or s.backfill_id = any(%(backfills)s::uuid[]))
   and (%(terminal_causes)s::text[] is null or s.terminal_causes && %(terminal_causes)s::text[])
   and (%(reasons)s::text[] is null or a.reason = any(%(reasons)s::text[]))
   and (%(rules)s::text[] is null or a.rule = any(%(rules)s::text[]))
   and (%(signatures)s::text[] is null or a.error_signature = any(%(signatures)s::text[]))
   and (%(categories)s::text[] is null or a.category = any(%(categories)s::text[]))
   and (%(validator_versions)s::text[] is null or a.validator_version = any(%(validator_versions)s::text[]))
   and (%(failed_since)s::timestamptz is null
        or a.verdict = 'rejected' and a.logged_at >= %(failed_since)s::timestamptz)
