-- What recovery asks the control plane for. A request is the consequence of a candidate, and the move of the schedule
-- that of the request: one statement, so there is never the one without the other.

create or replace function partitions.waits_for_person(partition_ bigint, before bigint default null) returns boolean
language sql stable as $$
  -- Marked by a person; or requeued by itself last time, and nobody acted on it since. An approver acts, too.
  select coalesce('MARKED' = any(s.terminal_causes), false)
      or exists (
        select from (select r.* from partitions.requeue_request r
                      where r.partition_id = partition_ and (before is null or r.seq < before)
                      order by r.seq desc limit 1) r
         where r.approver is null and r.verb = 'retry'
           and not exists (select from partitions.partition_event e
                            where e.partition_id = partition_ and e.seq > r.seq and e.subject = 'schedule'
                              and e.actor = 'human' and e.authority = 'recoup_control_plane'))
    from partitions.schedule s where s.partition_id = partition_
$$;
comment on function partitions.waits_for_person(bigint, bigint) is
'Whether recovery may not requeue a partition without a person: it did so last time, or a person marked it.';

create or replace function partitions.request(candidates uuid[], partitions_ bigint[], verbs text[],
  alternatives jsonb[], approvers text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  made integer;
begin
  -- Only what is still terminal, locked in the order in which everybody locks schedules.
  with held as materialized (
    select s.partition_id from partitions.schedule s
     where s.partition_id = any(partitions_) and s.status = 'terminal'
     order by s.partition_id for no key update)
  insert into partitions.requeue_request (candidate_id, partition_id, verb, alternative, approver, requested_at)
  select g.candidate, h.partition_id, g.verb, g.alternative, g.approver, t.now_
    from unnest(candidates, partitions_, verbs, alternatives, approvers)
           g (candidate, partition_id, verb, alternative, approver)
    join held h on h.partition_id = g.partition_id
   cross join (select recoup.now() as now_) t
   order by h.partition_id;
  get diagnostics made = row_count;
  return made;
end $$;
comment on function partitions.request(uuid[], bigint[], text[], jsonb[], text[]) is
'The effects of recovery candidates on terminal partitions. Returns how many were still terminal.';

create or replace function partitions.rule_requeue_requests() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  now_ constant timestamptz := recoup.now();
  bad  record;
begin
  select n.partition_id, n.candidate_id, partitions.is_now(n.requested_at, now_) as is_now into bad
    from new_rows n
   where not partitions.is_now(n.requested_at, now_)
      or n.approver is null and partitions.waits_for_person(n.partition_id, n.seq) limit 1;
  if found then
    raise exception using errcode = 'RC148',
      message = format('Partition %s: %s', bad.partition_id, case when bad.is_now
        then 'it was requeued by itself last time, or a person marked it: a person has to approve it now.'
        else 'it is requeued now, and at no other time.' end),
      hint = 'Have a person decide: recoup recovery approve ID',
      detail = jsonb_build_object('partition_id', bad.partition_id, 'candidate_id', bad.candidate_id);
  end if;
  return null;
end $$;
comment on function partitions.rule_requeue_requests() is
'A terminal partition is requeued by itself once, until a person acts on it.';

create or replace function partitions.settle_requeue_requests() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  command_ constant text := current_setting('recoup.command', true);
  which    constant text := current_setting('recoup.selection', true);
  group_   record;
  answers_ text[];
begin
  perform recoup.require_table(tg_relid, 'partitions.requeue_request');
  -- One statement for all that ask for the same, so that the override log has one row for them.
  for group_ in
    select n.verb, n.alternative, array_agg(n.partition_id order by n.partition_id) as ids,
           array_agg(n.candidate_id order by n.partition_id) as candidates,
           string_agg(format('candidate %s', n.candidate_id)
                      || coalesce(' (approved by ' || n.approver || ')', ' (automatic)'), ', '
                      order by n.partition_id) as which
      from new_rows n group by n.verb, n.alternative
  loop
    perform set_config('recoup.command', 'recovery ' || group_.verb, true),
            set_config('recoup.selection', group_.which, true);
    select a.answers into answers_
      from partitions.ask(group_.ids, group_.verb, null, null, null, null, group_.alternative, group_.candidates,
                          true) a;
    -- One that a person marked before stays as it is.
    if not answers_ <@ '{asked,marked}' or cardinality(answers_) <> cardinality(group_.ids) then
      raise exception using errcode = '40001', message = 'A partition has changed since it was found terminal.';
    end if;
  end loop;
  perform set_config('recoup.command', coalesce(command_, ''), true),
          set_config('recoup.selection', coalesce(which, ''), true);
  return null;
end $$;
revoke execute on function partitions.settle_requeue_requests() from public;
comment on function partitions.settle_requeue_requests() is
'The schedules of partitions that recovery requeues or marks move, and the override log names candidate and approver.';

create or replace function partitions.is_requested(e partitions.partition_event) returns boolean
language sql stable as $$
  -- The control log has every request, in the transaction of what followed from it.
  select e.authority = 'recoup_executor' and exists (
    select from recoup.control_log l
     where l.xid = e.xid and l.incarnation = e.incarnation and l.subject = 'partitions.requeue_request'
       and l.event_type = 'BIRTH' and l.facts ->> 'partition_id' = e.partition_id::text)
$$;
comment on function partitions.is_requested(partitions.partition_event) is
'Whether an event follows from the request of a recovery candidate.';

comment on table partitions.requeue_request is
'What recovery candidates asked the control plane for: to retry a terminal partition, or to mark it.';
comment on column partitions.requeue_request.candidate_id is 'The candidate. Its effect is made once.';
comment on column partitions.requeue_request.seq is 'Its place among all events.';
comment on column partitions.requeue_request.status is 'made: its schedule has moved, in the same statement.';
comment on column partitions.requeue_request.partition_id is 'The partition.';
comment on column partitions.requeue_request.verb is 'retry: requeued; mark: its gap is accepted.';
comment on column partitions.requeue_request.alternative is 'What its extractor is given instead (action fallback).';
comment on column partitions.requeue_request.approver is 'Who approved the candidate; null: it started by itself.';
comment on column partitions.requeue_request.requested_at is 'When.';
