-- The action fallback of a recovery candidate hands its alternative to the handler of the error.

alter table recoup.error add column retry_with jsonb;
alter table recoup.error_archive add column retry_with jsonb;
comment on column recoup.error.retry_with is
'The alternative that its retry is to use, from the action fallback of a recovery candidate. Null: none.';
comment on column recoup.error_archive.retry_with is
'The alternative that its last retry was to use, from the action fallback of a recovery candidate. Null: none.';
grant update (retry_with) on recoup.error to recoup_executor, recoup_operator;

-- Made again from the declaration, with one more result.
drop function if exists recoup.claim_errors(text[], integer, text, interval);
