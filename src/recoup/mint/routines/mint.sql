-- The mint: which identities are allowed, and the event of their birth in the mint's AIR log.

create or replace function cl.rule_identity_births() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- look-ups along a key, for any number of rows
as $$
declare
  now_  constant timestamptz := recoup.now();
  began constant timestamptz := recoup.statement_time();
  bad   record;
begin
  if not exists (select from new_rows) then
    return null;
  end if;
  perform recoup.require_read_committed('The mint');
  perform recoup.refuse_paused('table:cl.company_identity');
  -- AUTHORIZED is final, so nothing needs to be locked.
  -- A re-entered intake has no events of its own: AUTH is its origin's.
  select found.* into bad from (
    select n.intake_id, i.status, i.reentered_as,
           case when i.status is distinct from 'AUTHORIZED' or air.auth is null then 'RC040'
                when (n.company_name, n.company_domain) is distinct from (i.company_name, i.company_domain) then 'RC041'
                when not recoup.is_now(n.minted_at, began, now_) then 'RC026' end as why
      from new_rows n
      left join lateral (select i.status, i.company_name, i.company_domain,
                                coalesce(i.reentered_from, i.intake_id) as origin,
                                (select later.intake_id from cl.gate_zero_intake later
                                  where later.reentered_from = i.intake_id) as reentered_as
                           from cl.gate_zero_intake i where i.intake_id = n.intake_id limit 1) i on true
      left join lateral (select true as auth from cl.gate_zero_air a
                          where a.entity_id = i.origin and a.event_type || '' = 'AUTH' limit 1) air on true) found
   where found.why is not null limit 1;
  if bad.why is not null then
    raise exception using errcode = bad.why,
      message = case bad.why
        when 'RC040' then format('Intake %s is %s: it was not authorised, and nothing is minted for it.',
                                 bad.intake_id, coalesce(bad.status, 'unknown'))
        when 'RC041' then format('The identity for intake %s has another name or domain than the intake.',
                                 bad.intake_id)
        else format('The identity for intake %s has another time than now as minted_at.', bad.intake_id) end,
      hint = case
        when bad.why = 'RC040' and bad.reentered_as is not null
        then format('Its retry passed: mint the new intake, %s.', bad.reentered_as)
        when bad.why = 'RC040' then 'Mint what cl.gate_zero_authorization names in mint_intake_id.'
        when bad.why = 'RC041' then 'Take name and domain from the intake.'
        else 'Take minted_at from recoup.now().' end,
      detail = jsonb_build_object('intake_id', bad.intake_id, 'status', bad.status,
                                  'mint_intake_id', bad.reentered_as, 'now', now_);
  end if;
  return null;
end $$;
comment on function cl.rule_identity_births() is
'An identity is minted now, for an intake with an AUTH event and with its data; after a re-entry for the new intake.';

create or replace function cl.record_identity_births() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.require_table(tg_relid, 'cl.company_identity');
  insert into cl.sovereign_mint_air (entity_id, batch_id, payload_ref, actor, event_timestamp, incarnation,
                                     sovereign_company_id, actor_id, authority)
  select n.intake_id, i.batch_id, 'company:' || n.sovereign_company_id, (select recoup.acting_kind()), n.minted_at,
         (select recoup.present_incarnation()), n.sovereign_company_id, (select recoup.acting_id()),
         (select recoup.acting_role())
    from new_rows n
   cross join lateral (select i.batch_id from cl.gate_zero_intake i where i.intake_id = n.intake_id limit 1) i;
  return null;
end $$;
revoke execute on function cl.record_identity_births() from public;
comment on function cl.record_identity_births() is 'Writes MINT to the AIR log of the mint.';
