-- A run of a partition may try a breaker, too; the control plane dispatches it, and settles how it ended.

alter table recovery.breaker drop constraint breaker_probe_subject_check;
alter table recovery.breaker add constraint breaker_probe_subject_check check (
  probe_subject in ('recoup.error', 'cl.gate_zero_attempt', 'recovery.run', 'recovery.candidate', 'partitions.run'))
  not valid;
alter table recovery.breaker validate constraint breaker_probe_subject_check;

grant update (status, wait_s, open_until, probes, probe_subject, probe_unit, probe_token, probe_until, closed_at,
              closed_by)
  on recovery.breaker to recoup_control_plane;
