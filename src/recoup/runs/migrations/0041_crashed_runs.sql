-- How many runs crashed lately is asked every few seconds, for alerts.
create index run_crashed on recovery.run (finished_at) where status = 'crashed';
