-- Overdue reviews of the last hour are found without reading the log: they alert also where the error was raised or
-- archived since.
create index error_event_breached on recoup.error_event (logged_at) where event_type = 'SLA_BREACHED';
