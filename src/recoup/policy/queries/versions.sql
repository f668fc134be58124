-- name: find_version
select version, applied_at, actor, actor_id, reason, figures, document
  from recoup.policy
 where version = coalesce(%(version)s::integer, (select recoup.policy_version()));

-- name: list_versions
select version, applied_at, actor, actor_id, reason, figures, document
  from recoup.policy order by version desc limit %(limit)s;

-- name: latest_figures
select version, figures, document from recoup.policy order by version desc limit 1;

-- name: write_version
-- States that these values were validated as a whole, which the database cannot do.
insert into recoup.policy (version, figures, document, reason)
select %(version)s, g.figures, %(document)s, %(reason)s
  from (select %(figures)s::jsonb) g (figures)
 where set_config('recoup.policy_checked', md5(g.figures::text), true) is not null
    on conflict (version) do nothing;

-- name: version_at
select version, applied_at, actor, actor_id, reason, figures, document
  from recoup.policy where applied_at <= %(at)s order by version desc limit 1;

-- name: versions_at
select g.at, p.version
  from unnest(%(times)s::timestamptz[]) g (at)
 cross join lateral (
   select p.version from recoup.policy p where p.applied_at <= g.at order by p.version desc limit 1) p;
