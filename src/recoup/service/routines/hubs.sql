-- Tables that have nothing of a hub: closed to transactions of one. Recorders and consequences act as the owner, which
-- the policies do not hold. What is not here, and not limited by its domain, is the same for everybody: declarations,
-- the clock, the policy, workers.

do $$
declare
  relation regclass;
begin
  for relation in
    select c.oid from unnest(array[
      'cl.company_identity', 'cl.gate_zero_air', 'cl.gate_zero_attempt', 'cl.gate_zero_batch', 'cl.gate_zero_evidence',
      'cl.gate_zero_intake', 'cl.gate_zero_recovery', 'cl.sovereign_mint_air',
      'partitions.backfill', 'partitions.backfill_item', 'partitions.override_log', 'partitions.requeue_request',
      'recoup.alert', 'recoup.alert_event', 'recoup.alert_gauge', 'recoup.alert_round', 'recoup.api_key',
      'recoup.api_key_use', 'recoup.audit_result', 'recoup.claim_log', 'recoup.content_log', 'recoup.control_log',
      'recoup.delivery', 'recoup.delivery_event', 'recoup.delivery_queue', 'recoup.denied_call', 'recoup.idempotency',
      'recoup.idempotency_0', 'recoup.idempotency_1', 'recoup.idempotency_2', 'recoup.idempotency_3',
      'recoup.late_result', 'recoup.operation', 'recoup.operation_item', 'recoup.rate_bucket', 'recoup.seal',
      'recoup.session', 'recoup.silence', 'recoup.subscription',
      'recovery.candidate', 'recovery.config', 'recovery.evaluation', 'recovery.experience', 'recovery.lease',
      'recovery.match_queue', 'recovery.provenance', 'recovery.run_trace', 'recovery.scope',
      'recovery.task']) t (name)
    join pg_class c on c.oid = t.name::regclass
  loop
    call recoup.limit_to_hub(relation, 'false', for_owner => false);
  end loop;
  -- Pauses of everything, of background tasks, and of what is declared by name stop a hub's work, too. Others are of
  -- its error tables and sources, or not about it.
  foreach relation in array array['recoup.pause', 'recoup.pause_log']::regclass[] loop
    call recoup.limit_to_hub(relation, $condition$
      case scope
        when 'global' then true
        when 'duty' then true
        when 'table' then scope_id = any ((select recoup.hub_names('tables'))::text[])
          or scope_id = any ((select array_agg(d.name) from recoup.pausable d where d.scope = 'table')::text[])
        when 'partition-source' then scope_id = any ((select recoup.hub_names('sources'))::text[])
        else false end$condition$, for_owner => false);
  end loop;
  -- A view reads as its owner, and so past these policies; this one as its caller.
  alter view cl.gate_zero_authorization set (security_invoker = true);
end $$;
