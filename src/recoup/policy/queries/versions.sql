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
insert into recoup.policy (version, figures, document, reason)
values (%(version)s, %(figures)s, %(document)s, %(reason)s)
    on conflict (version) do nothing;
