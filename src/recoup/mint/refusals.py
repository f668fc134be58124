"""What the routines of the mint refuse."""

from recoup.refusals import declare

LAWS = {
    "RC040": ("mint_unauthorised", "an identity is minted for an authorised intake, after a re-entry for the new one"),
    "RC041": ("identity_differs", "an identity has the name and domain of its intake"),
}
CONSTRAINTS = {
    "company_identity_intake_id_key": (
        "minted_already",
        "The intake has its identity already.",
        "One company is minted once: recoup gate identities lists them.",
    ),
}
declare(LAWS, CONSTRAINTS)
