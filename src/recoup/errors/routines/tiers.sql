-- Tiers of escalation: which tier a parked error is in, who owns it, and until when it has to be reviewed. Hours are
-- elapsed hours, whatever the session's time zone is. Written so that they are inlined.

create or replace function recoup.tier_due(since timestamptz, now_ timestamptz, policy jsonb) returns integer
language sql stable as $$
  select case when since < now_ - make_interval(hours => (policy #>> '{escalation,tier_3,after_hours}')::integer) then 3
              when since < now_ - make_interval(hours => (policy #>> '{escalation,tier_2,after_hours}')::integer) then 2
              else 1 end
$$;
comment on function recoup.tier_due(timestamptz, timestamptz, jsonb) is
'The tier of an error that has been parked since this time, by a policy''s section on errors.';

create or replace function recoup.tier_when_parked(
  level integer, parked_since timestamptz, now_ timestamptz, policy jsonb) returns integer
language sql stable as $$
  -- Parked again it keeps its place: mostly it never was parked before.
  select case when parked_since is null then 1
              else greatest(level, recoup.tier_due(parked_since, now_, policy)) end
$$;
comment on function recoup.tier_when_parked(integer, timestamptz, timestamptz, jsonb) is
'The tier of an error that is parked now: the first, or its place from when it was parked before.';

create or replace function recoup.tier_owner(error_table text, tier integer, policy jsonb) returns text
language sql immutable as $$
  select coalesce(case tier
      when 1 then policy #>> array['tables', error_table, 'owner']
      when 2 then coalesce(policy #>> array['tables', error_table, 'lead'],
                           policy #>> array['tables', error_table, 'owner'])
      else policy #>> array['tables', error_table, 'platform'] end,
    policy #>> '{escalation,platform}')
$$;
comment on function recoup.tier_owner(text, integer, jsonb) is
'Who owns a tier of a table: the hub team, the hub lead, the platform team. By a policy''s section on errors.';

create or replace function recoup.owner_when_parked(
  error_table text, level integer, escalated_to text, parked_since timestamptz, now_ timestamptz, policy jsonb)
returns text
language sql stable as $$
  select case when recoup.tier_when_parked(level, parked_since, now_, policy) = level then escalated_to
              else recoup.tier_owner(
                error_table, recoup.tier_when_parked(level, parked_since, now_, policy), policy) end
$$;
comment on function recoup.owner_when_parked(text, integer, text, timestamptz, timestamptz, jsonb) is
'Who owns an error that is parked now: the owner of its tier, or who had it in that tier before.';

create or replace function recoup.sla_of(tier integer, policy jsonb) returns interval
language sql immutable as $$
  select make_interval(hours => (policy #>> array['escalation', 'tier_' || tier, 'sla_hours'])::integer)
$$;
comment on function recoup.sla_of(integer, jsonb) is
'Within which time an error of this tier has to be reviewed, by a policy''s section on errors.';

create or replace function recoup.sla_met(
  status text, due_at timestamptz, met_at timestamptz, breached_at timestamptz, now_ timestamptz) returns timestamptz
language sql immutable as $$
  select case when status in ('PARKED', 'ESCALATED') and num_nonnulls(met_at, breached_at) = 0 and now_ <= due_at
              then now_ else met_at end
$$;
comment on function recoup.sla_met(text, timestamptz, timestamptz, timestamptz, timestamptz) is
'sla_met_at of an error that is reviewed now: the first review in time ends the clock.';

create or replace function recoup.sla_end(e recoup.error, policy jsonb) returns timestamptz
language sql stable as $$
  -- Escalated by an older release, it has no clock of its own.
  select coalesce(e.sla_due_at, e.escalated_at + recoup.sla_of(e.escalation_level, policy))
$$;
comment on function recoup.sla_end(recoup.error, jsonb) is
'Until when an error has to be reviewed in its tier.';
