-- Whether what enforces the laws stands where it was put. Every query gives rows whose first column, breaks, is the id of
-- an invariant of laws.py.

-- name: append_only
with logs (name) as (values ('cl.gate_zero_air'), ('cl.sovereign_mint_air'), ('recoup.pause_log'), ('recoup.control_log'),
  ('recoup.late_result'), ('recoup.incarnation'), ('recoup.policy'), ('recoup.seal'), ('recoup.error_event'), ('recoup.error_archive'),
  ('public.shq_master_error_log'))
select 'laws/L3/append-only' as breaks, l.name as log, t.name as trigger
  from logs l
 cross join (values ('a_append_only', 27), ('a_append_only_truncate', 34)) t (name, kind)  -- before: row, update or delete; statement, truncate
 where not exists (select from pg_trigger g
                    where g.tgrelid = to_regclass(l.name) and g.tgname = t.name and g.tgenabled = 'A' and g.tgtype = t.kind
                      and g.tgfoid = to_regproc('recoup.append_only') and g.tgqual is null)

-- name: recorders
with logs (name, trigger, function) as (values
  ('cl.gate_zero_air', 'a_only_recorders', 'recoup.only_recorders'), ('cl.sovereign_mint_air', 'a_only_recorders', 'recoup.only_recorders'),
  ('recoup.pause_log', 'a_only_recorders', 'recoup.only_recorders'), ('recoup.control_log', 'a_only_recorders', 'recoup.only_recorders'),
  ('recoup.error_event', 'a_only_recorders', 'recoup.only_recorders'), ('recoup.error_archive', 'a_only_recorders', 'recoup.only_recorders'),
  ('recoup.seal', 'a_only_sealers', 'recoup.only_sealers'),
  ('recoup.policy', 'b_stamp_policy', 'recoup.stamp_policy'))
select 'laws/L2/recorders' as breaks, l.name as log, l.trigger
  from logs l
 where not exists (select from pg_trigger g
                    where g.tgrelid = to_regclass(l.name) and g.tgname = l.trigger and g.tgenabled = 'A'
                      and g.tgfoid = to_regproc(l.function) and g.tgqual is null)
union all
-- Nobody holds a right to write a log that only recorders write.
select 'laws/L2/recorders', l.name, format('%s holds %s', a.grantee::regrole, a.privilege_type)
  from logs l
  join pg_class c on c.oid = to_regclass(l.name)
 cross join lateral aclexplode(c.relacl) a
 where l.trigger in ('a_only_recorders', 'a_only_sealers') and a.grantee <> c.relowner
   and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')

-- name: followers
-- Whatever stands behind a guard must be on in every session.
select 'laws/L2/followers' as breaks, l.subject, g.tgname as trigger, g.tgenabled::text as enabled
  from recoup.lifecycle l
  join pg_trigger g on g.tgrelid = to_regclass(l.subject) and not g.tgisinternal
 where g.tgname ~ '^[b-d]_' and g.tgenabled <> 'A'
union all
-- By function and event, because one that was dropped is not seen above: 4 is an insert, 8 a delete, 16 an update.
select 'laws/L2/followers', f.relation, f.function, 'missing'
  from (values ('cl.gate_zero_attempt', 'cl.rule_attempt_births', 4), ('cl.gate_zero_attempt', 'cl.rule_attempt_moves', 16),
          ('cl.gate_zero_attempt', 'cl.record_attempt_births', 4), ('cl.gate_zero_attempt', 'cl.record_attempt_moves', 16),
          ('cl.gate_zero_attempt', 'cl.settle_attempts', 16), ('cl.gate_zero_recovery', 'cl.rule_recovery_moves', 16),
          ('cl.gate_zero_recovery', 'cl.record_recovery_moves', 16), ('cl.gate_zero_recovery', 'cl.settle_recoveries', 16),
          ('cl.gate_zero_batch', 'cl.rule_batch_moves', 16), ('cl.gate_zero_batch', 'cl.record_batch_moves', 16),
          ('cl.gate_zero_batch', 'recoup.record_control', 4), ('cl.gate_zero_batch', 'recoup.record_control', 16),
          ('cl.gate_zero_intake', 'cl.rule_intake_births', 4), ('cl.gate_zero_intake', 'cl.record_restarts', 4), ('cl.company_identity', 'cl.rule_identity_births', 4),
          ('cl.company_identity', 'cl.record_identity_births', 4),
          ('recoup.pause', 'recoup.record_pauses', 4), ('recoup.pause', 'recoup.record_pauses', 16),
          ('recoup.worker', 'recoup.record_control', 4), ('recoup.worker', 'recoup.record_control', 16),
          ('recoup.clock', 'recoup.record_control', 16),
          ('recoup.error', 'recoup.rule_error_births', 4), ('recoup.error', 'recoup.rule_error_moves', 16), ('recoup.error', 'recoup.rule_error_exits', 8),
          ('recoup.error', 'recoup.record_error_births', 4), ('recoup.error', 'recoup.record_error_moves', 16),
          ('recoup.error', 'recoup.archive_errors_gone', 8), ('recoup.error_archive_month', 'recoup.rule_archive_months', 16),
          ('recoup.error_archive_month', 'recoup.record_control', 4), ('recoup.error_archive_month', 'recoup.record_control', 16),
          ('recoup.error_archive_month', 'recoup.settle_archive_months', 4), ('recoup.error_archive_month', 'recoup.settle_archive_months', 16),
          ('recoup.error_operation', 'recoup.record_control', 4), ('recoup.error_operation', 'recoup.record_control', 16)) f (relation, function, event)
 where not exists (select from pg_trigger g where g.tgrelid = to_regclass(f.relation) and g.tgfoid = to_regproc(f.function)
                      and g.tgtype & f.event > 0)
