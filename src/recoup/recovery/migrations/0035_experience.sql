-- What outcomes teach: of each kind of failure on the candidates themselves, of wider kinds as sums by day.

drop function if exists recovery.rate_candidates(uuid[], float8[], integer[]);

-- What its outcome teaches about, with its action: its signature; of an action that only manages the impact, nothing
-- narrower than the action.
alter table recovery.candidate add column cell text not null generated always as (
  case when action_type in ('escalate', 'notify', 'manual', 'skip') then '' else error_signature end) stored;
alter table recovery.candidate add column confidence_basis jsonb;
grant update (confidence_basis) on recovery.candidate to recoup_matcher;

drop index recovery.candidate_outcomes;
create index candidate_outcomes on recovery.candidate (action_name, cell, finished_at)
  where executed_at is not null and finished_at is not null and teaches;
drop index recovery.candidate_awaiting;
create index candidate_awaiting on recovery.candidate (action_name, cell)
  where awaits is not null and finished_at is null;
-- Those whose confidence may still change.
create index candidate_rated on recovery.candidate (action_name, cell)
  where executed_at is null and finished_at is null;

-- Counts, not decayed sums: they are exact, can be rebuilt from the log, and hold for every half-life.
create table recovery.experience (
  action_name text not null check (octet_length(action_name) between 1 and 200),
  source      text not null check (octet_length(source) <= 500),
  category    text not null check (category in ('', 'TRANSIENT', 'OPERATIONAL', 'STRUCTURAL')),
  day         date not null check (isfinite(day)),
  succeeded   integer not null check (succeeded >= 0),
  ended       integer not null,
  primary key (action_name, source, category, day),
  constraint experience_ended check (ended >= succeeded and ended > 0),
  constraint experience_level check (source <> '' or category = '')
);
grant select on recovery.experience to recoup_reader;
grant insert (action_name, source, category, day, succeeded, ended), update (succeeded, ended)
  on recovery.experience to recoup_matcher;
