-- Comments of Gate Zero's tables, where they replace those of a migration, whose text never changes. Comments that the
-- documents print stay as printed.

comment on column cl.gate_zero_air.login is 'Login of the session; null in rows from before logins were stored.';
comment on column cl.gate_zero_air.form is 'Of an ATTEMPT: which columns the digest covers, by number.';
comment on column cl.gate_zero_air.digest is
'Of an ATTEMPT: digest of the values that the attempt was inserted with; null in older rows.';
comment on table cl.gate_zero_attempt is
'One verification attempt. Its start and its end write AIR events; the token fences a worker that died.';
comment on column cl.gate_zero_attempt.worker is 'The worker that started it.';
comment on column cl.gate_zero_attempt.token is
'Fencing token: a result is applied only with it, while the attempt is open.';
comment on column cl.gate_zero_attempt.opened_at is 'When it started; time of its ATTEMPT event.';
comment on column cl.gate_zero_attempt.reentered_as is 'Of a passed retry: the new intake that it created.';
comment on column cl.gate_zero_attempt.policy_version is
'The policy that was active when it started: it gives the lease and the wait after a failure.';
comment on column cl.gate_zero_attempt.ended_with is
'Token presented at its end; null: its lease expired, or it ended before tokens were presented.';
comment on view cl.gate_zero_authorization is
'AUTH events of Gate Zero, each with the intake to mint: the new one after a re-entry.';
comment on column cl.gate_zero_authorization.mint_intake_id is
'The intake to mint: the same one, or the new one that a passed retry created.';
comment on column cl.gate_zero_batch.completed_at is 'When the import was completed. Set once, by a call.';
comment on column cl.gate_zero_batch.paused_at is
'Kill switch: when retries of this batch were paused; null: not paused.';
comment on column cl.gate_zero_batch.status is 'OPEN, COMPLETED or FROZEN, computed from the other columns.';
comment on column cl.gate_zero_batch.policy_version is
'The policy that was active at its completion: it gives the recovery window. Set once.';
comment on table cl.gate_zero_intake is 'A company candidate, as imported. Only its status changes.';
comment on column cl.gate_zero_intake.reentered_from is 'The failed intake whose retry passed and created this one.';
comment on column cl.gate_zero_intake.retry_of is 'The exhausted intake that was restarted as this one.';
comment on column cl.gate_zero_intake.created_at is 'When it was imported.';
