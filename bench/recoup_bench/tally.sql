-- name: gate_zero
select 'intake ' || status, count(*) from {gate_zero_intake} group by 1
union all
select 'attempt ' || attempt_number || ' ' || status, count(*) from {gate_zero_attempt} group by 1
union all
select 'recovery ' || attempt_count || ' ' || status, count(*) from {gate_zero_recovery} group by 1
union all
select 'event ' || event_type || ' ' || reason_code, count(*) from {gate_zero_air} group by 1
order by 1;
