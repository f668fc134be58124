-- The policy on partitions, for decisions in the database: read once per statement and passed on.

create or replace function partitions.policy() returns jsonb
language sql stable as $$ select p.figures -> 'partitions' from recoup.policy p order by p.version desc limit 1 $$;
comment on function partitions.policy() is 'The section on partitions of the active policy.';

create or replace function partitions.figures(policy jsonb, source_ text, query_ text) returns jsonb
language sql immutable as $$
  -- What a query says comes before what its source says, and that before what holds for all. Null: it gives no value.
  select policy - '{sources,contracts}'::text[]
         || coalesce(jsonb_strip_nulls((policy #> array['sources', source_]) - 'queries'), '{}')
         || coalesce(jsonb_strip_nulls((policy #> array['sources', source_, 'queries', query_])
                                       - '{customers,extract_with,validate_with}'::text[]), '{}')
$$;
comment on function partitions.figures(jsonb, text, text) is 'The values of the policy for a query of a source.';

create or replace function partitions.backoff(figures jsonb, strategy text, times_ integer, chance float8)
  returns interval
language sql immutable as $$
  -- The last step repeats. chance is between 0 and 1.
  select case strategy when 'none' then interval '0' else make_interval(secs =>
    (figures -> 'backoff_s' ->> case strategy when 'fixed' then 0
       else greatest(least(times_, jsonb_array_length(figures -> 'backoff_s')), 1) - 1 end)::float8
    * (1 + (figures ->> 'jitter')::float8 * (2 * chance - 1))) end
$$;
comment on function partitions.backoff(jsonb, text, integer, float8) is
'How long a partition waits after this number of failures.';

create or replace function partitions.paused_since(source_ text, since timestamptz, until_ timestamptz) returns interval
language sql stable as $$
  -- The logs have every pause, outage and opening of a breaker with its end, and not only the last one. What overlaps
  -- counts once.
  select coalesce(sum(upper(r) - lower(r)), interval '0')
    from unnest((select range_agg(tstzrange(greatest(p.began_at, since), least(p.ended_at, until_)))
                   from (select l.logged_at as began_at, l.event_type = 'PAUSE' as is_pause,
                                lead(l.logged_at, 1, 'infinity') over (partition by l.scope, l.scope_id order by l.seq)
                                  as ended_at
                           from recoup.pause_log l
                          where l.scope = 'global' or l.scope = 'table' and l.scope_id = 'partitions.partition_state'
                             or l.scope = 'partition-source' and l.scope_id = source_
                         union all
                         select l.logged_at, l.to_status = 'unavailable',
                                lead(l.logged_at, 1, 'infinity') over (partition by l.key order by l.seq)
                           from partitions.sink k
                           join recoup.control_log l on l.subject = 'partitions.sink' and l.key = k.sink_id::text
                         union all
                         select l.logged_at, l.to_status <> 'closed',
                                lead(l.logged_at, 1, 'infinity') over (partition by l.key order by l.seq)
                           from recovery.breaker b
                           join recoup.control_log l on l.subject = 'recovery.breaker' and l.key = b.name
                          where b.parts && array['source:' || source_, 'table:partitions.partition_state']) p
                  where p.is_pause and p.ended_at > since and p.began_at < until_)) r
$$;
comment on function partitions.paused_since(text, timestamptz, timestamptz) is
'How long the partitions of a source were paused in this time, behind a breaker, or a raw sink unavailable.';

create or replace function partitions.has_aged(figures jsonb, source_ text, aged_from timestamptz, now_ timestamptz)
  returns boolean
language sql stable as $$
  select case when aged_from is null
                or now_ - aged_from < make_interval(hours => (figures ->> 'max_age_hours')::integer) then false
              else now_ - aged_from - partitions.paused_since(source_, aged_from, now_)
                   >= make_interval(hours => (figures ->> 'max_age_hours')::integer) end
$$;
comment on function partitions.has_aged(jsonb, text, timestamptz, timestamptz) is
'Whether a partition is older than the policy allows, without the time in which it was paused, behind a breaker, or '
'its raw sink unavailable.';
