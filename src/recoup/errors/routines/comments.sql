-- Comments of the tables of errors, where they replace those of a migration, whose text never changes.

do $$
declare
  table_ text;
begin
  foreach table_ in array array['recoup.error', 'recoup.error_archive'] loop
    execute format($sql$
      comment on column %1$s.error_code is 'Code of the failure, as given by its hub.';
      comment on column %1$s.error_message is 'Message of the failure.';
      comment on column %1$s.severity is 'CRITICAL, HIGH, MEDIUM or LOW, if the reporter gave one.';
      comment on column %1$s.disposition is 'RETRY, PARKED, ARCHIVE or IGNORE: what the policy decided to do with it.';
      comment on column %1$s.retry_count is
        'Number of retries that have ended, including those whose worker died. Never decreases.';
      comment on column %1$s.max_retries is 'Maximum number of retries; an unpark grants one more.';
      comment on column %1$s.retry_until is
        'End of the retry window; null: no automatic retries, or a person started the retry.';
      comment on column %1$s.last_outcome is
        'How the last retry ended: SUCCEEDED, FAILED, or LAPSED when its lease expired without a result.';
      comment on column %1$s.last_failure is 'Message of the last failed retry.';
      comment on column %1$s.park_reason is
        'Why the error was parked (code or text); kept also where the table does not allow parking.';
      comment on column %1$s.payload is 'Further data from its hub; secrets are redacted before it is stored.';
      comment on column %1$s.decided_by is
        'What decided its disposition: person, hub rule, code rule, severity or table.';
      comment on column %1$s.clamped_from is
        'The wanted disposition, where this table does not allow it; null: it was allowed.';
      comment on column %1$s.created_at is
        'When it first failed: a newer error inherits the time of the retried or parked one that it supersedes.';
      comment on column %1$s.updated_at is 'When it last changed.';
      comment on column %1$s.overruled is
        'What its report asked for, where the open error of the same failure was stronger; null: not overruled.';
    $sql$, table_);
  end loop;
end $$;
comment on table recoup.error is
'Every failure of a hub, recorded once. Its partitions are the error tables; rows are only moved to the archive.';
comment on column recoup.error.expires_at is
'After this time it is archived as TTL_EXPIRED; an unpark moves it. Null: never.';
comment on column recoup.error.last_retry_at is 'When the last ended retry began.';
comment on column recoup.error.archived_at is
'When it was closed: it blocks nothing from then on, and the archiver moves it later.';
comment on column recoup.error.token is
'Fencing token of the last ended retry; recoup.error_queue has that of the current one.';
comment on table recoup.error_archive is
'Closed and expired errors, unchanged, by table and month. Append-only; a month is dropped after its retention.';
comment on column recoup.error_archive.archived_at is
'When it was resolved, superseded, archived by hand, or found expired.';
comment on column recoup.error_archive.was_blocking is 'Whether it still blocked its entity when it expired.';
comment on column recoup.error_archive.token is 'Fencing token of the last ended retry.';
comment on table recoup.error_archive_month is
'The months of the archives. Inserting a row creates its partition; DROPPED drops it, and keeps count and digest.';
comment on column recoup.error_archive_month.made_at is 'When its partition was created.';
comment on column recoup.error_archive_month.rows is 'How many errors it had when it was dropped.';
comment on view recoup.error_claim is 'Every claim of an error, one row each; recoup.claim_log has them together.';
comment on column recoup.error_claim.worker is 'The worker that claimed it.';
comment on column recoup.error_claim.retry_count is 'Retries that had ended before the claim.';
comment on column recoup.error_event.to_status is 'Status after; ARCHIVED when it was moved to the archive.';
comment on column recoup.error_event.reason is
'Why: a park reason, the message of a failed retry, a person''s reason, an archive reason.';
comment on column recoup.error_event.facts is 'Further facts of the event.';
comment on column recoup.error_event.login is 'Login of the session; null in rows from before logins were stored.';
comment on column recoup.error_event.form is 'Of a RECORDED event: which columns the digest covers, by number.';
comment on column recoup.error_event.digest is
'Of a RECORDED event: digest of the values that the error was inserted with; null in older rows.';
comment on table recoup.error_queue is 'Errors to retry: when each is due, or which worker has claimed it until when.';
comment on table recoup.error_redaction is
'Secrets erased from errors after they were recorded. Inserting a row erases; the control log has actor and reason.';
comment on column recoup.error_redaction.error_message is
'The new message, with [redacted] in place of the secret. Not stored here: the error has it.';
comment on column recoup.error_redaction.payload is 'The new payload. Not stored here.';
comment on column recoup.error_redaction.last_failure is 'The new message of the last failed retry. Not stored here.';
comment on view recoup.error_story is 'The history of errors: their events, and their claims as CLAIMED.';
comment on column recoup.error_story.reason is 'Why; of a claim, the worker.';
comment on column recoup.error_story.facts is 'Further facts of the event.';
comment on column recoup.error_story.token is 'Of a claim, and of the retry that was claimed.';
