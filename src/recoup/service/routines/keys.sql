-- Rules of keys that a list of steps cannot express.

create or replace function recoup.service_policy() returns jsonb
language sql stable as $$ select p.figures -> 'service' from recoup.policy p order by p.version desc limit 1 $$;
comment on function recoup.service_policy() is 'The section on the service of the active policy.';

create or replace function recoup.rule_api_keys() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  if tg_op = 'INSERT' then
    select n.key_id, n.name, w.why into bad
      from new_rows n
      left join recoup.api_key o on o.key_id = n.replaces
     cross join lateral (select case
       when n.created_by <> recoup.acting_id() then 'created_by is the acting person'
       when n.created_at not between now_ - interval '1 minute' and now_ + interval '1 second' then 'it begins now'
       when n.replaced_at is not null then 'a new key was not replaced'
       when n.hub is not null and not coalesce(recoup.service_policy() -> 'hubs' ? n.hub, false)
         then 'the policy has no hub ' || n.hub
       when n.replaces is not null and (n.name, n.role, n.hub) is distinct from (o.name, o.role, o.hub)
         then 'it has not the name, the role and the hub of the key that it replaces'
       when n.replaces is not null and (o.replaced_at is null or o.status <> 'active')
         then 'the key that it replaces is not being replaced' end as why) w
     where w.why is not null limit 1;
  else
    select n.key_id, n.name, w.why into bad
      from new_rows n
      join old_rows o on o.key_id = n.key_id
     cross join lateral (select case
       when n.expires_at is distinct from o.expires_at and (n.expires_at is null or n.expires_at > o.expires_at)
         then 'a key never becomes valid for longer'
       when n.status = 'active' and (o.replaced_at is not null or n.replaced_at is null)
         then 'an active key changes once, when it is replaced'
       when n.replaced_at is distinct from o.replaced_at
            and n.replaced_at not between now_ - interval '1 minute' and now_ + interval '1 second'
         then 'it is replaced now'
       when n.status = 'revoked' and n.ended_at not between now_ - interval '1 minute' and now_ + interval '1 second'
         then 'it is revoked now' end as why) w
     where w.why is not null limit 1;
  end if;
  if bad is not null then
    raise exception using errcode = 'RC160',
      message = format('Key %s of %s: %s.', bad.key_id, bad.name, bad.why),
      hint = 'Use: recoup keys add, rotate or revoke',
      detail = jsonb_build_object('key_id', bad.key_id, 'name', bad.name, 'why', bad.why);
  end if;
  return null;
end $$;
comment on function recoup.rule_api_keys() is
'A key begins now, for a hub that exists, and never becomes valid for longer; one that replaces another is as it was.';
