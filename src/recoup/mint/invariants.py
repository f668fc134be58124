"""The rules of the documents for minting, line by line, and our own for identities and their log."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.mint")

# The mint worker's flow in cl.gate_zero_air, section 8, and what cl.gate_zero_recovery requires of the new intake.
FLOW: tuple[Invariant, ...] = (
    _of("gate_zero_air/8/each-auth-is-minted", "acknowledged",
        "Every AUTH that the mint has acknowledged has its identity.",
        "gate_zero_air/8/poll-for-auth-events"),
    _of("gate_zero_air/8/minted-by-authorization", "identities",
        "Every identity belongs to an AUTHORIZED intake with an AUTH, its own or that of its origin.",
        "gate_zero_air/8/mint-in-company-identity"),
    _of("gate_zero_air/8/minted-after-auth", "identities", "Nothing is minted before its AUTH."),
    _of("gate_zero_air/8/data-stays", "identities", "An identity has the name and the domain of its intake.",
        "gate_zero_air/8/read-intake"),
    _of("gate_zero_air/8/emit-mint", "identities",
        "Every identity has one MINT in the AIR log of the mint, and every MINT one identity."),
    _of("gate_zero_recovery/9/identity-on-new-intake", "identities",
        "No identity is minted for an intake whose retry passed: the new intake gets it."),
)  # fmt: skip

OURS: tuple[Invariant, ...] = (
    _of("mint/identity/one-per-lineage", "identities",
        "An intake and the new one of its re-entry share one identity."),
    _of("mint/air/columns", "columns",
        "The eleven columns come first, with the names, types, nullability and order of Gate Zero's AIR."),
    _of("mint/air/not-null", "air_rows", "No required column is null."),
    _of("mint/air/fixed-identifiers", "air_rows",
        "Every event is a MINT with IDENTITY_MINTED, of an intake, by MINT_SOVEREIGN_IDENTITY in SOVEREIGN_MINT."),
    _of("mint/air/actor", "air_rows", "actor is system, ai or human, and never null."),
    _of("mint/air/unique-event-id", "unique_event_id", "No two rows share an air_event_id."),
    _of("mint/air/agrees-with-identity", "identities",
        "A MINT event has the intake and the time of its identity, and refers to it as company:<id>."),
    _of("mint/air/batch-inherited", "identities", "batch_id is that of the intake."),
    _of("laws/L1/mint-authority", "air_rows", "Every identity was minted by the mint."),
    _of("rebuild/cl.company_identity", "identities",
        "cl.company_identity matches the AIR log of the mint."),
)  # fmt: skip

INVARIANTS: tuple[Invariant, ...] = (*FLOW, *OURS)
