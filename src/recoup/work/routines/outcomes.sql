-- What every domain asks of reported outcomes.

create or replace function recoup.require_same_length(what text, variadic lengths integer[]) returns void
language plpgsql as $$
begin
  if not coalesce(lengths[1] = all(lengths), false) then
    raise exception using errcode = 'RC039',
      message = format('The arrays of %s have the lengths %s.', what, array_to_string(lengths, ', ', 'null')),
      hint = 'Give one array for each column, all of one length.',
      detail = jsonb_build_object('arrays', what, 'lengths', lengths);
  end if;
end $$;
comment on function recoup.require_same_length(text, integer[]) is
'Refuses arrays that do not make rows: one is missing, or shorter than another.';

create or replace function recoup.require_reports(units anyarray, tokens uuid[], outcomes text[],
  variadic others integer[]) returns void
language plpgsql as $$
declare
  count_ constant integer := cardinality(units);
  fits   boolean := count_ = cardinality(tokens) and count_ = cardinality(outcomes) and count_ = all(others);
begin
  if fits is not true then
    perform recoup.require_same_length('outcomes', variadic array[count_, cardinality(tokens), cardinality(outcomes)]
                                                            || others);
  end if;
  -- Written so that one report costs no query.
  fits := array_position(tokens, null) is null and outcomes <@ '{SUCCEEDED,FAILED,LAPSED}';
  if count_ > 1 then
    fits := fits and (select count(distinct u) from unnest(units) u) = count_;
  end if;
  if not fits then
    raise exception using errcode = 'RC039',
      message = format('%s outcomes do not make reports: one unit twice, or without a token or an outcome.', count_),
      hint = 'Give each unit once: its token, SUCCEEDED or FAILED, and a message or null.',
      detail = jsonb_build_object('outcomes', count_);
  end if;
end $$;
comment on function recoup.require_reports(anyarray, uuid[], text[], integer[]) is
'Refuses outcomes that do not report each unit once, with its token.';

create or replace function recoup.refuse_unknown(noun text, asked anyarray, known anyarray,
  law text default 'RC056') returns void
language plpgsql as $$
declare
  missing constant text[] := array(select a.id::text from unnest(asked) with ordinality a (id, place)
                                    where a.id is not null and a.id <> all(known) order by a.place);
begin
  if missing <> '{}' then
    raise exception using errcode = law,
      message = format('There is no %s %s%s.', noun, missing[1], case when cardinality(missing) > 1
                       then format(' (nor %s others)', cardinality(missing) - 1) end),
      hint = 'Check the id; nothing was written.',
      detail = jsonb_build_object('missing', missing[:100]);
  end if;
end $$;
comment on function recoup.refuse_unknown(text, anyarray, anyarray, text) is 'Refuses ids of what there is not.';
