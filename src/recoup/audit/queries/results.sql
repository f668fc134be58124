-- name: now
select recoup.now();

-- name: record
insert into recoup.audit_result (started_at, selected, checked, held, not_checked, broken, broken_rows, seals_hold,
                                 recoup_version)
values (%(started_at)s, %(selected)s, %(checked)s, %(held)s, %(not_checked)s, %(broken)s, %(broken_rows)s,
        %(seals_hold)s, %(version)s)
returning {columns};

-- name: columns
seq, started_at, finished_at, selected, checked, held, not_checked, broken, broken_rows, seals_hold, recoup_version,
actor, actor_id

-- name: list
select {columns} from recoup.audit_result
 where seq < coalesce(%(after)s::bigint, 9223372036854775807)
   and (not %(broken)s or broken > 0)
 order by seq desc limit %(limit)s;
