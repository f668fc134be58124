"""The log of claims."""

from recoup.lifecycles.logs import Log

CLAIM_LOG = Log(
    table="recoup.claim_log",
    at="logged_at",
    times=("lease_until",),
    recorders=("recoup.record_claims",),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "subject", "token", "worker", "lease_until", "units", "actor",
            "actor_id", "authority",
        ),
        (
            "seq", "xid", "incarnation", "logged_at", "subject", "token", "worker", "lease_until", "units", "actor",
            "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
