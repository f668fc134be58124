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

create or replace function recoup.is_redacted_payload(before_ jsonb, after_ jsonb) returns boolean
language plpgsql immutable as $$
begin
  -- By its parts, not as a text: otherwise the value of one key could be moved to another.
  if before_ is not distinct from after_ or after_ = '"[redacted]"' and before_ is not null then
    return true;
  elsif jsonb_typeof(before_) is distinct from jsonb_typeof(after_) then
    return false;
  end if;
  return case jsonb_typeof(after_)
    when 'string' then recoup.is_redacted_from(before_ #>> '{}', after_ #>> '{}')
    when 'array' then jsonb_array_length(before_) = jsonb_array_length(after_)
      and not exists (
        select from rows from (jsonb_array_elements(before_), jsonb_array_elements(after_)) p (b, a)
         where not recoup.is_redacted_payload(p.b, p.a))
    when 'object' then not exists (  -- a key may hold a secret, too
        select from jsonb_each(after_) a
         where not (before_ ? a.key and recoup.is_redacted_payload(before_ -> a.key, a.value))
           and not (strpos(a.key, '[redacted]') > 0 and exists (
             select from jsonb_each(before_) b
              where recoup.is_redacted_from(b.key, a.key) and recoup.is_redacted_payload(b.value, a.value))))
      and not exists (
        select from jsonb_object_keys(before_) b
         where not after_ ? b and not exists (
           select from jsonb_object_keys(after_) a where strpos(a, '[redacted]') > 0 and recoup.is_redacted_from(b, a)))
    else false end;
end $$;
comment on function recoup.is_redacted_payload(jsonb, jsonb) is
'Whether a payload is another one with [redacted] in the place of values or of parts of its texts and keys.';

create or replace function recoup.is_error_redacted(
  message_ text, payload_ jsonb, failure_ text, r recoup.error_redaction) returns boolean
language sql immutable as $$
  select recoup.is_redacted_from(message_, r.error_message) and recoup.is_redacted_from(failure_, r.last_failure)
     and recoup.is_redacted_payload(payload_, r.payload)
$$;
comment on function recoup.is_error_redacted(text, jsonb, text, recoup.error_redaction) is
'Whether the texts of a redaction are those of an error, with [redacted] in the place of parts of them.';

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
              else 'parts of a text may be replaced by [redacted], and nothing may be added' end as why into bad
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
      or not recoup.is_error_redacted(f.error_message, f.payload, f.last_failure, n) limit 1;
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

create or replace function recoup.error_digest(
  error_table text, error_id bigint, outreach_id uuid, work_key text, error_code text, error_signature text,
  severity text, category text, ttl_tier text, decided_by text, clamped_from text, overruled text,
  policy_version integer, created_at timestamptz, lineage_id bigint, error_message text, payload jsonb) returns bytea
language sql stable as $$
  -- The columns that recoup.record_error_births takes, in its order.
  select sha256(convert_to(array[
    error_table, error_id::text, outreach_id::text, work_key, error_code, error_signature, severity, category, ttl_tier,
    decided_by, clamped_from, overruled, policy_version::text, created_at::text, lineage_id::text, error_message,
    payload::text
    ]::text, 'UTF8'))
$$;
comment on function recoup.error_digest(text, bigint, uuid, text, text, text, text, text, text, text, text, text,
  integer, timestamptz, bigint, text, jsonb) is 'Digest of what an error was given; times in the caller''s zone: UTC.';

create or replace function recoup.settle_error_redactions() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = utc set datestyle = iso, ymd
as $$
declare
  ids  constant bigint[] := array(select n.error_id from new_rows n);  -- looked up, however large the tables are
  done bigint;
begin
  perform recoup.require_table(tg_relid, 'recoup.error_redaction');
  -- What is left of them has another digest, from now on (recoup.schema.laws).
  with live as (
    update recoup.error e
       set error_message = n.error_message, payload = n.payload, last_failure = n.last_failure
      from new_rows n where e.error_table = n.error_table and e.error_id = n.error_id and e.error_id = any(ids)
       and recoup.is_error_redacted(e.error_message, e.payload, e.last_failure, n)
    returning e.*),
  archived as (
    update recoup.error_archive e
       set error_message = n.error_message, payload = n.payload, last_failure = n.last_failure
      from new_rows n where e.error_table = n.error_table and e.error_id = n.error_id and e.error_id = any(ids)
       and recoup.is_error_redacted(e.error_message, e.payload, e.last_failure, n)
    returning e.*, decode(recoup.archive_digest(e), 'hex') as archived_digest),
  digested (subject, form, key, digest) as (
    -- Form 2, as births have it; also of an error that was recorded under form 1 and has no lineage.
    select 'recoup.error', 2, concat_ws(', ', e.error_table, e.error_id),
           recoup.error_digest(e.error_table, e.error_id, e.outreach_id, e.work_key, e.error_code, e.error_signature,
             e.severity, e.category, e.ttl_tier, e.decided_by, e.clamped_from, e.overruled, e.policy_version,
             e.created_at, e.lineage_id, e.error_message, e.payload)
      from live e
    union all
    select 'recoup.error', 2, concat_ws(', ', e.error_table, e.error_id),
           recoup.error_digest(e.error_table, e.error_id, e.outreach_id, e.work_key, e.error_code, e.error_signature,
             e.severity, e.category, e.ttl_tier, e.decided_by, e.clamped_from, e.overruled, e.policy_version,
             e.created_at, e.lineage_id, e.error_message, e.payload)
      from archived e
    union all
    select 'recoup.error_archive', 1, concat_ws(', ', e.error_table, e.error_id), e.archived_digest from archived e),
  written as (
    insert into recoup.content_log (incarnation, logged_at, subject, event_type, form, keys, digests, actor, actor_id,
                                    authority)
    select recoup.present_incarnation(), recoup.now(), d.subject, 'REDACTED', d.form, array_agg(d.key),
           array_agg(d.digest), recoup.acting_kind(), recoup.acting_id(), recoup.acting_role()
      from digested d group by d.subject, d.form
    returning subject, cardinality(keys) as count)
  select coalesce(sum(w.count), 0) into done from written w where w.subject = 'recoup.error';
  -- Another transaction may have erased something else, or moved it to the archive, since the rule was checked.
  if done <> cardinality(ids) then
    raise exception using errcode = 'RC063',
      message = 'Nothing is redacted: one of the errors was changed at the same moment, or is named twice.',
      hint = 'Try again.', detail = jsonb_build_object('error_ids', ids);
  end if;
  update recoup.error_redaction r set error_message = null, payload = null, last_failure = null
    from new_rows n where r.redaction_id = n.redaction_id;
  return null;
end $$;
revoke execute on function recoup.settle_error_redactions() from public;
comment on function recoup.settle_error_redactions() is
'Writes the texts of a redaction into the error, live or archived.';
