-- Companies of a batch are paged through in the order of their ids: with the id in the index a page reads its rows, and
-- not the whole batch.

drop index cl.gate_zero_intake_batch, cl.gate_zero_recovery_exhausted_batch;
create index gate_zero_intake_batch on cl.gate_zero_intake (batch_id, intake_id);
create index gate_zero_recovery_exhausted_batch on cl.gate_zero_recovery (batch_id, intake_id)
  where status = 'EXHAUSTED';
