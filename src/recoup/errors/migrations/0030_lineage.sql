-- All errors of one failure, each superseding the one before it, are one lineage: what recovery works on. And recovery
-- moves errors: by its executor, and with a reviewer's approval.

alter table recoup.error add column lineage_id bigint constraint error_lineage check (lineage_id <= error_id);
alter table recoup.error_archive add column lineage_id bigint;
comment on column recoup.error.lineage_id is
'The error_id of the first error of its lineage: a newer error inherits it from the one that it supersedes.'
' Null: recorded by an older release, or inserted by SQL without it; then the error is its own lineage.';
comment on column recoup.error_archive.lineage_id is
'The error_id of the first error of its lineage.'
' Null: recorded by an older release, or inserted by SQL without it; then the error is its own lineage.';

-- By the consequence alone (recoup.lifecycle_step): by hand the guard refuses, and says why.
grant update (status, disposition, max_retries, next_retry_at, retry_until, expires_at, parked_at, parked_by,
  park_reason, escalation_level, escalated_at, escalated_to, escalation_reason, archived_at, archive_reason,
  updated_at) on recoup.error to recoup_executor;
grant update (last_reviewed_at, updated_at) on recoup.error to recoup_reviewer;

-- Made again by the routines, with other results or parameters.
drop function if exists recoup.inherited(bigint[], text[], bigint[]);
drop function if exists recoup.error_digest(text, bigint, uuid, text, text, text, text, text, text, text, text, text,
  integer, timestamptz, text, jsonb);
