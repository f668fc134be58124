-- name: server_version
select 'PostgreSQL ' || current_setting('server_version');

-- name: settings
-- Those that decide how fast a commit or a scan can be.
select name, current_setting(name)
  from pg_settings
 where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'work_mem',
                'max_wal_size', 'checkpoint_timeout', 'random_page_cost', 'jit', 'autovacuum', 'effective_cache_size',
                'io_method')
 order by name;
