-- Which piece of an entity's work failed belongs to what one failure is; and a newer error says what it was refused.

alter table recoup.error
  add column work_key text
    check (char_length(work_key) between 1 and 200 and work_key !~ '[\u0001-\u001f\u007f-\u009f]'),
  add column overruled text check (overruled in ('RETRY', 'PARK', 'ARCHIVE', 'IGNORE'));
alter table recoup.error_archive add column work_key text, add column overruled text;
comment on column recoup.error.work_key is
'Which piece of the entity''s work failed: a person, a document. Null: there is only one.';
comment on column recoup.error.overruled is
'What its report asked for, where an open error of the same failure was more; null: it was not overruled.';
comment on column recoup.error_archive.work_key is 'Which piece of the entity''s work failed.';
comment on column recoup.error_archive.overruled is
'What its report asked for, where an open error of the same failure was more; null: it was not overruled.';
comment on column recoup.error.superseded_by is 'The newer error of the same table, entity, work key and signature.';
comment on column recoup.error_archive.superseded_by is
'The newer error of the same table, entity, work key and signature.';
comment on column recoup.error.created_at is
'When it first failed: a newer error has the age of the one it supersedes, if that was to be retried or parked.';
comment on column recoup.error_archive.created_at is
'When it first failed: a newer error has the age of the one it supersedes, if that was to be retried or parked.';
comment on column recoup.error.expires_at is
'After this time it is archived as TTL_EXPIRED; an unparking moves it. Null: never.';
-- What is unparked is kept for its retries.
grant update (expires_at) on recoup.error to recoup_operator;

do $$
declare
  part record;
begin
  for part in
    select n.nspname, c.relname, x.indexrelid::regclass as index_, x.indisunique
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
      join pg_namespace n on n.oid = c.relnamespace
      join pg_index x on x.indrelid = c.oid
      join pg_class k on k.oid = x.indexrelid and k.relname = c.relname || '_open'
     where i.inhparent = 'recoup.error'::regclass
  loop
    execute format('drop index %s', part.index_);
    execute format('create %s index %I on %I.%I (outreach_id, error_signature, coalesce(work_key, %L))'
                   ' where archived_at is null',
                   case when part.indisunique then 'unique' else '' end, part.relname || '_open', part.nspname,
                   part.relname, '');
  end loop;
end $$;

-- Made again by the routines, with other parameters or results.
drop function if exists recoup.record_errors(integer[], uuid[], text[], text[], jsonb[], integer[],
  text[], text[], text[], text[], text[], text[], integer[], integer[], text[], text[], text[], integer);
drop function if exists recoup.insert_errors(bigint[], integer[], uuid[], text[], text[], jsonb[], integer[],
  text[], text[], text[], text[], text[], text[], integer[], integer[], text[], text[], text[],
  integer, bigint[], text[], bigint[], jsonb, timestamptz);
drop function if exists recoup.lock_open_errors(
  integer[], uuid[], text[], integer[], text[], text[], jsonb, timestamptz);
drop function if exists recoup.inherited(bigint[], text[], bigint[]);
drop function if exists recoup.retries_over(integer, integer, timestamptz, timestamptz);
