-- What a row was given at birth is in a sealed log, as a digest: whoever changes it behind the triggers is found. And
-- every log says by which login an event was written, beside who is said to have acted.

create table recoup.content_log (
  seq         bigint primary key default nextval('recoup.event_seq'),
  xid         xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at   timestamptz not null check (isfinite(logged_at)),
  subject     text not null,
  event_type  text not null check (event_type in ('BIRTH', 'ADOPTED', 'REDACTED')),
  form        integer not null check (form > 0),
  keys        text[] not null check (cardinality(keys) > 0),
  digests     bytea[] not null check (cardinality(digests) = cardinality(keys)),
  actor       text not null check (actor in ('system', 'ai', 'human')),
  actor_id    text not null,
  authority   text not null,
  login       text default session_user
);
create index content_log_xid on recoup.content_log (xid);
-- Digests do not get smaller.
alter table recoup.content_log alter column digests set storage external;
comment on table recoup.content_log is
'Append-only: what rows were given at birth, as digests, one row for all that was born together.';
comment on column recoup.content_log.seq is 'Order over all logs.';
comment on column recoup.content_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.content_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.content_log.logged_at is 'When.';
comment on column recoup.content_log.subject is 'Table of the rows.';
comment on column recoup.content_log.event_type is
'BIRTH; ADOPTED: it was there before this log; REDACTED: a secret in it was erased.';
comment on column recoup.content_log.form is 'Which columns the digests are over, by number: see the declaration.';
comment on column recoup.content_log.keys is 'Keys of the rows, as text.';
comment on column recoup.content_log.digests is
'Of each row: SHA-256 over the text of an array of its columns'' texts, times in UTC.';
comment on column recoup.content_log.actor is 'system, ai or human.';
comment on column recoup.content_log.actor_id is 'Who exactly.';
comment on column recoup.content_log.authority is 'Database role that acted.';
comment on column recoup.content_log.login is 'Login of the session.';
grant select on recoup.content_log to recoup_reader;

alter table recoup.lifecycle add column content integer not null default 0;
comment on column recoup.lifecycle.content is
'Number of the list of columns that digests of its rows are over now: the frozen ones; 0: none are made.';

-- Nobody knows the logins of what was written before.
do $$
declare
  log_ text;
begin
  foreach log_ in array array['recoup.pause_log', 'recoup.control_log', 'recoup.policy', 'recoup.late_result',
    'recoup.claim_log', 'recoup.seal', 'cl.gate_zero_air', 'cl.sovereign_mint_air', 'recoup.error_event']
  loop
    execute format('alter table %s add column login text', log_);
    execute format('alter table %s alter column login set default session_user', log_);
    execute format('comment on column %s.login is %L', log_,
                   'Login of the session; null where it is from before this was kept.');
  end loop;
end $$;

-- Where every birth has an event of its own, that has the digest.
alter table cl.gate_zero_air add column form integer, add column digest bytea;
alter table recoup.error_event add column form integer, add column digest bytea;
comment on column cl.gate_zero_air.form is 'Of an ATTEMPT: which columns the digest is over, by number.';
comment on column cl.gate_zero_air.digest is
'Of an ATTEMPT: what the attempt was given, as recoup.content_log has it of others; null for older ones.';
comment on column recoup.error_event.form is 'Of a RECORDED: which columns the digest is over, by number.';
comment on column recoup.error_event.digest is
'Of a RECORDED: what the error was given, as recoup.content_log has it of others; null for older ones.';

-- What is there is adopted as it is: nothing says what it was.
do $$
declare
  adopted record;
begin
  set local timezone = 'UTC';
  set local datestyle = 'ISO, YMD';
  set local bytea_output = 'hex';
  for adopted in
    select * from (values
      ('cl.gate_zero_batch', null, 'batch_id', 'batch_id, imported_at'),
      ('cl.gate_zero_intake', null, 'intake_id', 'intake_id, batch_id, company_name, company_domain, linkedin_url,'
       ' state, reentered_from, retry_of, created_at'),
      ('cl.gate_zero_attempt', null, 'attempt_id', 'attempt_id, intake_id, batch_id, attempt_number, worker, token,'
       ' opened_at, lease_until, policy_version'),
      ('cl.company_identity', null, 'sovereign_company_id', 'sovereign_company_id, intake_id, company_name,'
       ' company_domain, minted_at'),
      ('recoup.worker', null, 'worker_id', 'worker_id, name, host, pid, recoup_version, duties, started_at'),
      ('recoup.operation', null, 'operation_id', 'operation_id, subject, verb, arguments, filter, items, digest,'
       ' requested_at, requested_by'),
      ('recoup.operation_item', null, 'operation_id, place', 'operation_id, place, unit'),
      ('recoup.error_archive_month', null, 'error_table, month', 'error_table, month, made_at'),
      ('recoup.error', 'recoup.error_archive', 'error_table, error_id', 'error_table, error_id, outreach_id,'
       ' work_key, error_code, error_signature, severity, category, ttl_tier, decided_by, clamped_from, overruled,'
       ' policy_version, created_at, error_message, payload')) t (subject, archive, key, columns)
  loop
    execute format($adopt$
      insert into recoup.content_log (incarnation, logged_at, subject, event_type, form, keys, digests, actor, actor_id,
                                      authority)
      select (select max(i.incarnation) from recoup.incarnation i), recoup.now(), %1$L, 'ADOPTED', 1, array_agg(a.key),
             array_agg(a.digest), 'system', session_user, current_user
        from (select r.key, r.digest, row_number() over () / 1000 as page
                from (%2$s) r) a
       group by a.page $adopt$, adopted.subject,
      (select string_agg(format('select concat_ws('', '', %s) as key, sha256(convert_to(array[%s]::text, ''UTF8'')) as'
                                ' digest from %s', adopted.key,
                                (select string_agg(trim(c) || '::text', ', ' order by place)
                                   from regexp_split_to_table(adopted.columns, ',') with ordinality u (c, place)), t),
                         ' union all ')
         from unnest(array_remove(array[adopted.subject, adopted.archive], null)) t));
  end loop;
end $$;
