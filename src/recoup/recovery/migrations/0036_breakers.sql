-- Breakers: while one is not closed, what depends on it is not claimed, but for one unit that tries it.

create table recovery.breaker (
  name          text primary key check (octet_length(name) between 1 and 500),
  status        text not null check (status in ('closed', 'open', 'half_open')),
  -- What depends on it: table:NAME, run_kind:NAME or source:NAME.
  parts         text[] not null check (cardinality(parts) > 0 and array_position(parts, null) is null),
  wait_s        integer not null check (wait_s > 0),
  max_wait_s    integer not null,
  opened_at     timestamptz not null check (isfinite(opened_at)),
  open_until    timestamptz not null check (isfinite(open_until)),
  opened_by     text not null check (octet_length(opened_by) between 1 and 500),
  reason        text not null check (octet_length(reason) between 1 and 2000),
  candidate_id  uuid,
  probes        integer not null default 0 check (probes >= 0),
  probe_subject text check (probe_subject in ('recoup.error', 'cl.gate_zero_attempt', 'recovery.run',
                                              'recovery.candidate')),
  probe_unit    text check (octet_length(probe_unit) between 1 and 500),
  probe_token   uuid,
  probe_until   timestamptz check (isfinite(probe_until)),
  closed_at     timestamptz check (isfinite(closed_at)),
  closed_by     text check (octet_length(closed_by) between 1 and 500),
  constraint breaker_wait check (wait_s <= max_wait_s),
  constraint breaker_probe check (num_nulls(probe_subject, probe_unit, probe_token, probe_until)
                                  = case status when 'half_open' then 0 else 4 end),
  constraint breaker_closed check ((status = 'closed') = (closed_at is not null)
                                   and (closed_at is null) = (closed_by is null))
) with (fillfactor = 50);
-- Every claim asks whether there is one that is not closed: usually this is empty.
create index breaker_shut on recovery.breaker (status) where status <> 'closed';

-- What a candidate may await: also that a breaker closes.
alter table recovery.candidate drop constraint candidate_awaits;
alter table recovery.candidate add constraint candidate_awaits check (
  (awaits is null) = (outcome_by is null)
  and (awaits is null or (effect_made_at is not null
       and coalesce(awaits ->> 'kind' in ('error', 'intake', 'run', 'partition', 'delivery', 'task', 'breaker')
                    and octet_length(awaits ->> 'key') between 1 and 500
                    and jsonb_typeof(awaits -> 'since_seq') = 'number', false)))) not valid;
alter table recovery.candidate validate constraint candidate_awaits;

grant select on recovery.breaker to recoup_reader;
grant insert (name, status, parts, wait_s, max_wait_s, opened_at, open_until, opened_by, reason, candidate_id)
  on recovery.breaker to recoup_operator, recoup_executor;
grant update (status, parts, wait_s, max_wait_s, opened_at, open_until, opened_by, reason, candidate_id, probes,
              probe_subject, probe_unit, probe_token, probe_until, closed_at, closed_by)
  on recovery.breaker to recoup_operator, recoup_executor;
-- Every authority that claims may take the probe, and settle how it ended.
grant update (status, wait_s, open_until, probes, probe_subject, probe_unit, probe_token, probe_until, closed_at,
              closed_by)
  on recovery.breaker to recoup_hub, recoup_error_worker, recoup_gate, recoup_runner, recoup_claim_worker,
  recoup_evaluator;
