-- The functions of a declared queue, written out from the declaration: what keeps it in step with its subject, the
-- claim, the expiry of leases, and what becomes of late and second reports.
--
-- They are written as templates: {word} is filled in, and <word: text> is there only if the declaration has the word.

create or replace function recoup.queue_words(life recoup.lifecycle) returns jsonb
language sql stable
set quote_all_identifiers = off  -- the text is the same for every caller
as $$
  with typed as (
    select a.attname, format_type(a.atttypid, null) as type from pg_attribute a
     where a.attrelid = to_regclass(life.subject)),
  given as (
    select g.pair ->> 0 as column_, g.pair ->> 1 as array_, t.type, g.place
      from jsonb_array_elements(life.queue -> 'gives') with ordinality g (pair, place)
      join typed t on t.attname = g.pair ->> 0)
  select (select jsonb_object_agg(w.key, case when w.key in ('log', 'claim', 'expire', 'end', 'behind')
                                              then recoup.quoted(w.value #>> '{}')
                                              when w.key = 'lease' then w.value #>> '{}'
                                              else quote_ident(w.value #>> '{}') end)
            from jsonb_each(life.queue) w where jsonb_typeof(w.value) = 'string')
    || jsonb_build_object(
      'queue', recoup.quoted(life.queue ->> 'table'),
      'subject', quote_literal(life.subject), 'scope', quote_literal('table:' || life.subject),
      'rows', recoup.quoted(life.subject), 'status', quote_ident(life.status_column),
      'waiting', (select string_agg(quote_literal(s), ', ') from jsonb_array_elements_text(life.queue -> 'waiting') s),
      'type', (select t.type from typed t where t.attname = life.queue ->> 'unit'))
    || case when (life.queue ->> 'breaks')::boolean then '{"breaks": "yes"}' else '{}'::jsonb end
    || (select jsonb_build_object(
          'carried', coalesce(string_agg(format(', %I', c), ''), ''),
          'new_carried', coalesce(string_agg(format(', n.%I', c), ''), ''),
          'old_carried', coalesce(string_agg(format(', q.%I', c), ''), ''),
          'set_carried', coalesce(string_agg(format(', %1$I = n.%1$I', c), ''), ''))
          from jsonb_array_elements_text(life.queue -> 'carries') c)
    || (select jsonb_build_object(
          'arrays', string_agg(quote_ident(g.array_), ', ' order by g.place),
          'given', string_agg(format('OUT %I %s[]', g.array_, g.type), ', ' order by g.place),
          -- Of json an array of nulls alone is not sent.
          'collected', string_agg(format(case when g.type = 'jsonb'
            then 'case when bool_or(e.%1$I is not null) then array_agg(e.%1$I) end' else 'array_agg(e.%1$I)' end,
            g.column_), E',\n         ' order by g.place),
          'first_unit', coalesce(max(quote_ident(g.array_)) filter (where g.column_ = life.queue ->> 'unit'), '')
                        || '[1]',
          'first_part', coalesce(max(quote_ident(g.array_)) filter (where g.column_ = life.queue ->> 'part'), '')
                        || '[1]')
          from given g)
$$;
comment on function recoup.queue_words(recoup.lifecycle) is
'What is filled in where the functions of a queue are written out.';

create or replace function recoup.filled(template text, words jsonb) returns text
language plpgsql immutable as $$
declare
  maybe text;
  word  record;
begin
  foreach maybe in array '{open,part,until,breaks,behind}'::text[] loop
    template := regexp_replace(template, format('<%s:([^>]*)>', maybe), case when words ? maybe then E'\\1' else '' end,
                               'g');
  end loop;
  for word in select * from jsonb_each_text(words) loop
    template := replace(template, '{' || word.key || '}', word.value);
  end loop;
  return template;
end $$;
comment on function recoup.filled(text, jsonb) is 'A template with its words filled in.';

create or replace function recoup.queue_functions(life recoup.lifecycle)
returns table (function text, arguments text, results text, settings text[], definer boolean, body text, says text)
language sql stable
set quote_all_identifiers = off
as $functions$
  select recoup.filled(t.function, w), recoup.filled(t.arguments, w), t.results,
         '{"search_path=pg_catalog, pg_temp"}' || t.settings, t.kind is not null, recoup.filled(t.body, w),
         t.says || ', generated from the declaration.'
    from recoup.queue_words(life) w
   cross join (select replace(life.subject, '.', '.%s_') || '_%s') n (form)
   cross join lateral (values
('birth', recoup.quoted(format(n.form, 'queue', 'births')), '', 'trigger', '{}'::text[],
 'Queues what is born to be worked on', $text$
begin
  perform recoup.require_table(tg_relid, {subject});
  insert into {queue} (unit<part:, part>, round, wake_at<until:, until>{carried})
  select n.{unit}<part:, n.{part}>, n.{round}, n.{due}<until:, n.{until}>{new_carried}
    from new_rows n where n.{status} in ({waiting})<open: and n.{open} is null>;
  return null;
end $text$),

('move', recoup.quoted(format(n.form, 'queue', 'moves')), '', 'trigger',
 '{plan_cache_mode=force_generic_plan,enable_bitmapscan=off,enable_seqscan=off,enable_hashjoin=off,'
 'enable_mergejoin=off}',
 'Keeps the queue in step with a move: taken out, put off or queued again', $text$
declare
  kinds   record;
  broken  text;
  differs boolean;
  put_off bigint := 0;
begin
  perform recoup.require_table(tg_relid, {subject});
  select count(*) filter (where n.{status} in ({waiting})<open: and n.{open} is null>) as waiting,
         count(*) filter (where not (n.{status} in ({waiting})<open: and n.{open} is null>)) as gone into kinds
    from new_rows n;
  -- Who ends an attempt that is under way counts it, and presents its token; who ends none does neither. (Offset: what
  -- an update or delete is joined to is carried along row by row, so it is cut down to what is needed. Any of an array:
  -- else a queue that was vacuumed while it was empty is read whole for each row.)
  if kinds.gone > 0 then
    with gone as (
      delete from {queue} q
       using (select n.{unit}, n.{round}, n.{token} from new_rows n
               where not (n.{status} in ({waiting})<open: and n.{open} is null>) offset 0) n
       where q.unit = any(array[n.{unit}])
      returning q.unit, n.{round} - q.round <> (q.token is not null)::integer
                        or q.token is not null and q.token is distinct from n.{token} as is_broken)
    select min(g.unit::text) filter (where g.is_broken) into broken from gone g;
  end if;
  if kinds.waiting > 0 and broken is null then
    update {queue} q
       set token = null, worker = null, claimed_at = null, wake_at = n.{due}, round = n.{round}
      from (select n.{unit}, n.{round}, n.{token}, n.{due} from new_rows n
             where n.{status} in ({waiting})<open: and n.{open} is null> offset 0) n
     where q.unit = any(array[n.{unit}]) and q.token = n.{token} and q.round + 1 = n.{round};
    get diagnostics put_off = row_count;
  end if;
  if kinds.waiting > put_off and broken is null then
    select min(q.unit::text) filter (where q.round <> n.{round}),
           bool_or(q.token is null and (q.wake_at<until:, q.until>{old_carried})
                                       is distinct from (n.{due}<until:, n.{until}>{new_carried}))
      into broken, differs
      from new_rows n
     cross join lateral (select q.* from {queue} q where q.unit = n.{unit} limit 1) q
     where n.{status} in ({waiting})<open: and n.{open} is null>;
    if differs and broken is null then
      update {queue} q set wake_at = n.{due}<until:, until = n.{until}>{set_carried}
        from (select n.{unit}, n.{due}<until:, n.{until}>{new_carried} from new_rows n
               where n.{status} in ({waiting})<open: and n.{open} is null> offset 0) n
       where q.unit = any(array[n.{unit}]) and num_nulls(q.token) = 1; -- else all that wait are compared with all
    end if;
    insert into {queue} (unit<part:, part>, round, wake_at<until:, until>{carried})
    select n.{unit}<part:, n.{part}>, n.{round}, n.{due}<until:, n.{until}>{new_carried}
      from new_rows n
     where n.{status} in ({waiting})<open: and n.{open} is null>
       and not exists (select from {queue} q where q.unit = n.{unit});
  end if;
  if broken is not null then
    raise exception using errcode = 'RC047',
      message = format('%s (%s): the work on it is not yours to end.', {subject}, broken),
      hint = 'Wait for its outcome, or for its lease to expire.',
      detail = jsonb_build_object('subject', {subject}, 'unit', broken, 'why', 'token');
  end if;
  return null;
end $text$),

('exit', recoup.quoted(format(n.form, 'queue', 'exits')), '', 'trigger', '{}',
 'Takes what leaves out of the queue', $text$
begin
  perform recoup.require_table(tg_relid, {subject});
  delete from {queue} q
   where q.unit = any(array(select o.{unit} from old_rows o
                             where o.{status} in ({waiting})<open: and o.{open} is null>));
  return null;
end $text$),

(null, '{claim}',
 'among text[], most integer, worker_ text, lease interval, {given}, OUT token_ uuid,'
 ' OUT until_ timestamp with time zone', null,
 '{plan_cache_mode=force_generic_plan,enable_sort=off,enable_bitmapscan=off,enable_seqscan=off,enable_hashjoin=off,'
 'enable_mergejoin=off,jit=off}',
 'Takes what is due, of these parts (null: of all), longest due first, under one lease', $text$
declare
  now_   constant timestamptz := recoup.now();
  paused text[] := '{}';<breaks:
  held   record;
  tries  boolean := false;>
begin
  if exists (select from recoup.pause where status = 'PAUSED') then
    if (recoup.paused({scope})).scope is not null then
      return;
    end if;
    select coalesce(array_agg(p.scope_id), '{}') into paused
      from recoup.pause p where p.status = 'PAUSED' and p.scope = 'table';
  end if;
<breaks:  if exists (select from recovery.breaker b where b.status in ('open', 'half_open')) then
    select s.shut, s.due into held
      from recovery.shut_parts('table', case when among is not null then array_append(among, {subject}) end, now_) s;
    if {subject} = any(held.shut) then
      return;
    end if;
    paused := paused || held.shut;
    tries := exists (
      select from (select q.part from {queue} q
                    where q.token is null and q.wake_at <= now_ and (among is null or q.part = any(among))
                      and not q.part = any(paused) order by q.wake_at limit 1000) q
       where held.due && array[q.part, {subject}]);
    -- One unit tries it, and nothing else is claimed with that.
    if tries then
      most := least(most, 1);
      among := case when {subject} = any(held.due) then among
                    else array(select d from unnest(held.due) d where among is null or d = any(among)) end;
    else
      paused := paused || held.due;
    end if;
  end if;
>  token_ := gen_random_uuid();
  until_ := now_ + coalesce(lease, {lease});
  with picked as materialized (
    select q.ctid from {queue} q
     where q.token is null and q.wake_at <= now_ and (q.until is null or q.until > now_)
       and (among is null or q.part = any(among)) and q.part <> all(paused)<behind: and not {behind}(q.unit)>
     order by q.wake_at
     limit greatest(most, 0)
       for no key update skip locked),
  claimed as (
    update {queue} q
       set token = token_, worker = worker_, claimed_at = now_, wake_at = until_
      from picked p where q.ctid = p.ctid
    returning q.unit, q.part)
  select {collected}
    into {arrays}
    from claimed q
   cross join lateral (
     select e.* from {rows} e where <part:e.{part} = q.part and >e.{unit} = q.unit limit 1) e;
<breaks:  if tries and {first_unit} is not null then
    perform recovery.start_probe(array['table:' || {first_part}, 'table:' || {subject}], {subject},
                                 {first_part} || '/' || {first_unit}, token_, until_, now_);
  end if;
>end $text$),

(null, '{expire}', 'most integer, only_ {type} DEFAULT NULL::{type}', 'integer',
 '{plan_cache_mode=force_generic_plan,enable_sort=off,enable_bitmapscan=off,enable_seqscan=off,enable_hashjoin=off,'
 'enable_mergejoin=off,jit=off}',
 'Ends as LAPSED all work that outlived its lease, or one unit of it', $text$
declare
  now_    constant timestamptz := recoup.now();
  held    {type}[];
  expired record;
begin
  select array_agg(q.unit) into held
    from (select q.* from {queue} q
           where q.token is not null and q.wake_at < now_ and (only_ is null or q.unit = only_)
           order by q.wake_at limit most) q
   cross join lateral (
     select from {rows} e
      where <part:e.{part} = q.part and >e.{unit} = q.unit limit 1 for no key update skip locked) e;
  -- Locked, and checked again: what ended while we came to it is not in the queue any more.
  select array_agg(q.part) as parts, array_agg(q.unit) as units, array_agg(q.token) as tokens,
         array_agg('The lease of ' || q.worker || ' expired without a result.') as failures into expired
    from {queue} q where q.unit = any(held) and q.token is not null and q.wake_at < now_;
  if expired.units is null then
    return 0;
  end if;
  perform {end}(<part:expired.parts, >expired.units, expired.tokens,
    array_fill('LAPSED'::text, array[cardinality(expired.units)]), expired.failures);
  return cardinality(expired.units);
end $text$),

(null, recoup.quoted(format(n.form, 'late', 'reports')),
 '<part:parts text[], >units {type}[], tokens uuid[], outcomes text[], failures text[], INOUT ended {type}[],'
 ' INOUT statuses text[]', null,
 '{plan_cache_mode=force_generic_plan,enable_bitmapscan=off,enable_seqscan=off,enable_hashjoin=off,'
 'enable_mergejoin=off,jit=off}',
 'Adds to what ended what was reported before, and stores as late what was not; what is unknown is refused', $text$
declare
  now_    constant timestamptz := recoup.now();
  in_time bigint[];
  others_ record;
begin
  -- Their claim may commit only now: waited for, behind its row as everybody does who locks both, it is not late.
  select array_agg(g.place) into in_time
    from (select * from unnest(<part:parts, >units, tokens) with ordinality g (<part:part, >unit, token, place)
           where g.unit <> all(ended) order by <part:part, >unit) g
   cross join lateral (
     select e.{round} as round from {rows} e
      where <part:e.{part} = g.part and >e.{unit} = g.unit and e.{status} in ({waiting})<open: and e.{open} is null>
      limit 1 for no key update) e
   cross join lateral (select q.token, q.round, q.wake_at from {queue} q where q.unit = g.unit limit 1
                          for no key update) q
   where q.token = g.token and q.round = e.round and q.wake_at >= now_;
  if in_time is not null then
    select * into others_ from {end}(<part:array(select parts[p] from unnest(in_time) p), >
      array(select units[p] from unnest(in_time) p), array(select tokens[p] from unnest(in_time) p),
      array(select outcomes[p] from unnest(in_time) p), array(select failures[p] from unnest(in_time) p)) r (e, s);
    ended := ended || others_.e;
    statuses := statuses || others_.s;
  end if;
  -- Reported again, because the answer was lost: it became what it became. Otherwise it comes late.
  with others as materialized (
    select g.*, v.became
      from unnest(<part:parts, >units, tokens, outcomes, failures) g (<part:part, >unit, token, outcome, failure)
     cross join lateral (
       select max(v.to_status) filter (where v.token = g.token and v.{outcome} = g.outcome) as became
         from {log} v where v.{unit} = g.unit<part: and v.{part} = g.part> having count(*) > 0) v
     where g.unit <> all(ended)),
  stored as (
    insert into recoup.late_result (subject, unit_id, token, result)
    select {subject}, <part:o.part || '/' || >o.unit::text, o.token,
           jsonb_build_object('outcome', o.outcome, 'failure', o.failure)
      from others o where o.became is null)
  select ended || coalesce(array_agg(o.unit), '{}'), statuses || coalesce(array_agg(coalesce(o.became, 'late')), '{}')
    into ended, statuses from others o;
  if cardinality(ended) < cardinality(units) then
    perform recoup.refuse_unknown(split_part({subject}, '.', 2), units, ended);
  end if;
end $text$)
   ) t (kind, function, arguments, results, settings, says, body)
   where life.queue is not null and (t.kind is null or exists (
     select from recoup.lifecycle_step s where s.subject = life.subject and s.kind = t.kind))
$functions$;
comment on function recoup.queue_functions(recoup.lifecycle) is
'The functions of a lifecycle''s queue, as they should be; none, if it has none.';
