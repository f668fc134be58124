-- A subscription belongs to the login that made it, and a simulated clock to times that every program can read.

alter table recoup.subscription add column login text;
alter table recoup.subscription alter column login set default session_user;
comment on column recoup.subscription.login is
'The login that made it, and alone may move it; null for those from before this was kept.';

alter table recoup.clock drop constraint clock_at_check;
alter table recoup.clock add constraint clock_at_check
  check (isfinite(at) and at < timestamptz '9999-01-01 00:00:00+00');
