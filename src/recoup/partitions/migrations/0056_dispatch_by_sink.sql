-- A worker says which raw sink it has: what was published into another one is not dispatched to it. The functions that
-- do not know of it go; programs of the release before call the new one without a sink.

drop function if exists partitions.dispatch(text, integer, text, jsonb, interval, boolean);
drop function if exists partitions.next_past_breakers(text, integer, jsonb, timestamptz);
drop function if exists partitions.next_in_turn(text, integer, jsonb, timestamptz, text[], text[]);
