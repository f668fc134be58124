-- Keys that programs read, with their versions.

-- name: now_text
-- As text: a value that is the null of JSON is one, too.
select n.value::text from recovery.config_now(%(key)s) n;

-- name: keys
select distinct on (c.key) c.key, c.version, c.status, c.value, c.set_by, c.candidate_id, c.reason, c.set_at
  from recovery.config c
 where %(after)s::text is null or c.key > %(after)s
 order by c.key, c.version desc
 limit %(limit)s;

-- name: versions
select c.key, c.version, c.status, c.value, c.set_by, c.candidate_id, c.reason, c.set_at
  from recovery.config c where c.key = %(key)s order by c.version desc limit %(limit)s;

-- name: put
select recovery.put_config(%(key)s, %(value)s::jsonb);
