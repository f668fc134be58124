-- Erasing a secret that was recorded: an operator makes a row of recoup.error_redaction with the texts as they are
-- from now on, and its consequence writes them, into the live row or into the archive. Texts can lose something by it,
-- and gain nothing.

create or replace function recoup.is_redacted_from(before_ text, after_ text) returns boolean
language plpgsql immutable as $$
declare
  rest   text := before_;
  pieces constant text[] := string_to_array(after_, '[redacted]');
  at     integer;
begin
  if before_ is not distinct from after_ then
    return true;
  end if;
  if before_ is null or after_ is null or not starts_with(rest, pieces[1]) then
    return false;
  end if;
  rest := substr(rest, length(pieces[1]) + 1);
  -- The first place that fits is as good as any: what is between is erased.
  for n in 2 .. cardinality(pieces) - 1 loop
    at := position(pieces[n] in rest);
    if at = 0 then
      return false;
    end if;
    rest := substr(rest, at + length(pieces[n]));
  end loop;
  return cardinality(pieces) > 1 and right(rest, length(pieces[cardinality(pieces)])) = pieces[cardinality(pieces)]
     and length(rest) >= length(pieces[cardinality(pieces)]);
end $$;
comment on function recoup.is_redacted_from(text, text) is
'Whether a text is another one with [redacted] in the place of parts of it.';

create or replace function recoup.redaction_digest(message_ text, payload_ jsonb, failure_ text) returns bytea
language sql stable as $$
  select sha256(convert_to(jsonb_build_array(message_, payload_, failure_)::text, 'UTF8'))
$$;
comment on function recoup.redaction_digest(text, jsonb, text) is 'Digest of the texts of an error.';

create or replace function recoup.is_redaction(o recoup.error, n recoup.error) returns boolean
language sql stable as $$
  -- Nobody but the owner's own functions acts so: recoup.settle_error_redactions.
  select recoup.by_follower()
     and to_jsonb(o) - '{error_message,payload,last_failure}'::text[]
       = to_jsonb(n) - '{error_message,payload,last_failure}'::text[]
$$;
comment on function recoup.is_redaction(recoup.error, recoup.error) is
'Asked by a guard: whether a move of an error erases something of its texts, and does nothing else.';

create or replace function recoup.rule_error_redactions() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.error_table, n.error_id,
         case when f.error_id is null then 'there is no such error'
              when n.redacted_at not between now_ - interval '1 minute' and now_ + interval '1 second'
                then 'redacted_at is not now'
              when n.digest <> recoup.redaction_digest(n.error_message, n.payload, n.last_failure)
                then 'the digest is not that of its texts'
              else 'a text may lose parts, for which [redacted] stands, and gains nothing' end as why into bad
    from new_rows n
    left join lateral (
      select e.error_id, e.error_message, e.payload, e.last_failure from recoup.error e
       where e.error_table = n.error_table and e.error_id = n.error_id
      union all
      select a.error_id, a.error_message, a.payload, a.last_failure from recoup.error_archive a
       where a.error_table = n.error_table and a.error_id = n.error_id limit 1) f on true
   where f.error_id is null
      or n.redacted_at not between now_ - interval '1 minute' and now_ + interval '1 second'
      or n.digest <> recoup.redaction_digest(n.error_message, n.payload, n.last_failure)
      or not recoup.is_redacted_from(f.error_message, n.error_message)
      or not recoup.is_redacted_from(f.last_failure, n.last_failure)
      -- An object or a number that is erased becomes a text.
      or not recoup.is_redacted_from(f.payload::text, replace(n.payload::text, '"[redacted]"', '[redacted]'))
         and not recoup.is_redacted_from(f.payload::text, n.payload::text) limit 1;
  if found then
    raise exception using errcode = 'RC063',
      message = format('Error %s of %s is not redacted: %s.', bad.error_id, bad.error_table, bad.why),
      hint = 'Use: recoup errors redact ID --reason …',
      detail = jsonb_build_object('error_table', bad.error_table, 'error_id', bad.error_id, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function recoup.rule_error_redactions() is
'A redaction is of an error that there is, now, and takes something away from its texts.';

create or replace function recoup.settle_error_redactions() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ids constant bigint[] := array(select n.error_id from new_rows n);  -- looked up, however large the tables are
begin
  perform recoup.require_table(tg_relid, 'recoup.error_redaction');
  update recoup.error e
     set error_message = n.error_message, payload = n.payload, last_failure = n.last_failure
    from new_rows n where e.error_table = n.error_table and e.error_id = n.error_id and e.error_id = any(ids);
  update recoup.error_archive a
     set error_message = n.error_message, payload = n.payload, last_failure = n.last_failure
    from new_rows n where a.error_table = n.error_table and a.error_id = n.error_id and a.error_id = any(ids);
  return null;
end $$;
revoke execute on function recoup.settle_error_redactions() from public;
comment on function recoup.settle_error_redactions() is
'Writes the texts of a redaction into the error, live or archived.';
