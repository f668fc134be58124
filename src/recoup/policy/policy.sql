-- The policy in force, and how a new one comes to be.

create or replace function recoup.policy_version() returns integer
language sql stable as $$ select version from recoup.policy order by version desc limit 1 $$;
comment on function recoup.policy_version() is 'The version of the policy in force.';

create or replace function recoup.stamp_policy() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  expected constant integer := coalesce(recoup.policy_version(), 0) + 1;
begin
  if new.version <> expected then
    raise exception using errcode = 'RC033',
      message = format('The policy in force is version %s, so the next one is %s, not %s.', expected - 1, expected, new.version),
      hint = 'Somebody applied another one meanwhile: look at it (recoup policy diff), then apply yours again.',
      detail = jsonb_build_object('in_force', expected - 1, 'given', new.version);
  end if;
  -- Who and when are not the writer's to say.
  new.applied_at := recoup.now();
  new.actor := recoup.acting_kind();
  new.actor_id := recoup.acting_id();
  new.authority := current_user;
  new.incarnation := recoup.present_incarnation();
  new.xid := pg_current_xact_id();
  return new;
end $$;
comment on function recoup.stamp_policy() is 'Puts number, time and author on a new policy.';

call recoup.append_only_table('recoup.policy');
create or replace trigger b_stamp_policy before insert on recoup.policy for each row execute function recoup.stamp_policy();
alter table recoup.policy enable always trigger b_stamp_policy;
