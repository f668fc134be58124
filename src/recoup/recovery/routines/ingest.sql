-- Ingestion: failures become matches, once each, in sets; the evaluation of each is queued with it.

create or replace function recovery.ingest(
  sources text[], keys text[], kinds text[], refs text[], codes text[], messages text[], signatures text[],
  categories text[], contexts jsonb[], digests bytea[], follow uuid[], named uuid[],
  out ids uuid[], out answers text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off set enable_seqscan = off set enable_mergejoin = off set jit = off
as $$
declare
  now_     timestamptz;
  until_   interval;
  version_ integer;
begin
  perform recoup.require_same_length('failures', cardinality(sources), cardinality(keys), cardinality(kinds),
    cardinality(refs), cardinality(codes), cardinality(messages), cardinality(signatures), cardinality(categories),
    cardinality(contexts), cardinality(digests), cardinality(follow), cardinality(named));
  perform recoup.require_read_committed('Failure matches');
  for turn in 1 .. 10 loop
    begin
      now_ := recoup.now();
      version_ := recoup.policy_version();
      until_ := make_interval(hours => 24 * (recovery.policy() ->> 'match_within_days')::integer);
      -- Incidents first, in one order; an open one is locked so that it is not closed meanwhile.
      insert into recovery.incident (source, error_signature, follows, opened_at)
      select d.source, d.signature, (
               select i.incident_id from recovery.incident i
                where i.source = d.source and i.error_signature = d.signature order by i.opened_at desc limit 1), now_
        from (select u.source, u.signature from unnest(sources, signatures, named) u (source, signature, named)
               where u.named is null or not exists (
                 select from recovery.incident i where i.incident_id = u.named and i.status = 'open')
               group by 1, 2) d
       where not exists (select from recovery.incident i
                          where i.source = d.source and i.error_signature = d.signature and i.status = 'open')
         -- What is known already opens none.
         and exists (select from unnest(sources, signatures, keys, kinds, refs) u (source, signature, key, kind, ref)
                      where u.source = d.source and u.signature = d.signature
                        and not exists (select from recovery.failure_match m
                                         where m.source = u.source and m.idempotency_key = u.key)
                        and not (u.kind <> 'outside'
                                 and exists (select from recovery.failure_match m
                                              where m.subject_ref = u.ref and m.subject_kind = u.kind
                                                and m.ended_at is null)))
       order by d.source, d.signature
      on conflict do nothing;
      with given as materialized (
        select u.*, row_number() over (partition by u.source, u.key order by u.place) as nth
          from unnest(sources, keys, kinds, refs, codes, messages, signatures, categories, contexts, digests, follow,
                      named)
               with ordinality u (source, key, kind, ref, code, message, signature, category, context, digest, follows,
                                  named, place)),
      -- The one it names, while that is open; else the open one of its source and signature.
      called as materialized (
        select i.incident_id
          from (select distinct u.named from given u where u.named is not null) d
         cross join lateral (
           select i.* from recovery.incident i where i.incident_id = d.named and i.status = 'open'
            limit 1 for key share) i),
      opened as materialized (
        select i.incident_id, i.source, i.error_signature
          from (select distinct u.source, u.signature from given u) d
         cross join lateral (
           select i.* from recovery.incident i
            where i.source = d.source and i.error_signature = d.signature and i.status = 'open'
            limit 1 for key share) i),
      -- A failure of ours is recovered from once at a time: reported under another key, it is the match that is open.
      open_ as materialized (
        select g.place, m.failure_match_id
          from given g
         cross join lateral (
           select m.failure_match_id from recovery.failure_match m
            where m.subject_ref = g.ref and m.subject_kind = g.kind and m.ended_at is null limit 1) m
         where g.kind <> 'outside'),
      fresh as (
        select g.*, case when g.kind <> 'outside'
                         then row_number() over (partition by g.kind, g.ref order by g.place) else 1 end as nth_of
          from given g
         where g.nth = 1 and g.place <> all(array(select x.place from open_ x))
           and not exists (select from recovery.failure_match m
                            where m.source = g.source and m.idempotency_key = g.key)),
      born as (
        insert into recovery.failure_match (
          incident_id, source, idempotency_key, subject_kind, subject_ref, error_code, error_message, error_signature,
          category, context, digest, follows, evaluate_at, match_until, policy_version, created_at, updated_at)
        select coalesce(c.incident_id, o.incident_id), g.source, g.key, g.kind, g.ref, g.code, g.message, g.signature,
          g.category, g.context,
               g.digest, g.follows, now_, now_ + until_, version_, now_, now_
          from fresh g
          left join called c on c.incident_id = g.named
          left join opened o on o.source = g.source and o.error_signature = g.signature
         where g.nth_of = 1 and num_nonnulls(c.incident_id, o.incident_id) > 0
         order by g.source, g.key
        returning failure_match_id, source, idempotency_key, digest)
      select array_agg(coalesce(b.failure_match_id, m.failure_match_id, x.failure_match_id) order by g.place),
             array_agg(case when num_nulls(b.digest, m.digest) = 2 then 'known'
                            when coalesce(b.digest, m.digest) is distinct from g.digest then 'differs'
                            when b.failure_match_id is not null and g.nth = 1 then 'created' else 'known' end
                       order by g.place)
        into ids, answers
        from given g
        left join born b on b.source = g.source and b.idempotency_key = g.key
        left join lateral (select m.failure_match_id, m.digest from recovery.failure_match m
                            where m.source = g.source and m.idempotency_key = g.key limit 1) m
               on b.failure_match_id is null
        left join open_ x on x.place = g.place;
      -- An incident that was closed, or a match that was made, meanwhile: looked up again.
      exit when array_position(ids, null) is null;
    exception
      when unique_violation or deadlock_detected then
        if turn = 10 then
          raise;
        end if;
    end;
  end loop;
end $$;
comment on function recovery.ingest(
  text[], text[], text[], text[], text[], text[], text[], text[], jsonb[], bytea[], uuid[], uuid[]) is
'Ingests failures; of each its match, and whether it was created, is known, or differs from what its key stands for.';
