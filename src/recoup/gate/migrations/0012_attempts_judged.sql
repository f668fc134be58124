-- The guard judges how an attempt ends, and a claim alone passes over what was opened meanwhile.
drop function if exists cl.rule_attempt_moves() cascade;
drop function if exists
  cl.open_picked(uuid[], text[], integer[], text, timestamptz, timestamptz, boolean);
