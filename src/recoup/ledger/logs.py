"""The logs that belong to no single domain."""

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
    ),
)  # fmt: skip
DECLARATION_LOG = Log(
    table="recoup.declaration_log",
    at="logged_at",
    door="recoup.only_declared",
    columns=(("seq", "xid", "incarnation", "logged_at", "event_type", "declared_in", "row", "login"),),
)
# Which cluster wrote what, and the chain itself. Not sealed: the chain is checked by its own arithmetic.
INCARNATION = Log(table="recoup.incarnation", at="began_at")
SEAL = Log(table="recoup.seal", at="sealed_at", door="recoup.only_sealers")
