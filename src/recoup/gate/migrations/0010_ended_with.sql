-- Whoever ends an attempt presents its token; not one function alone compares it.

alter table cl.gate_zero_attempt add column ended_with uuid;
comment on column cl.gate_zero_attempt.ended_with is
'Token that whoever ended it presented; null: its lease expired, or it ended before tokens were presented.';
grant update (ended_with) on cl.gate_zero_attempt to recoup_gate;
