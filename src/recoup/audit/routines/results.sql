-- Results of the audit that were kept.

create or replace function recoup.stamp_audit_result() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_ constant timestamptz := recoup.now();
begin
  if new.started_at > now_ then
    raise exception using errcode = 'RC026',
      message = format('An audit that began at %s has not ended: it is %s.', new.started_at, now_),
      hint = 'Keep a result when there is one: recoup audit --record',
      detail = jsonb_build_object('started_at', new.started_at, 'now', now_);
  end if;
  new.xid := pg_current_xact_id();
  new.incarnation := recoup.present_incarnation();
  new.finished_at := now_;
  new.actor := recoup.acting_kind();
  new.actor_id := recoup.acting_id();
  new.authority := current_user;
  new.login := session_user;
  return new;
end $$;
comment on function recoup.stamp_audit_result() is 'Sets who kept the result of an audit, and when.';

call recoup.put_trigger('recoup.audit_result', 'b_stamp_audit_result', 'before', 'insert', 'row',
                        'recoup.stamp_audit_result');
