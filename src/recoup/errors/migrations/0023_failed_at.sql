-- Errors of an adopted table keep the time of their first failure: recording takes it as a further argument. The functions
-- are installed again with it; callers without it find them by the names of their arguments, as before.

drop function if exists recoup.record_errors(
  integer[], uuid[], text[], text[], jsonb[], integer[], text[], text[], text[], text[], text[], text[], integer[], integer[], text[], text[],
  text[], integer, text[], text[]);
drop function if exists recoup.insert_errors(
  bigint[], integer[], uuid[], text[], text[], jsonb[], text[], integer[], text[], text[], text[], text[], text[], text[], integer[],
  integer[], text[], text[], text[], text[], integer, bigint[], text[], bigint[], jsonb, timestamptz);
