-- Bulk operations in steps: a few items first, and more of them while the outcomes of the last step are good.

alter table recoup.operation
  add column canary      jsonb,
  add column step        integer,
  add column step_start  integer,
  add column step_end    integer,
  add column next_at     timestamptz check (isfinite(next_at)),
  add column watch_until timestamptz check (isfinite(watch_until)),
  add column why         text;
alter table recoup.operation drop constraint operation_status_check, drop constraint operation_check;
alter table recoup.operation
  add constraint operation_status_check check (status in ('OPEN', 'PAUSED', 'STOPPED', 'CANCELLED', 'DONE')),
  add constraint operation_check check ((status in ('DONE', 'CANCELLED')) = (done_at is not null)),
  add constraint operation_steps check (
    case when canary is null
         then num_nonnulls(step, step_start, step_end, next_at, watch_until) = 0 and status not in ('PAUSED', 'STOPPED')
         else num_nulls(step, step_start, step_end, next_at) = 0
              and step >= 1 and step_start >= 0 and step_end > step_start and step_end <= items end);
comment on column recoup.operation.status is
'OPEN: some items have no result. PAUSED: outcomes of a step did not come. STOPPED: too many of a step failed.'
' CANCELLED: a person ended it; the rest is as it was. DONE: each item has its result.';
comment on column recoup.operation.done_at is 'When the last item had its result, or it was cancelled.';
comment on column recoup.operation.canary is
'How it goes in steps: size of the first, growth, failed share that stops it, rate, how long outcomes are waited for,'
' as the policy had them; and the kind of actor and the authority that it acts for. Null: all at once.';
comment on column recoup.operation.step is 'The number of the step.';
comment on column recoup.operation.step_start is 'The last place before the step.';
comment on column recoup.operation.step_end is 'The last place of the step. Items beyond it stay as they are.';
comment on column recoup.operation.next_at is 'When the next item may go, at its rate.';
comment on column recoup.operation.watch_until is
'How long outcomes of the step are waited for. Null: not all of its items have a result.';
comment on column recoup.operation.why is 'Why it is in this status, or in this step.';

grant insert (canary, step, step_start, step_end, next_at, why),
      update (step, step_start, step_end, next_at, watch_until, why) on recoup.operation to recoup_operator;
-- Its background tasks are the operator's.
grant insert, update on recoup.duty_tally to recoup_operator;
