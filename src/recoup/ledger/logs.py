"""The logs that belong to no single domain."""

from recoup.lifecycles.declaration import CONTENT_LOG as CONTENTS
from recoup.lifecycles.declaration import RECORD_CONTROL
from recoup.lifecycles.logs import Log

CONTROL_LOG = Log(
    table="recoup.control_log",
    at="logged_at",
    recorders=(RECORD_CONTROL,),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "subject", "key", "event_type", "from_status", "to_status",
            "facts", "reason", "actor", "actor_id", "authority",
        ),
        (
            "seq", "xid", "incarnation", "logged_at", "subject", "key", "event_type", "from_status", "to_status",
            "facts", "reason", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
CONTENT_LOG = Log(
    table=CONTENTS,
    at="logged_at",
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "subject", "event_type", "form", "keys", "digests", "actor",
            "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
POLICY = Log(
    table="recoup.policy",
    at="applied_at",
    door="recoup.stamp_policy",
    columns=(
        (
            "version", "figures", "document", "reason", "seq", "xid", "incarnation", "applied_at", "actor", "actor_id",
            "authority",
        ),
        (
            "version", "figures", "document", "reason", "seq", "xid", "incarnation", "applied_at", "actor", "actor_id",
            "authority", "login",
        ),
    ),
)  # fmt: skip
LATE_RESULT = Log(
    table="recoup.late_result",
    at="received_at",
    columns=(
        (
            "late_result_id", "subject", "unit_id", "token", "result", "received_at", "actor_id", "seq", "xid",
            "incarnation",
        ),
        (
            "late_result_id", "subject", "unit_id", "token", "result", "received_at", "actor_id", "seq", "xid",
            "incarnation", "login",
        ),
    ),
)  # fmt: skip
AUDIT_RESULT = Log(
    table="recoup.audit_result",
    at="finished_at",
    times=("started_at",),
    door="recoup.stamp_audit_result",
    columns=(
        (
            "seq", "xid", "incarnation", "started_at", "finished_at", "selected", "checked", "held", "not_checked",
            "broken", "broken_rows", "seals_hold", "recoup_version", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
DECLARATION_LOG = Log(
    table="recoup.declaration_log",
    at="logged_at",
    door="recoup.only_declared",
    columns=(("seq", "xid", "incarnation", "logged_at", "event_type", "declared_in", "row", "login"),),
)
# Which cluster wrote what, and the chain itself. Not sealed: the chain checks itself.
INCARNATION = Log(table="recoup.incarnation", at="began_at")
SEAL = Log(table="recoup.seal", at="sealed_at", door="recoup.only_sealers")
