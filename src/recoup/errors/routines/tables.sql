-- Error tables: partitions of recoup.error, each with its guards and its archive, made from the policy.
--
-- A statement that names a partition fires the triggers of that partition alone, so each has them all. All partitions
-- are made here, and nowhere else.

create or replace procedure recoup.make_error_table(name_ text, insert_only boolean, entity_needed boolean)
language plpgsql as $$
declare
  schema_ constant text := split_part(name_, '.', 1);
  table_  constant text := split_part(name_, '.', 2);
  taken   text;
begin
  if exists (select from pg_inherits i
              where i.inhparent = 'recoup.error'::regclass and i.inhrelid = to_regclass(name_)) then
    return;
  end if;
  select t.name into taken
    from (values (name_), (name_ || '_archive'), (name_ || '_open')) t (name)
   where to_regclass(t.name) is not null limit 1;
  if found then
    raise exception using errcode = 'RC052',
      message = format('There is a relation %s already, and it is no error table.', taken),
      hint = case when exists (select from pg_class c where c.oid = to_regclass(taken)
                                  and (c.relowner = 'recoup_owner'::regrole or c.relkind not in ('r', 'p')))
        then format('Give %s another name in the policy.', name_)
        else format('To adopt it: alter table %1$s rename to %2$s; then recoup migrate; then import its rows, whose'
                    ' created_at is kept: recoup errors record --table %3$s --file ROWS.jsonl',
                    taken, split_part(taken, '.', 2) || '_before', name_) end,
      detail = jsonb_build_object('table', taken);
  end if;
  if to_regnamespace(quote_ident(schema_)) is null then
    execute format('create schema %I', schema_);
    execute format('comment on schema %I is %L', schema_, 'Error tables of a hub.');
    execute format('grant usage on schema %I to recoup_reader', schema_);
  end if;
  execute format('create table %I.%I partition of recoup.error (error_table default %L) for values in (%L)'
                 ' with (fillfactor = 85)', schema_, table_, name_, name_);
  execute format('comment on table %I.%I is %L', schema_, table_,
                 'Errors of this hub. Read here; written through recoup.error.');
  -- By entity, for the promotion gate. Unique, so that of one failure of one entity there is one that is open: a newer
  -- one supersedes it.
  execute format('create %s index %I on %I.%I (outreach_id, error_signature, coalesce(work_key, %L))'
                 ' where archived_at is null',
                 case when insert_only then '' else 'unique' end, table_ || '_open', schema_, table_, '');
  if entity_needed then
    execute format('alter table %I.%I alter column outreach_id set not null', schema_, table_);
  end if;
  call recoup.equip(format('%I.%I', schema_, table_)::regclass, 'recoup.error');
  if insert_only then
    call recoup.append_only_table(format('%I.%I', schema_, table_)::regclass);
  end if;
  execute format('grant select on %I.%I to recoup_reader', schema_, table_);
  call recoup.limit_errors_to_hub(format('%I.%I', schema_, table_)::regclass);

  execute format('create table %I.%I partition of recoup.error_archive (error_table default %L) for values in (%L)'
                 ' partition by range (archived_at)', schema_, table_ || '_archive', name_, name_);
  execute format('comment on table %I.%I is %L', schema_, table_ || '_archive',
                 'Archived errors of ' || name_ || ', by month.');
  call recoup.close_log(format('%I.%I', schema_, table_ || '_archive')::regclass, 'recoup.error_archive');
  execute format('grant select on %I.%I to recoup_reader', schema_, table_ || '_archive');
  call recoup.limit_errors_to_hub(format('%I.%I', schema_, table_ || '_archive')::regclass);
end $$;
comment on procedure recoup.make_error_table(text, boolean, boolean) is
'Makes an error table and its archive, unless they are there. Refuses names that somebody else has taken.';

create or replace function recoup.archive_month_name(error_table_ text, month_ date) returns text
language sql immutable as $$
  select format('%I.%I', split_part(error_table_, '.', 1),
                split_part(error_table_, '.', 2) || '_archive_' || to_char(month_, 'YYYYMM'))
$$;
comment on function recoup.archive_month_name(text, date) is 'Name of the partition of a month.';

create or replace function recoup.archive_month_digest(
  error_table_ text, month_ date, page integer default 10000, out rows bigint, out digest bytea)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' set datestyle = 'ISO, MDY'  -- the text of a row depends on them
as $$
declare
  after  bigint := 0;
  count_ bigint;
begin
  rows := 0;
  digest := '';
  loop  -- chained page by page: a month may hold more than there is memory
    execute format($page$
      select count(*), coalesce(max(p.error_id), $2),
             sha256($1 || coalesce(string_agg(sha256(convert_to(p::text, 'UTF8')), ''::bytea order by p.error_id), ''))
        from (select * from %s where error_id > $2 order by error_id limit $3) p
      $page$, recoup.archive_month_name(error_table_, month_)) into count_, after, digest using digest, after, page;
    rows := rows + count_;
    exit when count_ < page;
  end loop;
end $$;
comment on function recoup.archive_month_digest(text, date, integer) is
'How many errors a month of an archive holds, and SHA-256 over them in the order of their ids.';

create or replace function recoup.settle_archive_months() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'  -- readers and writers of the archive wait no longer than this for us
set timezone = 'UTC'
as $$
declare
  made    record;
  name_   text;
  archive text;
  held    record;
begin
  perform recoup.require_table(tg_relid, 'recoup.error_archive_month');
  for made in select n.error_table, n.month, n.status, n.rows, n.digest from new_rows n order by 1, 2 loop
    name_ := recoup.archive_month_name(made.error_table, made.month);
    archive := format('%I.%I', split_part(made.error_table, '.', 1),
                      split_part(made.error_table, '.', 2) || '_archive');
    if made.status = 'DROPPED' then
      held := recoup.archive_month_digest(made.error_table, made.month);
      if held.rows <> made.rows or held.digest <> made.digest then
        raise exception using errcode = 'RC051',
          message = format('The archive of %s of %s holds %s errors with another digest, not %s.', made.error_table,
                           to_char(made.month, 'YYYY-MM'), held.rows, made.rows),
          hint = 'Take both from recoup.archive_month_digest, in the transaction that drops it.',
          detail = jsonb_build_object('error_table', made.error_table, 'month', made.month, 'rows', held.rows);
      end if;
      execute format('drop table %s', name_);
    else
      -- Made as a table of its own and attached: that locks out neither readers nor writers.
      execute format('create table %s (like %s including all)', name_, archive);
      execute format('alter table %s attach partition %s for values from (%L) to (%L)', archive, name_,
                     made.month::timestamptz, (made.month + interval '1 month')::timestamptz);
      call recoup.close_log(name_::regclass, 'recoup.error_archive');
      execute format('grant select on %s to recoup_reader', name_);
      call recoup.limit_errors_to_hub(name_::regclass);
    end if;
  end loop;
  return null;
end $$;
revoke execute on function recoup.settle_archive_months() from public;
comment on function recoup.settle_archive_months() is
'Makes the partition of a month that begins, drops that of one whose retention has ended.';
