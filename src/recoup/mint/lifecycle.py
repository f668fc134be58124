"""The lifecycle of an identity: minted, and never changed."""

from recoup.lifecycles.declaration import Authority, Birth, Lifecycle, On
from recoup.lifecycles.logs import Log

IDENTITY = Lifecycle(
    table="cl.company_identity",
    description="A sovereign company identity. Minted once for an authorised intake, and never changed.",
    key=("sovereign_company_id",),
    births=(Birth("MINTED", Authority.MINT, "MINT: its intake has an AUTH event"),),
    frozen=("sovereign_company_id", "intake_id", "company_name", "company_domain", "minted_at"),
    rules=(On("insert", "cl.rule_identity_births"),),
    recorders=(On("insert", "cl.record_identity_births"),),
    pausable=True,
)

MINT_AIR = Log(
    table="cl.sovereign_mint_air",
    at="event_timestamp",
    recorders=("cl.record_identity_births",),
    columns=(
        (
            "air_event_id", "entity_type", "entity_id", "stage_id", "process_id", "event_type", "reason_code",
            "batch_id", "payload_ref", "actor", "event_timestamp", "seq", "xid", "incarnation",
            "sovereign_company_id", "actor_id", "authority",
        ),
        (
            "air_event_id", "entity_type", "entity_id", "stage_id", "process_id", "event_type", "reason_code",
            "batch_id", "payload_ref", "actor", "event_timestamp", "seq", "xid", "incarnation", "sovereign_company_id",
            "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
