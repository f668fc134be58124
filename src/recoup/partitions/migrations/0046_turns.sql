-- A run that is dispatched again takes its turn again: dispatch_no is that of its first dispatch, and stays.
-- Dispatches of a pool are numbered without a gap, so that the last of each lane tell how many went since.

alter table partitions.run add column turn bigint;
drop index partitions.run_dispatch;
create index run_turn on partitions.run (pool, lane, turn) where turn is not null;
grant insert (turn), update (turn) on partitions.run to recoup_control_plane;

-- Customers, too: a partition is looked up by its whole key, and this index must not be a worse choice than the key.
-- Without it, a thousand partitions of one day were looked up in a million steps while statistics did not know the day.
drop index partitions.partition_state_query;
create index partition_state_query on partitions.partition_state (source, query_name, logical_date, customer_id);
