-- Indexes for reading: how often a failure was recorded, and errors by work key and by signature.

-- The archive of an entity was found by entity alone; a failure of an entity is found at once.
drop index recoup.error_archive_entity;
create index error_archive_failure on recoup.error_archive (outreach_id, error_signature)
  where outreach_id is not null;
-- Closed, and not yet moved by the archiver.
create index error_closed_failure on recoup.error (outreach_id, error_signature)
  where archived_at is not null and outreach_id is not null;

create index error_work_key on recoup.error (work_key text_pattern_ops) where work_key is not null;
create index error_archive_work_key on recoup.error_archive (work_key text_pattern_ops) where work_key is not null;
create index error_signature on recoup.error (error_signature text_pattern_ops, error_id);
