-- Bulk operations whose process died: a worker continues those that say in whose name.

alter table recoup.operation
  add column continued_as jsonb,
  add column taken_up_at  timestamptz check (isfinite(taken_up_at));
alter table recoup.operation
  add constraint operation_continued check (
    (continued_as is null or canary is null) and (taken_up_at is null or continued_as is not null));
comment on column recoup.operation.continued_as is
'The kind of actor and the authority that a worker acts for if the process dies that works on it. Null: none does.';
comment on column recoup.operation.taken_up_at is
'When a worker took it up, because nobody worked on it any more. From then on workers continue it.';

grant insert (continued_as), update (taken_up_at) on recoup.operation to recoup_operator;
