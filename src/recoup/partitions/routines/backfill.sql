-- Backfills: many partitions, asked for as one. Planned in chunks, each one call; held and released in batches.

create or replace function partitions.rule_backfill_births() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.backfill_id into bad from new_rows n
   where n.planned <> 0 or n.policy_version <> recoup.policy_version() or n.requested_by <> recoup.acting_id()
      or not partitions.is_now(n.created_at, now_) or n.updated_at <> n.created_at
      or n.expected <> partitions.backfill_size(n.selection) limit 1;
  if found then
    raise exception using errcode = 'RC147',
      message = format('Backfill %s begins now, for who asks for it, and with all its partitions before it.',
                       bad.backfill_id),
      hint = 'Use: recoup backfill start', detail = jsonb_build_object('backfill_id', bad.backfill_id);
  end if;
  return null;
end $$;
comment on function partitions.rule_backfill_births() is 'A backfill begins now, with nothing planned.';

create or replace function partitions.backfill_move_broken(o partitions.backfill, n partitions.backfill,
  now_ timestamptz, acting text, policy jsonb) returns text
language sql stable as $$
  select case
    when n.updated_at > greatest(o.updated_at, now_ + interval '1 second') or n.updated_at < now_ - interval '1 minute'
      or n.ended_at <> n.updated_at then 'times'
    when o.status <> 'planning' and n.planned <> o.planned then 'planned'
    when n.status = 'planning' and n.planned = o.planned then 'planned'
    when n.planned <> o.planned and n.planned <> (
           select count(*) from partitions.backfill_item i where i.backfill_id = n.backfill_id) then 'planned'
    when n.status = 'done' and exists (select from partitions.backfill_item i
                                        where i.backfill_id = n.backfill_id and i.status = 'waiting') then 'waiting' end
$$;
comment on function partitions.backfill_move_broken(partitions.backfill, partitions.backfill, timestamptz, text, jsonb)
is 'The rule that a move of a backfill breaks, or null.';

create or replace function partitions.backfill_move_refusal(code_ text, o partitions.backfill, n partitions.backfill,
  out sqlstate text, out message text, out hint text, out detail jsonb)
language sql stable as $$
  select 'RC147',
         format('Backfill %s: %s', n.backfill_id, case code_
           when 'times' then 'it changes now, and at no other time.'
           when 'planned' then 'what is planned are its members.'
           else 'some of its members have not ended.' end),
         'Use: recoup backfill --help',
         jsonb_build_object('backfill_id', n.backfill_id, 'why', code_, 'from', o.status, 'to', n.status)
$$;
comment on function partitions.backfill_move_refusal(text, partitions.backfill, partitions.backfill) is
'The refusal of a move that breaks a rule of partitions.backfill_move_broken.';

create or replace function partitions.rule_backfill_items() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.backfill_id, n.place into bad
    from new_rows n
    left join partitions.backfill b on b.backfill_id = n.backfill_id
    left join partitions.schedule s on s.partition_id = n.partition_id
   where b.status is distinct from 'planning' or n.place <= b.planned or n.place > b.expected
      or not partitions.is_now(n.planned_at, now_) or n.ended_at <> n.planned_at
      or n.status = 'waiting' and s.backfill_id is distinct from n.backfill_id limit 1;
  if found then
    raise exception using errcode = 'RC147',
      message = format('Backfill %s: no member is added at place %s.', bad.backfill_id, bad.place),
      hint = 'Members are planned in order, while it is being planned: recoup backfill start',
      detail = jsonb_build_object('backfill_id', bad.backfill_id, 'place', bad.place);
  end if;
  return null;
end $$;
comment on function partitions.rule_backfill_items() is
'Members are added in order while a backfill is planned, and one that waits belongs to it.';

create or replace function partitions.backfill_size(selection jsonb) returns integer
language sql immutable as $$
  select (((selection ->> 'to')::date - (selection ->> 'from')::date + 1)
          * jsonb_array_length(selection -> 'customers') * jsonb_array_length(selection -> 'queries'))::integer
$$;
comment on function partitions.backfill_size(jsonb) is 'How many partitions a backfill asks for.';

create or replace function partitions.backfill_members(selection jsonb, first_ integer, last_ integer)
  returns table (place integer, source text, customer_id text, query_name text, logical_date date)
language sql immutable rows 10000 as $$
  -- Day by day; within a day customer by customer. Only the days of these places are written out.
  select m.place, selection ->> 'source', m.customer_id, m.query_name, (selection ->> 'from')::date + m.day
    from (select d.day, c.name as customer_id, q.name as query_name,
                 ((d.day * s.customers + c.place - 1) * s.queries + q.place)::integer as place
            from (select jsonb_array_length(selection -> 'queries') as queries,
                         jsonb_array_length(selection -> 'customers') as customers) s
           cross join lateral generate_series((first_ - 1) / (s.queries * s.customers),
                                              (last_ - 1) / (s.queries * s.customers)) d (day)
           cross join jsonb_array_elements_text(selection -> 'customers') with ordinality c (name, place)
           cross join jsonb_array_elements_text(selection -> 'queries') with ordinality q (name, place)) m
   where m.place between first_ and last_
   order by m.place
$$;
comment on function partitions.backfill_members(jsonb, integer, integer) is
'The partitions of a backfill, by their places.';

create or replace function partitions.found_as(state text, s partitions.schedule, backfill_ uuid) returns text
language sql stable as $$
  select case
    when state is null then 'new'
    when exists (select from partitions.backfill b
                  where b.backfill_id = s.backfill_id and b.backfill_id is distinct from backfill_
                    and b.status in ('planning', 'running', 'paused') and s.status in ('waiting', 'open', 'held'))
      then 'other'
    when s.status = 'open' then 'open'
    when s.status = 'terminal' then 'terminal'
    when s.status = 'held' then 'held'
    when state = 'success' then case s.status when 'idle' then 'success' else 'pending' end
    else state end
$$;
comment on function partitions.found_as(text, partitions.schedule, uuid) is
'What a backfill finds of a partition: new, failed, terminal, success, pending, held, open, or another backfill''s.';

create or replace function partitions.member_now(source_ text, customer_ text, query_ text, date_ date,
  out partition_id bigint, out state text, out schedule partitions.schedule)
language sql stable as $$
  -- By its key, whatever statistics know of a day: joined, one of many members was found among all that wait.
  select p.partition_id, p.status, (select s from partitions.schedule s where s.partition_id = p.partition_id)
    from partitions.partition_state p
   where p.source = source_ and p.customer_id = customer_ and p.query_name = query_ and p.logical_date = date_ limit 1
$$;
comment on function partitions.member_now(text, text, text, date) is
'The partition of this key as it is now, with its schedule; nulls: there is none.';

create or replace function partitions.preview_backfill(selection jsonb)
  returns table (found text, partitions_ bigint, example text, other uuid)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  select partitions.found_as(n.state, n.schedule, null), count(*),
         min(m.customer_id || '/' || m.query_name || '/' || m.logical_date),
         min((n.schedule).backfill_id::text) filter (
           where partitions.found_as(n.state, n.schedule, null) = 'other')::uuid
    from partitions.backfill_members(selection, 1, partitions.backfill_size(selection)) m
   cross join lateral partitions.member_now(m.source, m.customer_id, m.query_name, m.logical_date) n
   group by 1
$$;
comment on function partitions.preview_backfill(jsonb) is 'What a backfill would find. Changes nothing.';

create or replace function partitions.plan_backfill(backfill_ uuid, most integer,
  out planned_ integer, out status_ text)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
  said constant text[] := array[current_setting('recoup.reason', true), current_setting('recoup.command', true),
                                current_setting('recoup.selection', true)];
  b    partitions.backfill;
  last integer;
  new_ record;
begin
  -- One chunk at a time: who comes meanwhile waits, and takes the next.
  select * into b from partitions.backfill x where x.backfill_id = backfill_ for no key update;
  if b.status is distinct from 'planning' then
    status_ := b.status;
    return;
  end if;
  last := least(b.planned + most, b.expected);
  -- What it asks for is asked for its reason, also when a worker continues it.
  perform set_config('recoup.reason', b.reason, true), set_config('recoup.command', 'backfill', true),
          set_config('recoup.selection', backfill_::text, true);
  if not b.only_failed then
    select array_agg(m.source) as sources, array_agg(m.customer_id) as customers, array_agg(m.query_name) as queries,
           array_agg(m.logical_date) as dates into new_
      from partitions.backfill_members(b.selection, b.planned + 1, last) m
     where (select p.partition_id from partitions.partition_state p
             where p.source = m.source and p.customer_id = m.customer_id and p.query_name = m.query_name
               and p.logical_date = m.logical_date) is null;
    if new_.sources is not null then
      perform partitions.enqueue(new_.sources, new_.customers, new_.queries, new_.dates, 'backfill', b.priority,
                                 backfill_);
    end if;
  end if;
  with held as materialized (
    select m.place, n.partition_id, (n.schedule).backfill_id as member_of,
           case when n.partition_id is null then 'absent'
                -- Enqueued by this call: a clock that runs is later by now.
                when (n.schedule).backfill_id = backfill_ and (n.schedule).first_dispatched_at is null
                     and (n.schedule).first_enqueued_at >= now_ then 'new'
                else partitions.found_as(n.state, n.schedule, backfill_) end as found
      from partitions.backfill_members(b.selection, b.planned + 1, last) m
     cross join lateral partitions.member_now(m.source, m.customer_id, m.query_name, m.logical_date) n),
  wanted as materialized (
    select h.*, case h.found when 'success' then b.reprocess when 'terminal' then b.with_terminal
                             else h.found in ('new', 'failed', 'pending', 'held') end as is_wanted
      from held h),
  asked as materialized (
    select a.asked as partition_id, a.answers as answer
      from (select * from (values ('retry', false), ('retry', true), ('reprocess', false)) v (verb, overrides)
             where case when v.overrides then b.with_terminal when v.verb = 'reprocess' then b.reprocess
                        else true end) v
     cross join lateral partitions.ask(
       array(select w.partition_id from wanted w
              where w.is_wanted and case when v.overrides then w.found = 'terminal'
                                         when v.verb = 'reprocess' then w.found = 'success'
                                         else w.found in ('failed', 'held') end order by 1),
       v.verb, 1, 'backfill', b.priority, backfill_, null, null, v.overrides) x
     cross join lateral unnest(x.asked, x.answers) a (asked, answers)),
  joined as (
    update partitions.schedule s set backfill_id = backfill_, updated_at = greatest(s.updated_at, now_)
      from wanted w
     where w.found = 'pending' and s.partition_id = any(array[w.partition_id]) and s.status || '' = 'waiting'
    returning s.partition_id)
  insert into partitions.backfill_item (backfill_id, place, partition_id, found, status, other, planned_at, ended_at)
  select backfill_, w.place, w.partition_id, w.found, x.status, case when w.found = 'other' then w.member_of end, now_,
         case when x.status = 'left' then now_ end
    from wanted w
   cross join lateral (
     -- In sets, which are hashed.
     select case when w.found = 'new' or w.partition_id in (select a.partition_id from asked a where a.answer = 'asked')
                      or w.partition_id in (select j.partition_id from joined j) then 'waiting' else 'left' end
              as status) x;
  perform set_config('recoup.reason', coalesce(said[1], ''), true),
          set_config('recoup.command', coalesce(said[2], ''), true),
          set_config('recoup.selection', coalesce(said[3], ''), true);
  update partitions.backfill x
     set planned = last, status = case when last = b.expected then 'running' else 'planning' end,
         updated_at = greatest(x.updated_at, now_)
   where x.backfill_id = backfill_
  returning x.planned, x.status into planned_, status_;
end $$;
comment on function partitions.plan_backfill(uuid, integer) is
'Plans the next chunk of a backfill: enqueues what is new, asks again for what failed, and notes what is left.';

create or replace function partitions.move_backfill(backfill_ uuid, to_ text, out was text, out became text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  select x.status into was from partitions.backfill x where x.backfill_id = backfill_ for no key update;
  became := was;
  if (to_ = 'paused' and was = 'running') or (to_ = 'running' and was = 'paused')
     or to_ = 'cancelled' and was in ('planning', 'running', 'paused') then
    update partitions.backfill x
       set status = to_, updated_at = greatest(x.updated_at, now_),
           ended_at = case when to_ = 'cancelled' then greatest(x.updated_at, now_) end
     where x.backfill_id = backfill_;
    became := to_;
  end if;
end $$;
comment on function partitions.move_backfill(uuid, text) is
'Pauses, resumes or cancels a backfill. What it became, and what it was.';

create or replace function partitions.is_asked_since(s partitions.schedule, b partitions.backfill) returns boolean
language sql immutable as $$ select coalesce(s.requested_at > b.updated_at, false) $$;
comment on function partitions.is_asked_since(partitions.schedule, partitions.backfill) is
'Whether a member was asked for after its backfill was paused or cancelled: it is not held again.';

create or replace function partitions.settle_holds(backfill_ uuid, most integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  now_    constant timestamptz := recoup.now();
  since   partitions.backfill;  -- its last move was that
  status_ text;
  changed integer := 0;
begin
  select b.* into since from partitions.backfill b where b.backfill_id = backfill_;
  status_ := since.status;
  if status_ in ('paused', 'cancelled') then
    with members as materialized (
      select s.partition_id, p.status as state,
             -- A run that is to be validated again is not left behind.
             exists (select from partitions.run r where r.run_id = s.run_id and r.status = 'published') as has_run
        from partitions.schedule s join partitions.partition_state p on p.partition_id = s.partition_id
       where s.backfill_id = backfill_ and s.status = 'waiting' and not partitions.is_asked_since(s, since)
       limit most
         for no key update of s skip locked)
    update partitions.schedule s
       set status = case when x.gives_up then 'idle' else 'held' end, next_run_at = null,
           hold = case when not x.gives_up then case status_ when 'paused' then 'PAUSED' else 'CANCELLED' end end,
           held_at = case when not x.gives_up then now_ end, reprocesses = s.reprocesses and not x.gives_up,
           updated_at = greatest(s.updated_at, now_)
      from members o cross join lateral (
             select status_ = 'cancelled' and o.state = 'success' and not o.has_run as gives_up) x
     where s.partition_id = any(array[o.partition_id]);
    get diagnostics changed = row_count;
  elsif status_ = 'running' then
    with members as materialized (
      select s.partition_id from partitions.schedule s
       where s.backfill_id = backfill_ and s.status = 'held' and s.hold = 'PAUSED' limit most
         for no key update of s skip locked)
    update partitions.schedule s
       set status = 'waiting', next_run_at = now_, hold = null, held_at = null,
           aged_from = s.aged_from + (now_ - s.held_at), updated_at = greatest(s.updated_at, now_)
      from members o where s.partition_id = any(array[o.partition_id]);
    get diagnostics changed = row_count;
  end if;
  return changed;
end $$;
comment on function partitions.settle_holds(uuid, integer) is
'Holds what waits in a paused or cancelled backfill, and releases what a resumed one held. Call it until it returns 0.';

create or replace function partitions.settle_backfill(backfill_ uuid, most integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_    constant timestamptz := recoup.now();
  status_ constant text := (select b.status from partitions.backfill b where b.backfill_id = backfill_);
begin
  if status_ = 'planning' then
    perform partitions.plan_backfill(backfill_, most);
    return 1;
  elsif status_ <> 'running' or exists (select from partitions.schedule s where s.backfill_id = backfill_
                                          and s.status = 'held' and s.hold = 'PAUSED') then
    return partitions.settle_holds(backfill_, most);
  elsif not exists (select from partitions.backfill_item i
                     where i.backfill_id = backfill_ and i.status = 'waiting') then
    update partitions.backfill x
       set status = 'done', updated_at = greatest(x.updated_at, now_), ended_at = greatest(x.updated_at, now_)
     where x.backfill_id = backfill_ and x.status = 'running';
    return 1;
  end if;
  return 0;
end $$;
comment on function partitions.settle_backfill(uuid, integer) is
'Continues a backfill by a step: plans a chunk, holds or releases members, or ends it. 0: nothing to do.';

create or replace function partitions.unsettled_backfills() returns setof uuid
language sql stable as $$
  -- Open backfills are few. One that was cancelled may have members that wait.
  select b.backfill_id from partitions.backfill b
   where b.status = 'planning'
      or b.status = 'running' and (
           not exists (select from partitions.backfill_item i
                        where i.backfill_id = b.backfill_id and i.status = 'waiting')
           or exists (select from partitions.schedule s where s.backfill_id = b.backfill_id and s.status = 'held'
                         and s.hold = 'PAUSED'))
      or b.status in ('paused', 'cancelled') and exists (
           select from partitions.schedule s where s.backfill_id = b.backfill_id and s.status = 'waiting'
              and not partitions.is_asked_since(s, b))
   order by b.created_at, b.backfill_id
$$;
comment on function partitions.unsettled_backfills() is 'Backfills for which something is to be done.';

create or replace function partitions.settle_backfill_items() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_mergejoin = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  perform recoup.require_table(tg_relid, 'partitions.schedule');
  if not exists (select from new_rows n where n.backfill_id is not null) then
    return null;
  end if;
  update partitions.backfill_item i
     set status = case
           when n.status = 'terminal' then 'terminal'
           when n.hold = 'CANCELLED' or o.status <> 'open' then 'cancelled'
           when r.status = 'accepted' then 'succeeded' else 'failed' end,
         ended_at = greatest(i.planned_at, now_)
    from new_rows n
    join old_rows o on o.partition_id = n.partition_id
    left join partitions.run r on r.run_id = n.run_id
   where n.backfill_id is not null and (n.status in ('idle', 'terminal') or n.hold = 'CANCELLED')
     and i.backfill_id = n.backfill_id and i.partition_id = n.partition_id and i.status = 'waiting';
  return null;
end $$;
revoke execute on function partitions.settle_backfill_items() from public;
comment on function partitions.settle_backfill_items() is 'A member of a backfill ends when its schedule does.';
