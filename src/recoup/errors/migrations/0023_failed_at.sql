-- Errors of an adopted table keep the time of their first failure: recording takes it as a further argument.
-- The functions are installed again with it. Callers name their arguments, so that older programs go on.

drop function if exists recoup.record_errors(
  integer[], uuid[], text[], text[], jsonb[], integer[], text[], text[], text[], text[], text[], text[],
  integer[], integer[], text[], text[], text[], integer, text[], text[]);
drop function if exists recoup.insert_errors(
  bigint[], integer[], uuid[], text[], text[], jsonb[], text[], integer[], text[], text[], text[], text[],
  text[], text[], integer[], integer[], text[], text[], text[], text[], integer, bigint[], text[], bigint[],
  jsonb, timestamptz);
