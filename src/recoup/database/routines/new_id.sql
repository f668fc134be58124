-- recoup.new_id(): ids that rise with time, so that new rows land together at the end of an index.
-- PostgreSQL 18 makes them itself; before, the same form (RFC 9562, version 7) is put together here.

do $install$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    create or replace function recoup.new_id() returns uuid language sql volatile parallel safe
    return uuidv7();
  else
    create or replace function recoup.new_id() returns uuid language sql volatile parallel safe as $id$
      -- 48 bits of milliseconds over a random uuid; bits 48 to 51 turned from version 4 into 7.
      select encode(set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid())
                placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid
    $id$;
  end if;
end $install$;
comment on function recoup.new_id() is 'A new id, rising with time (UUID version 7).';
