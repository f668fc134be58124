"""A stand-in for the consequence of a recovery candidate: a function of the owner that acts for an authority."""

from __future__ import annotations

from typing import Any

from company import acting
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority

# Its first trigger tells who acts, as a guard does; the second does what the row says, as the owner.
STAND_IN = """
create schema stand_in authorization recoup_owner;
create table stand_in.candidate (effect text);
alter table stand_in.candidate owner to recoup_owner;
grant usage on schema stand_in to public;
grant insert on stand_in.candidate to public;
create function stand_in.guard() returns trigger language plpgsql as $$
begin
  perform set_config('recoup.acting_role', current_user, true);
  return null;
end $$;
create function stand_in.settle_candidates() returns trigger language plpgsql security definer as $$
declare
  effect_ text;
begin
  for effect_ in select n.effect from new_rows n loop
    execute effect_;
  end loop;
  return null;
end $$;
alter function stand_in.settle_candidates() owner to recoup_owner;
create trigger a_guard after insert on stand_in.candidate for each statement execute function stand_in.guard();
create trigger d_settle after insert on stand_in.candidate referencing new table as new_rows
  for each statement execute function stand_in.settle_candidates();
"""


def install(tx: Transaction) -> None:
    """Make the stand-in, as a superuser."""
    tx.execute(STAND_IN)


def make(tx: Transaction, who: Authority, effect: str) -> None:
    """What a candidate's step brings about: this statement, by the owner, for whoever made the step."""
    with acting(tx, who):
        tx.execute("insert into stand_in.candidate (effect) values (%s)", (effect,))


def hold(tx: Transaction, source: str, kept: list[Any]) -> None:
    """Let recovery keep these errors of a table, by the name under which errors ask."""
    tx.execute("create schema if not exists recovery; grant usage on schema recovery to public")
    ids = ", ".join(map(str, kept)) or "null"
    tx.execute(
        "create or replace function recovery.kept_errors(error_table_ text, ids bigint[], now_ timestamptz)"
        " returns bigint[] language plpgsql stable as $$ begin"
        f" return array(select i from unnest(ids) i where error_table_ = '{source}' and i in ({ids})); end $$"
    )
