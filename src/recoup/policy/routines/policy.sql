-- The active policy, and how a new version is written.

create or replace function recoup.policy_version() returns integer
language sql stable as $$ select version from recoup.policy order by version desc limit 1 $$;
comment on function recoup.policy_version() is 'The version of the active policy.';

create or replace function recoup.wrong_figure(figures jsonb) returns text
language sql stable as $$
  -- The values that the database itself decides by, and their bounds. The program validates the whole document, with
  -- better messages; this is for a policy that is written by SQL.
  select case when figures::text ~ '[0-9]{20}' then 'with too many digits' end
   union all
  (select array_to_string(f.path, '.')
     from recoup.policy_bound f
    where case when figures #>> f.path ~ '^[0-9]{1,9}$' and jsonb_typeof(figures #> f.path) = 'number'
               then (figures #>> f.path)::integer not between f.least and f.most else true end
    limit 1)
   order by 1 limit 1
$$;
comment on function recoup.wrong_figure(jsonb) is
'The first value of a policy that is missing or out of bounds, or null.';

create or replace function recoup.stamp_policy() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  expected constant integer := coalesce(recoup.policy_version(), 0) + 1;
begin
  if new.version <> expected then
    raise exception using errcode = 'RC033',
      message = format('Version %s of the policy is active, so the next one is %s, not %s.',
                       expected - 1, expected, new.version),
      hint = 'Somebody applied another one meanwhile: see recoup policy diff, then apply yours again.',
      detail = jsonb_build_object('in_force', expected - 1, 'given', new.version);
  end if;
  if recoup.wrong_figure(new.figures) is not null then
    raise exception using errcode = 'RC038',
      message = format('The policy has no valid value %s: %s.', recoup.wrong_figure(new.figures),
                       coalesce(left(new.figures #>> string_to_array(recoup.wrong_figure(new.figures), '.'), 100),
                                'it is missing')),
      hint = 'Apply a document instead: recoup policy apply FILE; its refusal names what is allowed.',
      detail = jsonb_build_object('key', recoup.wrong_figure(new.figures));
  end if;
  -- A policy that a program cannot read would stop every worker, and only a program can validate all of it.
  if current_setting('recoup.policy_checked', true) is distinct from md5(new.figures::text) then
    raise exception using errcode = 'RC072',
      message = format('Version %s of the policy was not validated by a program.', new.version),
      hint = 'Apply a document instead: recoup policy apply FILE --reason WHY',
      detail = jsonb_build_object('version', new.version);
  end if;
  -- Who and when are set here, not by the writer.
  new.applied_at := recoup.now();
  new.actor := recoup.acting_kind();
  new.actor_id := recoup.acting_id();
  new.authority := current_user;
  new.incarnation := recoup.present_incarnation();
  new.xid := pg_current_xact_id();
  return new;
end $$;
comment on function recoup.stamp_policy() is 'Sets number, time and author of a new policy.';

call recoup.put_trigger('recoup.policy', 'b_stamp_policy', 'before', 'insert', 'row', 'recoup.stamp_policy');
