-- The policy on deliveries, for decisions in the database.

create or replace function recoup.delivery_policy() returns jsonb
language sql stable as $$ select p.figures -> 'deliveries' from recoup.policy p order by p.version desc limit 1 $$;
comment on function recoup.delivery_policy() is 'The section on deliveries of the active policy.';

create or replace function recoup.delivery_tries(version_ integer, route_ text) returns integer
language sql stable as $$
  select (p.figures #>> array['deliveries', 'routes', route_, 'max_tries'])::integer
    from recoup.policy p where p.version = version_
$$;
comment on function recoup.delivery_tries(integer, text) is
'How often a delivery by this route is tried that was queued under this policy; null: it has no such route.';

create or replace function recoup.delivery_is_behind(delivery_id_ uuid) returns boolean
language sql stable as $$
  -- Notices of one alert by one route arrive in their order: one that ended must not be reported as firing after that.
  select exists (
    select from recoup.delivery d
      join recoup.delivery e on e.alert_id = d.alert_id and e.route = d.route and e.status = 'queued'
     where d.delivery_id = delivery_id_ and (e.created_at, e.delivery_id) < (d.created_at, d.delivery_id))
$$;
comment on function recoup.delivery_is_behind(uuid) is
'Whether an earlier notice of the same alert by the same route is still on its way.';

create or replace function recoup.delivery_wait(base_s integer, cap_s integer, tries integer) returns interval
language sql immutable as $$
  -- Doubled with every try. Not before a power of 60 does a double precision overflow; any cap is far below.
  select interval '1 second' * least(cap_s, base_s * power(2::float8, least(tries - 1, 60)))
$$;
comment on function recoup.delivery_wait(integer, integer, integer) is
'How long a delivery waits after this number of failed tries.';
