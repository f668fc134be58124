-- Raw's side of the error tables, and what fills both.

-- name: make
create table {raw} partition of raw.error (error_table default {name}) for values in ({name}) with (fillfactor = 85);

-- name: index
create {unique} index {open} on {raw} (outreach_id, error_signature) where archived_at is null;

-- name: need_entity
alter table {raw} alter column outreach_id set not null;

-- name: make_archive
create table {archive} partition of raw.error_archive (error_table default {name}) for values in ({name}) partition by range (archived_at);

-- name: months
select m::date from generate_series(date_trunc('month', now() at time zone 'UTC'), now() at time zone 'UTC' + interval '1 month', '1 month') m;

-- name: make_month
create table {part} partition of {archive}
  for values from (({month}::date)::timestamp at time zone 'UTC') to (({month}::date + interval '1 month') at time zone 'UTC');

-- name: partitions
select n.nspname, c.relname
  from pg_partition_tree('recoup.error') t join pg_class c on c.oid = t.relid join pg_namespace n on n.oid = c.relnamespace
 where t.isleaf order by 1, 2;

-- name: rest_indexes
update pg_index set indisready = false where indrelid = %(table)s::regclass;

-- name: last_error
-- By the sequence: what it was drawn for may have left the table.
select nextval('recoup.error_seq');

-- name: fill_births
insert into recoup.error_event (incarnation, logged_at, error_table, error_id, event_type, to_status, disposition, retry_count, actor, actor_id, authority)
select 1, e.created_at, e.error_table, e.error_id, 'RECORDED', 'RETRY_PENDING', 'RETRY', 0, 'system', 'bench', 'recoup_hub'
  from recoup.error e where e.error_id > %(after)s order by e.error_id;

-- name: copy
-- In the order in which they were made, so that both sides lie alike on disk.
insert into {raw} ({columns})
select {columns} from {ours} where error_id > %(after)s order by error_id;

-- name: tally
select 'error ' || concat_ws(' ', error_table, error_code, severity, category, disposition, status, ttl_tier, retry_count, max_retries,
         last_outcome, park_reason, archive_reason, token is not null, next_retry_at is not null, payload is not null), count(*)
  from {error} group by 1
union all
select 'archived ' || concat_ws(' ', error_table, final_disposition, status, retry_count, archive_reason, was_blocking), count(*)
  from {error_archive} group by 1
union all
select 'event ' || concat_ws(' ', error_table, event_type, from_status, '>', to_status, disposition, retry_count, reason, facts, authority), count(*)
  from {error_event} group by 1
order by 1;
