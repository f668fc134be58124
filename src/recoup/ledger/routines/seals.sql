-- Seals: settled rows of a log in blocks, each with a digest over its rows, chained over all logs.
--
-- A block holds what became visible between two snapshots. Ranges follow each other without gap or overlap, so a row
-- is in exactly one block or not sealed yet, whatever the order of commits; and membership depends only on the
-- row's own transaction id, so it is the same after a dump and a restore. Where the next block begins follows from the
-- last seal of the log: there is no other cursor.
--
-- A backlog is split by transaction id: a range with too many rows ends at a lower id, as if its snapshot had been
-- taken earlier. Only a single transaction with too many rows is split along seq, into pages of one range.

create or replace function recoup.settled_snapshot() returns pg_snapshot
language sql volatile set search_path = pg_catalog, pg_temp as $$
  -- A snapshot counts its own transaction as finished. Ours is not: rows that it still writes must not count as sealed.
  select (least(pg_snapshot_xmin(s), own)::text || ':' || pg_snapshot_xmax(s)::text || ':' || coalesce(
           (select string_agg(x::text, ',' order by x)
              from (select pg_snapshot_xip(s) union select own where own < pg_snapshot_xmax(s)) running (x)),
           ''))::pg_snapshot
    from (select pg_current_snapshot(), pg_current_xact_id_if_assigned()) t (s, own)
$$;
comment on function recoup.settled_snapshot() is
'The current snapshot, with our own transaction among the running ones.';

create or replace function recoup.snapshot_below(s pg_snapshot, below xid8) returns pg_snapshot
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select (least(pg_snapshot_xmin(s), below)::text || ':' || below::text || ':' || coalesce(
           (select string_agg(x::text, ',' order by x) from pg_snapshot_xip(s) running (x) where x < below),
           ''))::pg_snapshot
$$;
comment on function recoup.snapshot_below(pg_snapshot, xid8) is
'What is visible in a snapshot (null: everything) and has a lower transaction id.';

create or replace function recoup.in_window(incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  -- "Not visible then" is written as "not begun then, or running then": a range and a few points of the index on xid.
  select format('l.incarnation = %s and (l.xid >= %L::xid8%s%s)', incarnation_, pg_snapshot_xmax(since_),
                case when until_ is not null then format(' and l.xid < %L::xid8', pg_snapshot_xmax(until_)) else '' end,
                case when late.xids <> '{}' then format(' or l.xid = any(%L::xid8[])', late.xids) else '' end)
      || case when until_ is not null then format(' and pg_visible_in_snapshot(l.xid, %L::pg_snapshot)', until_)
              else '' end
    from (select array(select pg_snapshot_xip(since_))) late (xids)
$$;
comment on function recoup.in_window(integer, pg_snapshot, pg_snapshot) is
'SQL text: whether a row l of a log became visible between two snapshots.';

create or replace function recoup.seal_text_1(s recoup.seal) returns text
language sql stable as $$
  select array[s.number::text, s.log, s.canon::text, s.incarnation::text, s.system_identifier::text, s.since::text,
               s.until::text, s.after_seq::text, s.last_seq::text, s.closes::text, s.rows::text,
               encode(s.rows_digest, 'hex'), (extract(epoch from s.sealed_at) * 1000000)::bigint::text, s.actor_id,
               encode(s.previous, 'hex')]::text
$$;
comment on function recoup.seal_text_1(recoup.seal) is 'Canonical text of a seal without its digest and its login.';

create or replace function recoup.seal_text(s recoup.seal) returns text
language sql stable as $$
  -- Since logins are stored, with the login.
  select case when s.login is null then recoup.seal_text_1(s) else array[recoup.seal_text_1(s), s.login]::text end
$$;
comment on function recoup.seal_text(recoup.seal) is 'Canonical text of a seal without its digest.';

create or replace function recoup.block_digest(log_ text, canon_ integer, incarnation_ integer, since_ pg_snapshot,
  until_ pg_snapshot, after_ bigint, last_ bigint, most bigint default null)
  returns table (rows bigint, last_seq bigint, digest bytea)
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off set bytea_output = hex
  set enable_seqscan = off set enable_sort = on set enable_bitmapscan = on as $$
declare
  page text := '';
begin
  -- Two access paths, and the planner must not choose: with old statistics it takes the wrong one and reads the
  -- whole log for a few rows. A page between two seqs uses the index on seq. Everything else uses the index on
  -- xid and is sorted; "+ 0" excludes the other index.
  if after_ > 0 and last_ is not null then
    perform set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true);
    page := format(' and l.seq > %s and l.seq <= %s', after_, last_);
  else
    page := case when after_ > 0 then format(' and l.seq + 0 > %s', after_) else '' end
         || coalesce(' and l.seq + 0 <= ' || last_, '');
  end if;
  return query execute format(
    'select count(*), max(b.seq), sha256(coalesce(string_agg(b.d, ''''::bytea), ''''::bytea))
       from (select l.seq, sha256(convert_to(recoup.%I(l), ''UTF8'')) as d from %s l where %s%s order by l.seq%s) b',
    format('canon_%s_%s', split_part(log_, '.', 2), canon_), log_::regclass,
    recoup.in_window(incarnation_, since_, until_), page, coalesce(' limit ' || most, ''));
end $$;
comment on function recoup.block_digest(text, integer, integer, pg_snapshot, pg_snapshot, bigint, bigint, bigint) is
'Count, last seq and digest of a block''s rows: SHA-256 over the SHA-256 of each, in the order of seq.';

create or replace function recoup.seal_cursor(log_ text) returns recoup.seal
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  before recoup.seal;
  block  recoup.seal;
begin
  select * into before from recoup.seal s where s.log = log_ order by s.number desc limit 1;
  block.log := log_;
  block.after_seq := 0;
  if before.number is null then
    block.incarnation := (select min(i.incarnation) from recoup.incarnation i);
    block.since := '1:1:';
  elsif not before.closes then  -- the next page of its range
    block.incarnation := before.incarnation;
    block.since := before.since; block.until := before.until; block.after_seq := before.last_seq;
  elsif before.until is null then  -- that cluster has ended: the next one
    block.incarnation := before.incarnation + 1;
    block.since := '1:1:';
  else
    block.incarnation := before.incarnation;
    block.since := before.until;
  end if;
  block.sealed_at := before.sealed_at;
  return block;
end $$;
comment on function recoup.seal_cursor(text) is
'Where the next block of a log begins, and when its last was sealed. after_seq > 0: in the middle of a range.';

create or replace function recoup.seal_window(log_ text, incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot,
  most bigint, out until pg_snapshot, out paged boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off
  set enable_seqscan = off set enable_sort = off as $$
declare
  begun  constant pg_snapshot := pg_snapshot_xmax(since_)::text || ':' || pg_snapshot_xmax(since_)::text || ':';
  range_ constant text := format('select l.xid from %s l where %s order by l.xid', log_::regclass,
                                 recoup.in_window(incarnation_, begun, until_));
  late   bigint := 0;
  first_ xid8;
  beyond xid8;
begin
  if pg_snapshot_xmin(since_) <> pg_snapshot_xmax(since_) then
    execute format('select count(*) from (select from %s l where l.xid = any(%L::xid8[]) and %s limit %s) t',
      log_::regclass, array(select pg_snapshot_xip(since_)), recoup.in_window(incarnation_, since_, until_), most + 1)
      into late;
  end if;
  if late > most then  -- a long transaction wrote that much: a range for it alone
    until := recoup.snapshot_below(until_, pg_snapshot_xmax(since_)); paged := true;
    return;
  end if;
  execute format('%s offset %s limit 1', range_, most - late) into beyond;
  if beyond is null then
    until := until_; paged := false;
    return;
  end if;
  execute format('%s limit 1', range_) into first_;
  paged := first_ = beyond and late = 0;  -- one transaction alone wrote more than a block
  until := recoup.snapshot_below(until_, case when paged then (beyond::text::bigint + 1)::text::xid8 else beyond end);
end $$;
comment on function recoup.seal_window(text, integer, pg_snapshot, pg_snapshot, bigint) is
'Where a block of at most this many rows ends, and whether even so it needs pages.';

create or replace function recoup.seal_next(log_ text, canon_ integer, most bigint, quiet_ interval default null)
  returns setof recoup.seal
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  canon_function constant text := format('recoup.canon_%s_', split_part(log_, '.', 2));
  present constant integer := recoup.present_incarnation();
  head    recoup.seal;
  block   recoup.seal;
  begun   boolean;
  paged   boolean := true;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'RC011',
      message = format('Seals are made at READ COMMITTED, not at %s.', upper(current_setting('transaction_isolation'))),
      hint = 'Begin the transaction at READ COMMITTED.',
      detail = jsonb_build_object('isolation', current_setting('transaction_isolation'));
  end if;
  if most is null or most not between 1 and 1000000 then
    raise exception using errcode = 'RC035', message = format('A block of %s rows.', coalesce(most::text, 'no')),
      hint = 'Use 1 to 1,000,000.', detail = jsonb_build_object('rows', most);
  end if;
  -- By its full name, so that no log is sealed twice under two spellings; in its newest version, so that no column is
  -- left out.
  if log_ !~ '^[a-z_][a-z0-9_]*[.][a-z_][a-z0-9_]*$'
     or to_regprocedure(format('%s%s(%s)', canon_function, canon_, log_)) is null
     or to_regprocedure(format('%s%s(%s)', canon_function, canon_ + 1, log_)) is not null then
    raise exception using errcode = 'RC035',
      message = format('%s is not a sealed log, or %s not its newest version.', log_, canon_),
      hint = 'List the sealed logs: recoup seal list', detail = jsonb_build_object('log', log_, 'canon', canon_);
  end if;
  -- One sealer at a time: the chain has one end. Held to the end of the transaction.
  lock table recoup.seal in share row exclusive mode;
  select * into head from recoup.seal s order by s.number desc limit 1;
  block := recoup.seal_cursor(log_);
  begun := block.after_seq > 0;
  if not begun then
    if block.incarnation >= present then
      block.until := recoup.settled_snapshot();
    end if;
    select w.until, w.paged into block.until, paged
      from recoup.seal_window(log_, block.incarnation, block.since, block.until, most) w;
  else
    -- Rows of one transaction are mostly adjacent. If not, or at the end of the range, they are selected below.
    select d.rows, d.last_seq, d.digest into block.rows, block.last_seq, block.rows_digest
      from recoup.block_digest(log_, canon_, block.incarnation, block.since, block.until, block.after_seq,
        least(block.after_seq, 9000000000000000000) + 2 * most, most) d;
  end if;
  if block.rows is distinct from most then
    select d.rows, d.last_seq, d.digest into block.rows, block.last_seq, block.rows_digest
      from recoup.block_digest(log_, canon_, block.incarnation, block.since, block.until, block.after_seq,
        null, case when paged then most end) d;
  end if;
  -- Nothing new: no seal, except from time to time, so that no row can be added to the past of a quiet log. The
  -- end of a range or of a cluster is always sealed.
  if block.rows = 0 and not begun and block.until is not null
     and coalesce(quiet_ is null or block.sealed_at > recoup.now() - quiet_, false) then
    return;
  end if;
  block.number := coalesce(head.number, 0) + 1;
  block.canon := canon_;
  block.system_identifier :=
    (select i.system_identifier from recoup.incarnation i where i.incarnation = block.incarnation);
  block.last_seq := greatest(block.last_seq, block.after_seq);
  block.closes := not paged or block.rows < most;
  block.sealed_at := recoup.now();
  block.actor_id := recoup.acting_id();
  block.previous := coalesce(head.digest, decode(repeat('00', 32), 'hex'));
  block.login := session_user;
  block.digest := sha256(convert_to(recoup.seal_text(block), 'UTF8'));
  return query insert into recoup.seal values (block.*) returning *;
end $$;
revoke execute on function recoup.seal_next(text, integer, bigint, interval) from public;
grant execute on function recoup.seal_next(text, integer, bigint, interval) to recoup_archiver;
comment on function recoup.seal_next(text, integer, bigint, interval) is
'Seals the next block of a log. No row: everything settled is sealed.';

create or replace function recoup.first_unsealed(log_ text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off
  set enable_seqscan = off set enable_sort = off as $$
declare
  at_    recoup.seal := recoup.seal_cursor(log_);
  number integer;
  first_ bigint;
begin
  if at_.after_seq > 0 then
    execute format('select l.seq from %s l where %s and l.seq > %s order by l.seq limit 1',
      log_::regclass, recoup.in_window(at_.incarnation, at_.since, at_.until), at_.after_seq) into first_;
    if at_.until is null then  -- that cluster has ended
      at_.incarnation := at_.incarnation + 1;
    end if;
    at_.since := coalesce(at_.until, '1:1:');
  end if;
  for number in select i.incarnation from recoup.incarnation i where i.incarnation >= at_.incarnation order by 1 loop
    exit when first_ is not null;
    execute format('select t.seq from ((select l.seq from %1$s l
                                         where l.incarnation = %2$s and l.xid = any(%3$L::xid8[]) limit 1)
                                       union all
                                       (select l.seq from %1$s l
                                         where l.incarnation = %2$s and l.xid >= %4$L::xid8 order by l.xid limit 1)) t
                     limit 1',
      log_::regclass, number, array(select pg_snapshot_xip(at_.since)), pg_snapshot_xmax(at_.since)) into first_;
    at_.since := '1:1:';
  end loop;
  return first_;
end $$;
comment on function recoup.first_unsealed(text) is
'The seq of the oldest unsealed row, in the order of transactions; null: all rows are sealed.';

create or replace function recoup.check_seal(s recoup.seal) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  found_ record;
begin
  if not isfinite(s.sealed_at) or s.digest <> sha256(convert_to(recoup.seal_text(s), 'UTF8')) then
    return 'the seal itself was changed';
  end if;
  select * into found_ from recoup.block_digest(s.log, s.canon, s.incarnation, s.since, s.until, s.after_seq,
    case when not s.closes then s.last_seq end);
  return case when found_.rows < s.rows then format('%s of its %s rows are missing', s.rows - found_.rows, s.rows)
              when found_.rows > s.rows then format('%s rows were added to its %s', found_.rows - s.rows, s.rows)
              when found_.digest <> s.rows_digest
              then format('of its %s rows, some were changed or exchanged', s.rows) end;
exception
  -- No log holds such a time: it has no canonical text.
  when feature_not_supported or numeric_value_out_of_range then
    return format('of its %s rows, some have an invalid time', s.rows);
end $$;
comment on function recoup.check_seal(recoup.seal) is
'What is wrong with a seal or its rows; null when nothing is.';

create or replace function recoup.only_sealers() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not recoup.acts_for_another() then
    raise exception using errcode = 'RC010',
      message = format('%I.%I: %s may not write a seal by hand.', tg_table_schema, tg_table_name, current_user),
      hint = 'Seals are made from the rows: recoup seal run.',
      detail = jsonb_build_object('log', format('%I.%I', tg_table_schema, tg_table_name), 'authority', current_user);
  end if;
  return null;
end $$;
comment on function recoup.only_sealers() is 'Refuses every seal that recoup.seal_next did not make.';

call recoup.put_trigger('recoup.seal', 'a_only_sealers', 'before', 'insert', 'statement', 'recoup.only_sealers');
