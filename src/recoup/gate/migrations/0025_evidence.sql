-- What the checks of an attempt found: one row per check. payload_ref points at them as evidence:<attempt_id>.

create table cl.gate_zero_evidence (
  attempt_id   uuid not null,
  check_number integer not null check (check_number between 1 and 100),
  check_name   text not null check (octet_length(check_name) between 1 and 200),
  finding      text not null check (octet_length(finding) between 1 and 200),
  message      text not null check (octet_length(message) <= 4000),
  duration_ms  integer not null check (duration_ms >= 0),
  recorded_at  timestamptz not null check (isfinite(recorded_at)),
  status       text not null generated always as (case finding when 'passed' then 'PASSED' else 'FAILED' end) stored,
  primary key (attempt_id, check_number)
);
comment on table cl.gate_zero_evidence is
'What each check of an attempt found, in the order of the checks. Never changed, never deleted.';
comment on column cl.gate_zero_evidence.attempt_id is
'The attempt. Its payload_ref, and that of its outcome events, is evidence:<attempt_id>.';
comment on column cl.gate_zero_evidence.check_number is 'Position of the check in the attempt, from 1.';
comment on column cl.gate_zero_evidence.check_name is
'Name of the check: dns, imprint, directory, state, or a check of an installed package.';
comment on column cl.gate_zero_evidence.finding is
'What the check found: passed, or what is wrong, such as domain-unknown.';
comment on column cl.gate_zero_evidence.message is 'Details, in one sentence.';
comment on column cl.gate_zero_evidence.duration_ms is 'How long the check took, in milliseconds.';
comment on column cl.gate_zero_evidence.recorded_at is 'When it was recorded.';
comment on column cl.gate_zero_evidence.status is 'PASSED or FAILED, from finding.';

grant select on cl.gate_zero_evidence to recoup_reader;
grant insert (attempt_id, check_number, check_name, finding, message, duration_ms, recorded_at)
  on cl.gate_zero_evidence to recoup_gate;
