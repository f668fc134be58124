-- Intakes: company candidates, and which of them wait.
-- See attempts.sql on  status || ''  and on the time as a row of its own.

-- name: add_intakes
-- Ids come back in the order of the input; none of a batch that there is not.
with t as materialized (select recoup.now() as now_),
given as materialized (
  select recoup.new_id() as intake_id, g.*
    from unnest(%(names)s::text[], %(domains)s::text[], %(urls)s::text[], %(states)s::text[]) with ordinality
         as g(company_name, company_domain, linkedin_url, state, place)
   where %(batch_id)s::text is null or exists (select from cl.gate_zero_batch b where b.batch_id = %(batch_id)s)),
made as (
  insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, linkedin_url, state,
                                   created_at, updated_at)
  select g.intake_id, %(batch_id)s, g.company_name, g.company_domain, g.linkedin_url, g.state, t.now_, t.now_
    from given g, t)
select intake_id from given order by place;

-- name: restart
-- What the exhausted intake was given, or what is known better by now.
with t as materialized (select recoup.now() as now_)
insert into cl.gate_zero_intake (batch_id, company_name, company_domain, linkedin_url, state, retry_of,
                                 created_at, updated_at)
select %(batch_id)s, coalesce(%(company_name)s, i.company_name), coalesce(%(company_domain)s, i.company_domain),
       coalesce(%(linkedin_url)s, i.linkedin_url), coalesce(%(state)s, i.state), i.intake_id, t.now_, t.now_
  from t, cl.gate_zero_intake i
 where i.intake_id = %(intake_id)s
   and (%(batch_id)s::text is null or exists (select from cl.gate_zero_batch b where b.batch_id = %(batch_id)s))
returning intake_id;

-- name: candidates
select i.intake_id, i.company_name, i.company_domain, i.linkedin_url, i.state
  from unnest(%(intakes)s::uuid[]) g (intake_id)
 cross join lateral (select * from cl.gate_zero_intake i where i.intake_id = g.intake_id limit 1) i;

-- name: find_intakes
select i.intake_id, i.batch_id, i.company_name, i.company_domain, i.state, i.status, i.reentered_from, i.retry_of,
       i.created_at, r.status as recovery_status, r.attempt_count, r.next_eligible_at, r.failure_reason
  from cl.gate_zero_intake i
  left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
 where i.intake_id = any(%(intakes)s::uuid[]);

-- name: intakes_of_batch
select i.intake_id from cl.gate_zero_intake i
 where i.batch_id = %(batch_id)s and i.reentered_from is null
 order by i.created_at, i.intake_id
 limit %(limit)s;

-- name: eligible
-- Who may be tried again now, longest due first: not in a paused or closed batch, and not being tried.
select r.recovery_id, r.intake_id, r.attempt_count, i.company_name, r.next_eligible_at,
       extract(epoch from recoup.now() - r.next_eligible_at)::float8 as due_for_s
  from cl.gate_zero_recovery r
  cross join lateral (select i.company_name from cl.gate_zero_intake i where i.intake_id = r.intake_id limit 1) i
  left join lateral (select b.paused_at, b.batch_freeze_at from cl.gate_zero_batch b
                      where b.batch_id = r.batch_id limit 1) b on true
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where a.intake_id = r.intake_id and a.status || '' = 'open' limit 1) a on true
 where r.status = 'ACTIVE' and r.next_eligible_at <= (select recoup.now())
   and b.paused_at is null and (b.batch_freeze_at is null or b.batch_freeze_at > (select recoup.now()))
   and a.open is null
 order by r.next_eligible_at
 limit %(limit)s;

-- name: exhausted
-- Of one batch, or of all, batch by batch. Why it ended is the last thing that AIR says of it. A page continues within
-- the batch of the last one shown, then with other batches, then with what belongs to none: each along the index.
select r.intake_id, i.company_name, r.batch_id, r.failure_reason, r.attempt_count, e.ended_by, e.ended_at,
       later.restarted_as
  from ((select r.intake_id, r.batch_id, r.failure_reason, r.attempt_count from cl.gate_zero_recovery r
          where r.status = 'EXHAUSTED' and r.batch_id = %(at)s::text and r.intake_id > %(after)s
          order by r.intake_id limit %(limit)s)
        union all
        (select r.intake_id, r.batch_id, r.failure_reason, r.attempt_count from cl.gate_zero_recovery r
          where not %(of_one)s and r.status = 'EXHAUSTED' and r.batch_id > %(at)s::text
          order by r.batch_id, r.intake_id limit %(limit)s)
        union all
        (select r.intake_id, r.batch_id, r.failure_reason, r.attempt_count from cl.gate_zero_recovery r
          where not %(of_one)s and r.status = 'EXHAUSTED' and r.batch_id is null
            and r.intake_id > %(after_unbatched)s
          order by r.intake_id limit %(limit)s)
        order by batch_id, intake_id limit %(limit)s) r
 cross join lateral (select i.company_name from cl.gate_zero_intake i where i.intake_id = r.intake_id limit 1) i
  left join lateral (select a.reason_code as ended_by, a.event_timestamp as ended_at from cl.gate_zero_air a
                      where a.entity_id = r.intake_id order by a.event_timestamp desc limit 1) e on true
  left join lateral (select i.intake_id as restarted_as from cl.gate_zero_intake i
                      where i.retry_of = r.intake_id limit 1) later on true
 order by r.batch_id, r.intake_id
 limit %(limit)s;

-- name: verify_lag
-- How long the oldest intake has been waiting for its first attempt.
select extract(epoch from recoup.now() - i.created_at)::float8
  from cl.gate_zero_intake i
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where a.intake_id = i.intake_id and a.status || '' = 'open' limit 1) a on true
 where i.status = 'PENDING' and a.open is null
 order by i.created_at, i.intake_id
 limit 1;
