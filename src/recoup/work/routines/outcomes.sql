-- What every domain asks of reported outcomes.

create or replace function recoup.refuse_unknown(noun text, missing text[]) returns void
language plpgsql as $$
begin
  raise exception using errcode = 'RC056',
    message = format('There is no %s %s%s.', noun, missing[1], case when cardinality(missing) > 1
                     then format(' (nor %s others)', cardinality(missing) - 1) end),
    hint = 'Check what is reported; nothing was written.',
    detail = jsonb_build_object('missing', missing[:100]);
end $$;
comment on function recoup.refuse_unknown(text, text[]) is 'Refuses outcomes of units that there are not.';
