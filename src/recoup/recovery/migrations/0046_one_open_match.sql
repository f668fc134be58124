-- What is ours is recovered from by one match at a time, also when two make one at the same moment.

do $$
declare
  twice record;
begin
  select m.subject_kind, m.subject_ref, string_agg(m.failure_match_id::text, ', ' order by m.created_at) as ids
    into twice
    from recovery.failure_match m
   where m.ended_at is null and m.subject_kind <> 'outside'
   group by m.subject_kind, m.subject_ref having count(*) > 1 limit 1;
  if found then
    raise exception using
      message = format('%s %s has more than one open match: %s.', twice.subject_kind, twice.subject_ref, twice.ids),
      hint = 'With the release before, end all but one, and let a worker evaluate them: recoup recovery recovered MATCH'
        ' --reason WHY. Then: recoup migrate';
  end if;
end $$;

-- This prevents two open matches of one error, intake, run or partition. Outside, only the reporter knows what is one.
create unique index match_open on recovery.failure_match (subject_ref, subject_kind)
  where ended_at is null and subject_kind <> 'outside';
