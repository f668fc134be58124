-- Comments of the platform's tables, where they replace those of a migration, whose text never changes.

comment on schema recoup is
'Recoup''s own tables: clock, lifecycles, logs shared by all domains, subscriptions, errors.';
comment on sequence recoup.subscription_position is 'Positions of subscriptions; no number is used twice.';

comment on table recoup.claim_log is
'Append-only: every claim of work, one row for all units claimed together, written by the claim''s recorder.';
comment on column recoup.claim_log.subject is 'The table of the units.';
comment on column recoup.claim_log.token is 'Fencing token of the claim: a report of an outcome must present it.';
comment on column recoup.claim_log.worker is 'The worker that claimed.';
comment on column recoup.claim_log.units is 'The claimed units: key, and how many attempts had ended before.';
comment on column recoup.claim_log.login is 'Login of the session; null in rows from before logins were stored.';

comment on table recoup.clock is 'The clock of the database: one row. Read the time with recoup.now().';
comment on column recoup.clock.status is
'real: the server''s clock. simulated: the time in "at". released: was simulated, is now the server''s clock for good.';
comment on column recoup.clock.at is 'Simulated time; after a release, the last simulated time.';

comment on table recoup.content_log is
'Append-only: digests of the values that rows were inserted with, one log row for all rows of a statement.';
comment on column recoup.content_log.event_type is
'BIRTH; ADOPTED: the row existed before this log; REDACTED: a secret in the row was erased.';
comment on column recoup.content_log.form is 'Which columns the digests cover, by number: see the declaration.';

comment on table recoup.control_log is
'Append-only: every birth, move and exit of tables that have no log of their own.';
comment on column recoup.control_log.facts is 'Further columns that the step wrote.';
comment on column recoup.control_log.reason is 'Why, as the actor gave it.';
comment on column recoup.control_log.login is 'Login of the session; null in rows from before logins were stored.';

comment on table recoup.declaration_log is 'Append-only: declarations that were added or removed, row by row.';
comment on column recoup.declaration_log.login is 'Login of the session.';

comment on table recoup.domain is
'The domains in this database and their releases. Programs of the same epoch work with them.';
comment on column recoup.domain.epoch is 'A program of another epoch does not work with this database.';
comment on column recoup.domain.release is
'Increases with every change. An older program of the same epoch continues to work, and installs nothing of its own.';

comment on table recoup.duty_tally is
'What each worker did of each background task (duty). Written in the transaction of the work that it counts.';
comment on column recoup.duty_tally.duty is 'The background task.';
comment on column recoup.duty_tally.runs is 'Batches run; idle ones are counted once per heartbeat.';
comment on column recoup.duty_tally.failures is 'Batches that raised an exception and were rolled back.';
comment on column recoup.duty_tally.last_run_at is 'When it last ran, whatever the result.';
comment on column recoup.duty_tally.last_failed_at is 'When it last raised an exception.';
comment on column recoup.duty_tally.last_failure is 'The message of the last exception.';

comment on table recoup.follower is
'What runs after the guard of each table: rules, recorders, consequences. The triggers are made from these rows.';
comment on column recoup.follower.event is 'After which statements it runs.';
comment on column recoup.follower.arguments is 'Arguments of its trigger.';

comment on column recoup.incarnation.incarnation is
'Number carried by log rows and cursors. The highest is the current one.';

comment on table recoup.late_result is
'Append-only: results that arrived after the lease had expired or the work had ended. Stored, not applied.';
comment on column recoup.late_result.login is 'Login of the session; null in rows from before logins were stored.';

comment on table recoup.lifecycle is
'One row per guarded table. `recoup migrate` writes it from the declaration; guards are generated from it.';
comment on column recoup.lifecycle.status_column is 'The column with the status of a row.';
comment on column recoup.lifecycle.counter is 'Column that a counting move increases by exactly one.';
comment on column recoup.lifecycle.rising is 'Columns that never decrease.';
comment on column recoup.lifecycle.move_rule is
'Functions that check a move by its old and new row: broken, refusal, policy, gathers, then; null: none.';
comment on column recoup.lifecycle.queue is
'The queue in which its rows wait for work, and how they are claimed and ended; null: none.';
comment on column recoup.lifecycle.content is
'Number of the list of columns that digests of its rows cover now: the frozen ones; 0: no digests.';
comment on column recoup.lifecycle_step.counts is
'Whether the move must increase the lifecycle''s counter by exactly one.';
comment on column recoup.lifecycle_step.requires is 'Columns that must not be null in an inserted row.';
comment on column recoup.lifecycle_step.through is
'Via: the functions that make this step as their consequence; empty: every role with the authority may make it.';
comment on column recoup.lifecycle_step.says is 'Description of the step.';

comment on table recoup.log is 'Every append-only table: which functions write it, and how its rows are sealed.';
comment on column recoup.log.at is 'The column with the time of the event.';
comment on column recoup.log.recorders is 'The only functions that may write it; empty: see keeper.';
comment on column recoup.log.keeper is
'The trigger function that checks every insert; null: every role with the right may write.';

comment on table recoup.operation is
'One decision of an operator over many rows of a domain. Its set of rows is fixed when it begins.';
comment on column recoup.operation.verb is 'What is done to each row.';
comment on column recoup.operation.arguments is 'The verb''s arguments.';
comment on column recoup.operation.filter is 'The filter that selected the rows.';
comment on column recoup.operation.items is 'The number of rows.';
comment on column recoup.operation.subject is 'The guarded table of the rows.';
comment on table recoup.operation_item is 'One row of a bulk operation, and its result.';
comment on column recoup.operation_item.refusal is 'Why it was refused.';
comment on column recoup.operation_item.unit is 'The row: id, or table and id.';

comment on column recoup.pausable.scope is 'Its kind: global, duty, table, and those that domains declare.';
comment on table recoup.pause is
'What is paused now, and what was paused before. A batch is paused in its own row; recoup.pauses shows both.';
comment on column recoup.pause_log.reason is 'Why, as the actor gave it.';
comment on column recoup.pause_log.login is 'Login of the session; null in rows from before logins were stored.';
comment on view recoup.pauses is 'Everything that is paused now.';

comment on table recoup.policy is
'Append-only: every policy that was ever active. The highest version is active. Rows store the version that decided.';
comment on column recoup.policy.figures is
'Every value of the policy; values that the document does not set are the defaults of that version.';
comment on column recoup.policy.document is 'The TOML document, as given.';
comment on column recoup.policy.login is 'Login of the session; null in rows from before logins were stored.';
comment on table recoup.policy_bound is 'Policy values that the database itself uses, and their bounds.';
comment on column recoup.policy_bound.path is 'Path of the value in the document.';

comment on table recoup.queue_form is 'The columns of a queue. It has no rows.';

comment on table recoup.seal is
'Append-only: sealed blocks of settled log rows, each with a digest, chained. Later changes of these rows are found.';
comment on column recoup.seal.canon is 'Version of the canonical text of its rows: recoup.canon_<log>_<version>.';
comment on column recoup.seal.since is 'The block holds rows that were not visible in this snapshot …';
comment on column recoup.seal.until is '… and are visible in this one; null: the rest of an earlier cluster.';
comment on column recoup.seal.after_seq is 'A large range is sealed in pages: this one begins after this seq …';
comment on column recoup.seal.last_seq is '… and ends with this one.';
comment on column recoup.seal.closes is 'Whether it is the last page of its range.';
comment on column recoup.seal.digest is 'SHA-256 over all columns before it, including the previous digest.';
comment on column recoup.seal.login is 'Login of the session; null in rows from before logins were stored.';

comment on table recoup.subscription is
'The position of each named subscriber in a log. The cursor is a snapshot: rows visible in it are delivered.';
comment on column recoup.subscription."position" is
'New with each acknowledgement; an acknowledgement of an older position is refused.';
comment on column recoup.subscription.until is 'While pages are left: the snapshot that they are read from.';
comment on column recoup.subscription.after_seq is 'While pages are left: the last delivered seq.';
comment on column recoup.subscription.created_at is 'When the subscription was created.';
comment on column recoup.subscription.authority is
'The authority that created it, the only one that may move it; null in old rows.';
comment on column recoup.subscription.login is
'The login that created it, the only one that may move it; null in old rows.';

comment on table recoup.worker is
'One row per run of a worker process. A process that continues after it was marked lost gets a new row.';
comment on column recoup.worker.worker_id is 'Identifies one run of one process.';
comment on column recoup.worker.name is 'Its name in logs.';
comment on column recoup.worker.duties is 'The background tasks that it runs.';
comment on column recoup.worker.status is 'running, stopped (shut down) or lost (its heartbeat stopped).';
comment on column recoup.worker.heartbeat_at is 'Time of its last heartbeat.';
comment on column recoup.worker.ended_at is 'When it stopped or was marked lost.';
