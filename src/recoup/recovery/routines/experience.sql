-- What outcomes teach. The matcher counts them from the provenance, each once; nobody takes any back.

create or replace function recovery.guard_experience() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if current_user = 'recoup_matcher' and (tg_op = 'INSERT' or tg_op = 'UPDATE'
       and (new.action_name, new.source, new.category, new.day) = (old.action_name, old.source, old.category, old.day)
       and new.succeeded >= old.succeeded and new.ended - old.ended >= new.succeeded - old.succeeded) then
    return new;
  end if;
  raise exception using errcode = 'RC012',
    message = 'recovery.experience counts outcomes, by the matcher; a count never falls.',
    hint = 'A worker counts them: recoup duties', detail = jsonb_build_object('operation', tg_op,
                                                                             'authority', current_user);
end $$;
comment on function recovery.guard_experience() is 'The matcher counts outcomes. A count rises, and is not deleted.';
call recoup.put_trigger('recovery.experience', 'a_guard_experience', 'before', 'insert or update or delete', 'row',
                        'recovery.guard_experience');
call recoup.put_trigger('recovery.experience', 'a_guard_truncate', 'before', 'truncate', 'statement',
                        'recoup.guard_truncate', 'recovery.experience');

create or replace function recovery.learn(ids uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  counted integer;
begin
  with told as materialized (
    select c.action_name, m.source, m.category, (c.finished_at at time zone 'UTC')::date as day,
           c.status = 'succeeded' as is_good
      from unnest(ids) i (id)
     cross join lateral (select c.* from recovery.candidate c where c.candidate_id = i.id limit 1) c
     cross join lateral (select m.source, m.category from recovery.failure_match m
                          where m.failure_match_id = c.failure_match_id limit 1) m
     where c.teaches and c.cell <> ''),
  put as (
    insert into recovery.experience as e (action_name, source, category, day, succeeded, ended)
    select t.action_name, l.source, l.category, t.day, count(*) filter (where t.is_good), count(*)
      from told t
     cross join lateral (values ('', ''), (t.source, ''), (t.source, t.category)) l (source, category)
     group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (action_name, source, category, day) do update
       set succeeded = e.succeeded + excluded.succeeded, ended = e.ended + excluded.ended)
  select count(*) into counted from told;
  return counted;
end $$;
comment on function recovery.learn(uuid[]) is
'Counts the outcomes of candidates that ended, by day, for their action, source and category. Returns how many taught.';

create or replace function recovery.known(ids uuid[], half_life_days float8, most integer,
  out candidates uuid[], out action_name text, out good integer, out ended integer, out own_good float8,
  out own_ended float8, out awaiting integer, out of_action float8[], out of_source float8[], out of_category float8[])
returns setof record
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_mergejoin = off set jit = off
as $$
declare
  now_  constant timestamptz := recoup.now();
  today constant date := (now_ at time zone 'UTC')::date;
begin
  return query
  with asked as materialized (
    select array_agg(c.candidate_id) as ids, c.action_name, c.cell, case when c.cell <> '' then m.source end as source,
           case when c.cell <> '' then m.category end as category
      from unnest(known.ids) i (id)
     cross join lateral (select c.* from recovery.candidate c where c.candidate_id = i.id limit 1) c
     cross join lateral (select m.source, m.category from recovery.failure_match m
                          where m.failure_match_id = c.failure_match_id limit 1) m
     where num_nulls(c.action_name) = 0
     group by c.action_name, c.cell, case when c.cell <> '' then m.source end,
              case when c.cell <> '' then m.category end),
  -- Many cells share their wider levels: each of these is summed once. After ten half-lives nothing is left.
  wider as materialized (
    select l.*, s.sums
      from (select distinct a.action_name, l.source, l.category
              from asked a
             cross join lateral (values ('', ''), (a.source, ''), (a.source, a.category)) l (source, category)
             where num_nulls(a.source) = 0) l
     cross join lateral (
       select array[coalesce(sum(e.succeeded * w.weight), 0), coalesce(sum(e.ended * w.weight), 0)]::float8[] as sums
         from recovery.experience e
        cross join lateral (select power(0.5::float8, greatest(today - e.day, 0) / half_life_days) as weight) w
        where e.action_name = l.action_name and e.source = l.source and e.category = l.category
          and e.day > today - (10 * half_life_days)::integer) s)
  select a.ids, a.action_name, o.good, o.ended, o.own_good, o.own_ended, w.awaiting, l1.sums, l2.sums, l3.sums
    from asked a
   cross join lateral (
     select count(*) filter (where x.is_good)::integer as good, count(*)::integer as ended,
            coalesce(sum(x.weight) filter (where x.is_good), 0) as own_good, coalesce(sum(x.weight), 0) as own_ended
       from (select c.status = 'succeeded' as is_good,
                    power(0.5::float8, greatest(extract(epoch from now_ - c.finished_at), 0)::float8 / 86400
                                       / half_life_days) as weight
               from recovery.candidate c
              where c.action_name = a.action_name and c.cell = a.cell
                and c.executed_at is not null and c.finished_at is not null and c.teaches
              order by c.finished_at desc limit most) x) o
   cross join lateral (
     select count(*)::integer as awaiting
       from (select from recovery.candidate c
              where c.action_name = a.action_name and c.cell = a.cell and c.awaits is not null
                and c.finished_at is null limit most) y) w
    left join wider l1 on l1.action_name = a.action_name and l1.source = '' and l1.category = ''
          and num_nulls(a.source) = 0
    left join wider l2 on l2.action_name = a.action_name and l2.source = a.source and l2.category = ''
    left join wider l3 on l3.action_name = a.action_name and l3.source = a.source and l3.category = a.category;
end $$;
comment on function recovery.known(uuid[], float8, integer) is
'What is known of the cells of candidates: outcomes weighted by age, what is awaited, and sums of wider levels.';

create or replace function recovery.rated_of_cells(ids uuid[]) returns setof uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_mergejoin = off set jit = off
as $$
begin
  return query
  select distinct on (c.action_name, c.cell, m.source, m.category) c.candidate_id
    from (select distinct c.action_name, c.cell
            from unnest(rated_of_cells.ids) i (id)
           cross join lateral (select c.action_name, c.cell from recovery.candidate c
                                where c.candidate_id = i.id and c.teaches limit 1) c) t
   cross join lateral (
     select c.candidate_id, c.action_name, c.cell, c.failure_match_id from recovery.candidate c
      where c.action_name = t.action_name and c.cell = t.cell and c.executed_at is null and c.finished_at is null
        and c.status = 'pending' and num_nulls(c.proposed_by) = 1 and c.confidence_of = c.action_name) c
   cross join lateral (select case when c.cell <> '' then m.source end as source,
                              case when c.cell <> '' then m.category end as category
                         from recovery.failure_match m where m.failure_match_id = c.failure_match_id limit 1) m
   order by c.action_name, c.cell, m.source, m.category;
end $$;
comment on function recovery.rated_of_cells(uuid[]) is
'A pending candidate of each cell that the outcomes of these candidates teach about.';

create or replace function recovery.rescore(ids uuid[], confidences float8[], evidence_ integer[], bases jsonb[],
  floor_ float8, least_ integer, skip_below_ float8, out candidates uuid[], out matches uuid[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_mergejoin = off set jit = off
as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  -- Locked in the order of their ids, as everybody who locks several.
  with given as materialized (
    select g.confidence, g.evidence, g.basis, c.action_name, c.cell, m.source, m.category,
           case when g.evidence < least_ then 0 when g.confidence < skip_below_ then -1
                when g.confidence >= floor_ then 1 else 0 end as side
      from unnest(rescore.ids, confidences, evidence_, bases) g (id, confidence, evidence, basis)
     cross join lateral (select c.* from recovery.candidate c where c.candidate_id = g.id limit 1) c
     cross join lateral (select m.source, m.category from recovery.failure_match m
                          where m.failure_match_id = c.failure_match_id limit 1) m),
  crossed as materialized (
    select c.candidate_id, g.confidence, g.evidence, g.basis
      from given g
     cross join lateral (
       select c.* from recovery.candidate c
        where c.action_name = g.action_name and c.cell = g.cell and c.executed_at is null and c.finished_at is null
          and c.status = 'pending' and num_nulls(c.proposed_by) = 1 and c.confidence_of = c.action_name) c
     cross join lateral (select m.source, m.category from recovery.failure_match m
                          where m.failure_match_id = c.failure_match_id limit 1) m
     where (g.cell = '' or (m.source, m.category) = (g.source, g.category))
       and g.side <> case when c.evidence < least_ then 0 when c.confidence < skip_below_ then -1
                          when c.confidence >= floor_ then 1 else 0 end),
  held as materialized (
    select x.* from (select * from crossed order by candidate_id) x
     cross join lateral (select from recovery.candidate c where c.candidate_id = x.candidate_id and c.status = 'pending'
                          limit 1 for no key update) c),
  done as (
    update recovery.candidate c
       set confidence = h.confidence, evidence = h.evidence, confidence_basis = h.basis,
           updated_at = greatest(c.updated_at, now_)
      from held h
     where c.candidate_id = any(array[h.candidate_id]) and c.status = 'pending'
    returning c.candidate_id, c.failure_match_id, c.evidence >= least_ and c.confidence < skip_below_ as is_low)
  select coalesce(array_agg(d.candidate_id), '{}'),
         coalesce(array_agg(d.failure_match_id) filter (where d.is_low), '{}')
    into candidates, matches from done d;
end $$;
comment on function recovery.rescore(uuid[], float8[], integer[], jsonb[], float8, integer, float8) is
'Gives pending candidates of the cells of these a new confidence, if it crosses the floor for automatic starts or the'
' line below which they are skipped. Also returns the matches of those that are below it.';
