-- The raw sinks that are registered: a worker that does not see the id of its sink in the folder claims nothing.

create table partitions.sink (
  sink_id       uuid primary key,
  name          text not null check (octet_length(name) between 1 and 100),
  status        text not null default 'available' check (status in ('available', 'unavailable')),
  registered_at timestamptz not null check (isfinite(registered_at)),
  registered_by text not null check (octet_length(registered_by) between 1 and 500),
  cause         text check (octet_length(cause) between 1 and 100),
  message       text check (octet_length(message) between 1 and 2000),
  host          text check (octet_length(host) between 1 and 300),
  outage_at     timestamptz check (isfinite(outage_at)),
  checked_at    timestamptz check (isfinite(checked_at)),
  restored_at   timestamptz check (isfinite(restored_at)),
  updated_at    timestamptz not null check (isfinite(updated_at)),
  constraint sink_name unique (name),
  -- What the last outage was stays known after it has ended.
  constraint sink_outage check (num_nulls(cause, message, host, outage_at, checked_at) in (0, 5)
    and (status = 'unavailable') = (outage_at is not null and restored_at is null)
    and (restored_at is null or restored_at >= outage_at))
);

grant select on partitions.sink to recoup_reader;
grant insert (sink_id, name, registered_at, registered_by, updated_at) on partitions.sink to recoup_operator;
grant update (status, cause, message, host, outage_at, checked_at, restored_at, updated_at)
  on partitions.sink to recoup_control_plane;
