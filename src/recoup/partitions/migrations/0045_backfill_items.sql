-- The members of a backfill: what was found of each when it was planned, and how it ended.

alter table partitions.backfill add column only_failed boolean not null default false;
alter table partitions.backfill add constraint backfill_planned check (
  planned <= expected and (status = 'planning' or planned = expected or status = 'cancelled'));

create table partitions.backfill_item (
  backfill_id  uuid not null,
  place        integer not null check (place > 0),
  partition_id bigint,
  found        text not null
               check (found in ('new', 'failed', 'terminal', 'success', 'pending', 'held', 'open', 'other', 'absent')),
  status       text not null check (status in ('waiting', 'left', 'succeeded', 'failed', 'terminal', 'cancelled')),
  other        uuid,
  planned_at   timestamptz not null check (isfinite(planned_at)),
  ended_at     timestamptz check (isfinite(ended_at)),
  primary key (backfill_id, place),
  constraint backfill_item_other check ((other is not null) = (found = 'other')),
  constraint backfill_item_partition check ((partition_id is null) = (found = 'absent')),
  constraint backfill_item_ended check ((status = 'waiting') = (ended_at is null)),
  constraint backfill_item_found check (case found when 'new' then status <> 'left' when 'failed' then status <> 'left'
    when 'open' then status = 'left' when 'other' then status = 'left' when 'absent' then status = 'left' else true end)
);
create unique index backfill_item_member on partitions.backfill_item (backfill_id, partition_id)
  where partition_id is not null;
create index backfill_item_waiting on partitions.backfill_item (backfill_id) where status = 'waiting';
-- For holding what a backfill left waiting, in batches.
create index schedule_of_backfill on partitions.schedule (backfill_id)
  where status = 'waiting' and backfill_id is not null;

grant select on partitions.backfill_item to recoup_reader;
grant insert (selection, reason, requested_by, priority, reprocess, with_terminal, only_failed, expected,
              policy_version, created_at, updated_at)
  on partitions.backfill to recoup_control_plane;
grant update (status, planned, updated_at, ended_at) on partitions.backfill to recoup_control_plane;
grant insert (backfill_id, place, partition_id, found, status, other, planned_at, ended_at)
  on partitions.backfill_item to recoup_control_plane;
grant update (status, ended_at) on partitions.backfill_item to recoup_control_plane;
