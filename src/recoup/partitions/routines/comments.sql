-- Comments of the tables of partitions.

comment on sequence partitions.partition_seq is 'Ids of partitions.';
comment on sequence partitions.dispatch_seq is 'Numbers of dispatches, over all pools.';

comment on table partitions.partition_state is
'What became of a partition: a day of a query of a customer of a source. Consumers read those with status success.';
comment on column partitions.partition_state.source is 'The source it is extracted from.';
comment on column partitions.partition_state.customer_id is 'The customer whose data it is.';
comment on column partitions.partition_state.query_name is 'The query that extracts it.';
comment on column partitions.partition_state.logical_date is 'Its calendar day, in the time zone of its source.';
comment on column partitions.partition_state.partition_id is 'Its id, which other tables refer to.';
comment on column partitions.partition_state.status is
'pending: enqueued, or asked for again; success: a run was accepted; failed: the last run was rejected.';
comment on column partitions.partition_state.current_run_id is
'The newest run that was accepted: what consumers read. Null: none was.';
comment on column partitions.partition_state.attempt_count is 'Number of verdicts on its runs. Never reset.';
comment on column partitions.partition_state.error_message is
'Message of the last verdict, if that rejected it; kept while it is pending again.';
comment on column partitions.partition_state.created_at is 'When it was enqueued first.';
comment on column partitions.partition_state.updated_at is 'When it was judged or requeued last.';

comment on table partitions.run is 'One extraction of a partition with its verdict. A retry is a new run.';
comment on column partitions.run.run_id is 'Id of the run, and name of its folder in the raw sink.';
comment on column partitions.run.partition_id is 'Its partition.';
comment on column partitions.run.number is 'Number of the run among those of its partition, from 1.';
comment on column partitions.run.dispatch_no is 'Its place among all runs.';
comment on column partitions.run.turn is
'Number of its last dispatch among those of its pool, for the turn of lanes and sources.';
comment on column partitions.run.status is
'open: being extracted; published: in the raw sink; accepted, rejected: by its validator; lost: nothing came of it.';
comment on column partitions.run.lane is 'Lane in which it was dispatched: fresh or backfill.';
comment on column partitions.run.pool is 'Pool whose turn it was.';
comment on column partitions.run.reprocesses is 'Whether its partition had succeeded before.';
comment on column partitions.run.alternative is 'What its extractor does differently, if it is a fallback.';
comment on column partitions.run.candidate_id is 'The recovery candidate that asked for it, if one did.';
comment on column partitions.run.worker is 'Worker it was dispatched to last.';
comment on column partitions.run.token is 'Token of its last dispatch, which every report presents.';
comment on column partitions.run.lease_until is
'Until when its worker reports; null: it has ended, or waits to be validated again.';
comment on column partitions.run.started_with is 'Token under which it was started last: each dispatch starts it once.';
comment on column partitions.run.validations is 'How often it was dispatched again to be validated.';
comment on column partitions.run.sink_id is 'Raw sink that it was published in.';
comment on column partitions.run.location is 'Its folder in that sink.';
comment on column partitions.run.manifest_digest is 'SHA-256 of its manifest, which has the digest of every file.';
comment on column partitions.run.format is 'parquet or jsonl.';
comment on column partitions.run.rows is 'Rows that it published.';
comment on column partitions.run.bytes is 'Bytes that it published.';
comment on column partitions.run.reason is
'Why it was rejected or lost; of one that is to be validated again, why its last validation came to nothing.';
comment on column partitions.run.rule is 'First rule of the contract that it breaks.';
comment on column partitions.run.message is 'The same as reason, in words.';
comment on column partitions.run.error_signature is 'What rejections of the same kind have in common.';
comment on column partitions.run.category is 'Category of a rejection: TRANSIENT, OPERATIONAL or STRUCTURAL.';
comment on column partitions.run.validator is 'Validator that judged it.';
comment on column partitions.run.validator_version is 'Version of that validator.';
comment on column partitions.run.contract_digest is 'Digest of the contract that it was judged by.';
comment on column partitions.run.ended_with is
'Token that its verdict presented; null: it has none, or was rejected for want of a result.';
comment on column partitions.run.policy_version is 'Version of the policy when it was opened.';
comment on column partitions.run.opened_at is 'When it was dispatched first.';
comment on column partitions.run.dispatched_at is 'When it was dispatched last.';
comment on column partitions.run.published_at is 'When its data was in the raw sink.';
comment on column partitions.run.ended_at is 'When it was accepted, rejected or lost.';
comment on column partitions.run.updated_at is 'When it last changed.';

comment on table partitions.attempt is 'The log of verdicts: one row for each run that was accepted or rejected.';
comment on column partitions.attempt.seq is 'Order of events, over all logs.';
comment on column partitions.attempt.xid is 'Transaction that wrote it.';
comment on column partitions.attempt.incarnation is 'Cluster that wrote it.';
comment on column partitions.attempt.logged_at is 'When the verdict was given.';
comment on column partitions.attempt.partition_id is 'The partition.';
comment on column partitions.attempt.run_id is 'The run.';
comment on column partitions.attempt.number is 'Its number, from 1: attempt_count of the partition after it.';
comment on column partitions.attempt.verdict is 'accepted or rejected.';
comment on column partitions.attempt.accepted_run_id is 'The run if it was accepted, which a partition may point at.';
comment on column partitions.attempt.reason is 'Why it was rejected.';
comment on column partitions.attempt.rule is 'First rule of the contract that it breaks.';
comment on column partitions.attempt.message is 'Why it was rejected, in words.';
comment on column partitions.attempt.error_signature is 'What rejections of the same kind have in common.';
comment on column partitions.attempt.category is 'TRANSIENT, OPERATIONAL or STRUCTURAL.';
comment on column partitions.attempt.rows is 'Rows of the run.';
comment on column partitions.attempt.bytes is 'Bytes of the run.';
comment on column partitions.attempt.digest is 'SHA-256 of its manifest.';
comment on column partitions.attempt.location is 'Its folder in the raw sink; null: nothing was published.';
comment on column partitions.attempt.sink_id is 'That sink.';
comment on column partitions.attempt.validator is 'Validator that judged it.';
comment on column partitions.attempt.validator_version is 'Version of that validator.';
comment on column partitions.attempt.contract_digest is 'Digest of the contract that it was judged by.';
comment on column partitions.attempt.policy_version is 'Version of the policy when the run was opened.';
comment on column partitions.attempt.opened_at is 'When the run was opened.';
comment on column partitions.attempt.published_at is 'When the run was published.';
comment on column partitions.attempt.actor is 'system, ai or human.';
comment on column partitions.attempt.actor_id is 'Who acted.';
comment on column partitions.attempt.authority is 'Role that acted.';
comment on column partitions.attempt.login is 'Login of the session.';

comment on table partitions.schedule is
'When the control plane works on a partition next, and why not. Only the control plane changes it.';
comment on column partitions.schedule.partition_id is 'The partition.';
comment on column partitions.schedule.source is 'Its source, for the turn of sources.';
comment on column partitions.schedule.query_name is 'Its query.';
comment on column partitions.schedule.status is
'waiting until next_run_at; open: a run is under way, or was not followed yet; held; terminal: given up; idle: done.';
comment on column partitions.schedule.lane is 'fresh goes first; of each ten dispatches one at least is of backfill.';
comment on column partitions.schedule.priority is '0 goes first, 9 last, within its lane and source.';
comment on column partitions.schedule.next_run_at is 'When it is due.';
comment on column partitions.schedule.backoff_strategy is 'steps, fixed or none: how its last wait was chosen.';
comment on column partitions.schedule.run_id is
'Its run: while it is open, while it is to be validated again, and of one that ended the last.';
comment on column partitions.schedule.dispatches is 'Dispatches since the last verdict of which nothing came.';
comment on column partitions.schedule.attempts_seen is 'attempt_count of the partition when it was followed last.';
comment on column partitions.schedule.reprocesses is 'Whether it succeeded, and is extracted again.';
comment on column partitions.schedule.alternative is 'What the extractor does differently next, if it is a fallback.';
comment on column partitions.schedule.candidate_id is 'The recovery candidate that asked for it, if one did.';
comment on column partitions.schedule.requested_at is 'When somebody asked for it last.';
comment on column partitions.schedule.requested_by is 'Who did.';
comment on column partitions.schedule.hold is
'OPERATOR: after a structural failure; PAUSED, CANCELLED: its backfill was.';
comment on column partitions.schedule.held_at is 'Since when it is held. It does not age meanwhile.';
comment on column partitions.schedule.terminal_causes is
'Why it was given up: ATTEMPTS, AGE, MARKED by a person.';
comment on column partitions.schedule.terminal_at is 'When it was given up.';
comment on column partitions.schedule.terminal_policy is 'Version of the policy by which it was.';
comment on column partitions.schedule.granted_attempts is 'Attempts that overrides granted beyond those of the policy.';
comment on column partitions.schedule.first_enqueued_at is 'When it was enqueued.';
comment on column partitions.schedule.first_dispatched_at is 'When it was dispatched first.';
comment on column partitions.schedule.aged_from is
'When its age begins: its first dispatch, or the first one after an override; later by the time it was held.';
comment on column partitions.schedule.backfill_id is 'The backfill that it belongs to, if any.';
comment on column partitions.schedule.updated_at is 'When it last changed.';

comment on table partitions.backfill is 'A range of partitions that somebody asked for, as one object.';
comment on column partitions.backfill.backfill_id is 'Id of the backfill.';
comment on column partitions.backfill.status is 'planning, running, paused, done or cancelled.';
comment on column partitions.backfill.selection is 'Which partitions were asked for.';
comment on column partitions.backfill.reason is 'Why.';
comment on column partitions.backfill.requested_by is 'By whom.';
comment on column partitions.backfill.priority is 'Priority of its partitions.';
comment on column partitions.backfill.reprocess is 'Whether those that succeeded are extracted again.';
comment on column partitions.backfill.with_terminal is 'Whether those that were given up are asked for again.';
comment on column partitions.backfill.expected is 'Number of partitions in its selection.';
comment on column partitions.backfill.planned is 'Number of those that were planned so far.';
comment on column partitions.backfill.policy_version is 'Version of the policy when it was made.';
comment on column partitions.backfill.created_at is 'When it was made.';
comment on column partitions.backfill.updated_at is 'When it last changed.';
comment on column partitions.backfill.ended_at is 'When it was done or cancelled.';

comment on column partitions.backfill.only_failed is 'Whether only partitions that failed are asked for.';

comment on table partitions.backfill_item is
'A member of a backfill: what was found of its partition, and how it ended.';
comment on column partitions.backfill_item.backfill_id is 'The backfill.';
comment on column partitions.backfill_item.place is 'Its place in the selection, from 1.';
comment on column partitions.backfill_item.partition_id is 'Its partition; null: there is none.';
comment on column partitions.backfill_item.found is
'What was found when it was planned: new, failed, terminal, success, pending, held, open, other (another backfill''s),'
' absent.';
comment on column partitions.backfill_item.status is
'waiting, left as it was found, succeeded, failed (its reprocessing), terminal or cancelled.';
comment on column partitions.backfill_item.other is 'The backfill that had it already.';
comment on column partitions.backfill_item.planned_at is 'When it was planned.';
comment on column partitions.backfill_item.ended_at is 'When it ended.';

comment on table partitions.partition_event is
'The log of partitions, their runs and their schedules: every step, with who made it.';
comment on column partitions.partition_event.seq is 'Order of events, over all logs.';
comment on column partitions.partition_event.xid is 'Transaction that wrote it.';
comment on column partitions.partition_event.incarnation is 'Cluster that wrote it.';
comment on column partitions.partition_event.logged_at is 'When it happened.';
comment on column partitions.partition_event.subject is 'What it happened to: partition, run or schedule.';
comment on column partitions.partition_event.partition_id is 'The partition.';
comment on column partitions.partition_event.run_id is 'The run, if one is concerned.';
comment on column partitions.partition_event.event_type is
'enqueued, requeued, accepted, rejected; dispatched, started, published, released, lost; scheduled, requested, opened,'
' held, done, terminal_marked, terminal_marked_too, terminal_lifted.';
comment on column partitions.partition_event.from_status is 'Status before it; null: it began.';
comment on column partitions.partition_event.to_status is 'Status after it.';
comment on column partitions.partition_event.reason is
'Of a dispatch the worker, of a run why it was lost or rejected, of a request why it was made.';
comment on column partitions.partition_event.facts is
'Of a schedule all that may change of it; of a run what it published, or the message of its loss.';
comment on column partitions.partition_event.token is 'Token of the run''s dispatch.';
comment on column partitions.partition_event.actor is 'system, ai or human.';
comment on column partitions.partition_event.actor_id is 'Who acted.';
comment on column partitions.partition_event.authority is 'Role that acted.';
comment on column partitions.partition_event.login is 'Login of the session.';

comment on table partitions.override_log is
'What people, backfills and candidates asked for: one row for each statement, with all its partitions.';
comment on column partitions.override_log.seq is 'Order of events, over all logs.';
comment on column partitions.override_log.xid is 'Transaction that wrote it.';
comment on column partitions.override_log.incarnation is 'Cluster that wrote it.';
comment on column partitions.override_log.logged_at is 'When it was asked.';
comment on column partitions.override_log.command is 'The verb, as given by the program; sql: by hand.';
comment on column partitions.override_log.selection is 'How the partitions were selected, as given by the program.';
comment on column partitions.override_log.partitions is 'Ids of the partitions that changed.';
comment on column partitions.override_log.before is 'How many of their schedules were in which status.';
comment on column partitions.override_log.after is 'How many are in which.';
comment on column partitions.override_log.reason is 'Why it was asked; null: not given.';
comment on column partitions.override_log.actor is 'system, ai or human.';
comment on column partitions.override_log.actor_id is 'Who acted.';
comment on column partitions.override_log.authority is 'Role that acted.';
comment on column partitions.override_log.login is 'Login of the session.';

comment on table partitions.sink is 'Raw sinks that are registered, and whether workers can use them.';
comment on column partitions.sink.sink_id is 'Id of the sink, which is also in a file in its folder.';
comment on column partitions.sink.name is 'Its name, as settings have it.';
comment on column partitions.sink.status is 'available, or unavailable: nothing is claimed until it is back.';
comment on column partitions.sink.registered_at is 'When it was registered.';
comment on column partitions.sink.registered_by is 'By whom.';
comment on column partitions.sink.cause is 'Cause of its last outage.';
comment on column partitions.sink.message is 'The same, in words.';
comment on column partitions.sink.host is 'Machine that reported it.';
comment on column partitions.sink.outage_at is 'When the last outage began.';
comment on column partitions.sink.checked_at is 'When that machine tried it last.';
comment on column partitions.sink.restored_at is 'When the last outage ended; null: it has not.';
comment on column partitions.sink.updated_at is 'When it last changed.';
