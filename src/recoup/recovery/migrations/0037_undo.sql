-- What actions change and can be undone: keys with their versions, and which candidate undoes which.

create table recovery.config (
  key          text not null check (key ~ '^[a-z][a-z0-9_.-]{0,99}$'),
  version      integer not null check (version > 0),
  status       text not null default 'set' check (status in ('set', 'removed')),
  value        jsonb check (octet_length(value::text) <= 100000),
  candidate_id uuid,
  set_by       text not null check (octet_length(set_by) between 1 and 500),
  reason       text not null check (octet_length(reason) between 1 and 2000),
  set_at       timestamptz not null check (isfinite(set_at)),
  constraint config_value check ((status = 'removed') = (value is null)),
  primary key (key, version)
);

-- Null again when it failed, was skipped or rejected: then another one may undo the same. As a value of the row and not
-- as the condition of an index: a status in that would be written to the index with every move of every candidate.
alter table recovery.candidate add column undoes uuid generated always as (
  case when action_type = 'rollback' and status not in ('failed', 'skipped', 'rejected')
       then (parameters ->> 'undoes')::uuid end) stored;
-- This prevents that a candidate is undone twice.
create unique index candidate_undoes on recovery.candidate (undoes) where undoes is not null;

-- What an effect makes depends on what its action is given.
drop function if exists recovery.makes(text, text);

grant select on recovery.config to recoup_reader;
-- The executor as the consequence of a candidate only: by hand the guard refuses it.
grant insert (key, version, status, value, candidate_id, set_by, reason, set_at)
  on recovery.config to recoup_executor, recoup_operator;
