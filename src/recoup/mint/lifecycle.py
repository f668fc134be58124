"""The lifecycle of an identity: minted, and that is all."""

from __future__ import annotations

from recoup.lifecycles.declaration import Authority, Birth, Lifecycle

IDENTITY = Lifecycle(
    table="cl.company_identity",
    says="A sovereign company identity. Minted once for an authorised intake, and the same for ever.",
    key=("sovereign_company_id",),
    births=(Birth("MINTED", Authority.MINT, "MINT: AIR said AUTH of its intake"),),
    frozen=("sovereign_company_id", "intake_id", "company_name", "company_domain", "minted_at"),
)
