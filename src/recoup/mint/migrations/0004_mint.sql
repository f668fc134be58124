-- Minting: an authorised company gets its sovereign identity, once. And fresh starts are held to exhausted intakes.

create table cl.company_identity (
  sovereign_company_id uuid primary key default recoup.new_id(),
  intake_id            uuid not null unique references cl.gate_zero_intake,
  company_name         text not null check (company_name <> ''),
  company_domain       text,
  minted_at            timestamptz not null check (isfinite(minted_at)),
  status               text not null generated always as ('MINTED') stored
);
comment on table cl.company_identity is 'A sovereign company identity, minted once for an authorised intake. Never changed, never deleted.';
comment on column cl.company_identity.sovereign_company_id is 'The identity.';
comment on column cl.company_identity.intake_id is 'The authorised intake it was minted for; after a re-entry the new one.';
comment on column cl.company_identity.company_name is 'Name of the company, as on the intake.';
comment on column cl.company_identity.company_domain is 'Its domain, as on the intake.';
comment on column cl.company_identity.minted_at is 'When it was minted.';
comment on column cl.company_identity.status is 'MINTED: an identity has no other standing.';

create table cl.sovereign_mint_air (
  air_event_id         uuid primary key default recoup.new_id(),
  entity_type          text not null default 'intake' check (entity_type = 'intake'),
  entity_id            uuid not null,
  stage_id             text not null default 'SOVEREIGN_MINT' check (stage_id = 'SOVEREIGN_MINT'),
  process_id           text not null default 'MINT_SOVEREIGN_IDENTITY' check (process_id = 'MINT_SOVEREIGN_IDENTITY'),
  event_type           text not null default 'MINT' check (event_type = 'MINT'),
  reason_code          text not null default 'IDENTITY_MINTED' check (reason_code = 'IDENTITY_MINTED'),
  batch_id             text,
  payload_ref          text,
  actor                text check (actor in ('system', 'ai', 'human')),
  event_timestamp      timestamptz not null check (isfinite(event_timestamp)),
  -- Ours, after the eleven.
  seq                  bigint not null unique default nextval('recoup.event_seq'),
  xid                  xid8 not null default pg_current_xact_id(),
  incarnation          integer not null,
  sovereign_company_id uuid not null,
  actor_id             text not null,
  authority            text not null,
  -- One company is minted once.
  unique (entity_id)
);
create index sovereign_mint_air_xid on cl.sovereign_mint_air (xid);
create index sovereign_mint_air_event_timestamp on cl.sovereign_mint_air (event_timestamp);
comment on table cl.sovereign_mint_air is 'Immutable AIR (Action/Incident/Result) event log of the mint. One MINT for each identity. Append-only; no UPDATE or DELETE permitted.';
comment on column cl.sovereign_mint_air.air_event_id is 'Unique identifier for this AIR event. Auto-generated UUID. Immutable.';
comment on column cl.sovereign_mint_air.entity_type is 'Type of entity: always "intake", as in Gate Zero''s AIR.';
comment on column cl.sovereign_mint_air.entity_id is 'The intake_id that was minted.';
comment on column cl.sovereign_mint_air.stage_id is 'Stage identifier: always "SOVEREIGN_MINT" for this table.';
comment on column cl.sovereign_mint_air.process_id is 'Process identifier: always "MINT_SOVEREIGN_IDENTITY".';
comment on column cl.sovereign_mint_air.event_type is 'Event outcome: MINT.';
comment on column cl.sovereign_mint_air.reason_code is 'Specific reason code for this event: IDENTITY_MINTED.';
comment on column cl.sovereign_mint_air.batch_id is 'Optional batch identifier. Inherited from intake.';
comment on column cl.sovereign_mint_air.payload_ref is 'Names the identity: company:<sovereign_company_id>.';
comment on column cl.sovereign_mint_air.actor is 'Who/what triggered this event: system, ai, human.';
comment on column cl.sovereign_mint_air.event_timestamp is 'When this event occurred. Immutable. Always UTC.';
comment on column cl.sovereign_mint_air.seq is 'Order over all logs.';
comment on column cl.sovereign_mint_air.xid is 'Transaction that wrote it; for the settled read.';
comment on column cl.sovereign_mint_air.incarnation is 'Cluster that wrote it.';
comment on column cl.sovereign_mint_air.sovereign_company_id is 'The identity that was minted.';
comment on column cl.sovereign_mint_air.actor_id is 'Who exactly: the worker or person.';
comment on column cl.sovereign_mint_air.authority is 'Database role that acted.';

-- What may be minted, as it is authorised. After a re-entry AUTH names the original intake, and the identity belongs to the
-- new one. The attempt is looked up in the select list and not joined: who only counts events, or takes a page of many, does
-- not pay for it.
create view cl.gate_zero_authorization as
select a.seq, a.air_event_id, a.entity_id as intake_id,
       coalesce((select t.reentered_as from cl.gate_zero_attempt t where t.attempt_id = a.attempt_id), a.entity_id) as mint_intake_id,
       a.batch_id, a.event_type, a.reason_code, a.attempt_id, a.actor, a.actor_id, a.event_timestamp, a.xid, a.incarnation
  from cl.gate_zero_air a
 where a.stage_id = 'GATE_ZERO' and a.event_type = 'AUTH' and a.reason_code = 'EXISTENCE_CONFIRMED';
-- For its subscribers: near the end by transaction, far behind along seq. Without them a page far behind sorts every AUTH.
create index gate_zero_air_auth_xid on cl.gate_zero_air (xid)
  where stage_id = 'GATE_ZERO' and event_type = 'AUTH' and reason_code = 'EXISTENCE_CONFIRMED';
create index gate_zero_air_auth_seq on cl.gate_zero_air (seq)
  where stage_id = 'GATE_ZERO' and event_type = 'AUTH' and reason_code = 'EXISTENCE_CONFIRMED';
comment on view cl.gate_zero_authorization is 'AUTH events of Gate Zero, each with the intake that is to be minted: the new one after a re-entry.';
comment on column cl.gate_zero_authorization.seq is 'Order over all logs.';
comment on column cl.gate_zero_authorization.air_event_id is 'The AUTH event.';
comment on column cl.gate_zero_authorization.intake_id is 'The intake that AUTH is about.';
comment on column cl.gate_zero_authorization.mint_intake_id is 'The intake to be minted: the same one, or the new one that a passed retry made.';
comment on column cl.gate_zero_authorization.batch_id is 'Optional batch identifier. Inherited from intake.';
comment on column cl.gate_zero_authorization.event_type is 'Always AUTH.';
comment on column cl.gate_zero_authorization.reason_code is 'Always EXISTENCE_CONFIRMED.';
comment on column cl.gate_zero_authorization.attempt_id is 'The attempt that passed.';
comment on column cl.gate_zero_authorization.actor is 'Who/what triggered this event: system, ai, human.';
comment on column cl.gate_zero_authorization.actor_id is 'Who exactly: the worker or person.';
comment on column cl.gate_zero_authorization.event_timestamp is 'When the authorisation was granted.';
comment on column cl.gate_zero_authorization.xid is 'Transaction that wrote it; for the settled read.';
comment on column cl.gate_zero_authorization.incarnation is 'Cluster that wrote it.';

-- An exhausted intake is started afresh once: two fresh starts of one company could both be minted.
do $$
declare
  twice constant uuid := (select i.retry_of from cl.gate_zero_intake i where i.retry_of is not null group by 1 having count(*) > 1 limit 1);
begin
  if twice is not null then
    raise exception using message = format('Intake %s was started afresh more than once.', twice),
      hint = 'Until now nothing held fresh starts to one. Tell them apart by hand first: one keeps retry_of.';
  end if;
end $$;
drop index cl.gate_zero_intake_retry_of;
create unique index gate_zero_intake_retry_of on cl.gate_zero_intake (retry_of) where retry_of is not null;

-- The mint's place in the log is the mint's. Who subscribed before is not known.
alter table recoup.subscription add column authority text;
alter table recoup.subscription alter column authority set default current_user;
comment on column recoup.subscription.authority is 'Who made it, and alone may move it; null for those from before this was kept.';

-- Newest first, without a sort; and what waits for completion.
create index gate_zero_batch_imported on cl.gate_zero_batch (imported_at desc, batch_id);
create index gate_zero_batch_open on cl.gate_zero_batch (imported_at) where completed_at is null;

grant select on cl.company_identity, cl.sovereign_mint_air, cl.gate_zero_authorization to recoup_reader;
grant insert (sovereign_company_id, intake_id, company_name, company_domain, minted_at) on cl.company_identity to recoup_mint;
grant insert (intake_id, batch_id, company_name, company_domain, linkedin_url, state, retry_of, created_at, updated_at)
  on cl.gate_zero_intake to recoup_operator;
grant insert, update on recoup.duty_tally to recoup_mint;
