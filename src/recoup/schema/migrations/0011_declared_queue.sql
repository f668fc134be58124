-- A queue is declared with the lifecycle whose rows wait in it, and its functions are written out from that.
alter table recoup.lifecycle add column queue jsonb;
comment on column recoup.lifecycle.queue is
'The queue in which its rows wait to be worked on, and how they are claimed and end; null: none.';
-- What takes their place is written out.
drop function if exists recoup.queue_retries() cascade;
drop function if exists recoup.settle_retries() cascade;
drop function if exists recoup.dequeue_retries() cascade;
drop procedure if exists recoup.write_guards(text);
drop procedure if exists recoup.equip_queue(regclass, text, text, text[]);
