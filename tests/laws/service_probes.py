"""The probes of the service."""

from __future__ import annotations

from keyring import KEY_ROW, key_in
from laws.probing import PROBES, check, key, law, reference, refused, seen, unreplicated
from laws.rows import NOW
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority

__all__ = ["PROBES"]

MANAGER = Authority.KEY_MANAGER
KEY, USE, SESSION = "recoup.api_key", "recoup.api_key_use", "recoup.session"
REQUEST, BUCKET, DENIED = "recoup.idempotency", "recoup.rate_bucket", "recoup.denied_call"
INFINITE, LONG, SHORT_HASH = "'infinity'", "repeat('x', 2001)", "sha256('x')::bytea || '\\x00'"

unreplicated(USE, SESSION, REQUEST, BUCKET, DENIED)
key(KEY, "api_key_pkey", "An id is one key's.", "key_id")
key(KEY, "api_key_prefix_key", "A prefix finds one key.", "prefix")
key(KEY, "api_key_secret_hash_key", "A secret is one key's.", "secret_hash")
key(KEY, "api_key_name", "A name is one person's.", "name")
key(KEY, "api_key_replaces_key", "A key is replaced by one.", "replaces", first={"replaces": key_in})
check(KEY, "api_key_name_check", "A name can be printed.", name="E'a\\nb'")
check(KEY, "api_key_role_check", "A role is a listed one.", role="'root'")
check(KEY, "api_key_hub_check", "A hub has a name.", hub="''")
check(KEY, "api_key_prefix_check", "A prefix is one.", prefix="'A'")
check(KEY, "api_key_secret_hash_check", "A hash is one.", secret_hash=SHORT_HASH)
check(KEY, "api_key_created_at_check", "Times are times.", created_at="'-infinity'")
check(KEY, "api_key_expires_at_check", "Times are times.", expires_at=INFINITE)
check(KEY, "api_key_replaced_at_check", "Times are times.", replaced_at=INFINITE, expires_at="recoup.now() + '1 h'")
check(KEY, "api_key_status_check", "A status is a listed one.", status="'lost'")
check(KEY, "api_key_ended_at_check", "Times are times.", status="'revoked'", ended_at=INFINITE)
check(KEY, "api_key_ended", "What is revoked was so at a time.", status="'revoked'")
check(KEY, "api_key_expires", "It expires after it began.", expires_at="recoup.now() - interval '9 hours'")
check(KEY, "api_key_replaced", "What is replaced expires.", replaced_at=NOW)
check(KEY, "api_key_scoped", "An admin has no hub.", role="'admin'", hub="'h'")
key(USE, "api_key_use_pkey", "A key was used last once.", "key_id")
check(USE, "api_key_use_last_used_at_check", "Times are times.", last_used_at=INFINITE)
key(SESSION, "session_pkey", "An id is one session's.", "session_id")
key(SESSION, "session_token_hash_key", "A token is one session's.", "token_hash")
check(SESSION, "session_token_hash_check", "A hash is one.", token_hash=SHORT_HASH)
check(SESSION, "session_name_check", "Somebody acts in it.", name="''")
check(SESSION, "session_role_check", "A role is a listed one.", role="'root'", key_id=key_in)
check(SESSION, "session_created_at_check", "Times are times.", created_at="'-infinity'")
check(SESSION, "session_expires_at_check", "It ends.", expires_at=INFINITE)
check(SESSION, "session_of", "Without a key it is the local person's.", role="'admin'")
reference(KEY, "replaces", KEY, "It replaces a key.")
reference(USE, "key_id", KEY, "A key was used.")
reference(SESSION, "key_id", KEY, "It is a key's.", role="'viewer'")
key(REQUEST, "idempotency_pkey", "A request is received once.", "principal", "key", "slot", told="idempotency_0_pkey")
check(REQUEST, "idempotency_principal_check", "Somebody sent it.", principal="''")
check(REQUEST, "idempotency_key_check", "A key is one.", key="''")
check(REQUEST, "idempotency_method_check", "A method is one.", method="''")
check(REQUEST, "idempotency_path_check", "A path ends.", path=LONG)
check(REQUEST, "idempotency_digest_check", "A digest is one.", digest="'\\x00'")
check(REQUEST, "idempotency_created_at_check", "Times are times.", created_at=INFINITE)
check(REQUEST, "idempotency_status_check", "What failed is not kept.", status="500")
check(REQUEST, "idempotency_answer_check", "An answer ends.", answer="repeat('x', 1000001)")
check(REQUEST, "idempotency_about_check", "An id ends.", about=LONG)
key(BUCKET, "rate_bucket_pkey", "A caller has one bucket.", "principal")
check(BUCKET, "rate_bucket_principal_check", "A caller has a name.", principal="''")
check(BUCKET, "rate_bucket_tokens_check", "Nobody owes.", tokens="-1")
check(BUCKET, "rate_bucket_refilled_at_check", "Times are times.", refilled_at=INFINITE)
key(DENIED, "denied_call_pkey", "A minute counts a kind once.", "minute", "address", "key_prefix", "refusal")
check(DENIED, "denied_call_minute_check", "Times are times.", minute=INFINITE)
check(DENIED, "denied_call_address_check", "A network is one.", address=LONG)
check(DENIED, "denied_call_key_prefix_check", "No secret is kept.", key_prefix="'a whole key'")
check(DENIED, "denied_call_refusal_check", "A refusal has a code.", refusal="''")
check(DENIED, "denied_call_calls_check", "It counts.", calls="0")

RULE = "recoup.rule_api_keys"


@law(KEY, RULE, "insert")
def a_key_begins_now_as_it_was_asked_for(tx: Transaction) -> None:
    """Nobody makes one in the name of another, for a hub that is not there, or in place of a key that stays."""
    kept = key_in(tx)
    for old, new in (
        ("recoup.acting_id()", "'another'"),
        ("created_by)", "created_by, hub)"),
        ("created_by)", "created_by, replaces)"),
    ):
        given = {"created_by, hub)": ", 'nowhere'", "created_by, replaces)": f", '{kept}'::uuid"}.get(new, "")
        insert = KEY_ROW.replace(old, new).replace(" from (select gen", f"{given} from (select gen")
        refused(tx, f"insert into {KEY} {insert}", who=MANAGER, by=RULE, sqlstate="RC160")


@law(KEY, RULE, "update")
def a_key_never_lives_longer(tx: Transaction) -> None:
    """It is replaced once, revoked now, and expires no later than before."""
    made = key_in(tx)
    for change in (
        "status = 'revoked', ended_at = recoup.now() - interval '1 hour'",
        "replaced_at = recoup.now() - interval '1 hour', expires_at = recoup.now() + interval '1 hour'",
        "expires_at = recoup.now() + interval '1 hour'",
    ):
        move = f"update {KEY} set {change} where key_id = %s"
        refused(tx, move, (made,), who=MANAGER, by=RULE, sqlstate="RC160")


CONTROLLED = f"select from recoup.control_log where subject = '{KEY}' and key = %s and to_status = %s"


@law(KEY, "recoup.record_control", "insert")
def a_key_is_logged(tx: Transaction) -> None:
    """With its role, and never with its hash."""
    seen(tx, f"{CONTROLLED} and facts ->> 'role' = 'viewer' and not facts ? 'secret_hash'", str(key_in(tx)), "active")


@law(KEY, "recoup.record_control", "update")
def the_end_of_a_key_is_logged(tx: Transaction) -> None:
    """With when it was."""
    seen(tx, f"{CONTROLLED} and facts ? 'ended_at'", str(key_in(tx, "revoked")), "revoked")
