"""What the documents promise of minting, line by line, and what we promise of identities and their log besides."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.mint")

# The mint worker's flow in cl.gate_zero_air, section 8, and what cl.gate_zero_recovery says of the new intake.
FLOW: tuple[Invariant, ...] = (
    _of("gate_zero_air/8/each-auth-is-minted", "acknowledged",
        "Each AUTH that the mint has acknowledged has its identity.",
        "gate_zero_air/8/poll-for-auth-events"),
    _of("gate_zero_air/8/minted-by-authorization", "identities",
        "Every identity is of an AUTHORIZED intake, of which AIR said AUTH, or of the origin that it re-entered from.",
        "gate_zero_air/8/mint-in-company-identity"),
    _of("gate_zero_air/8/minted-after-auth", "identities", "Nothing is minted before its AUTH."),
    _of("gate_zero_air/8/data-stays", "identities", "An identity has the name and the domain of its intake.",
        "gate_zero_air/8/read-intake"),
    _of("gate_zero_air/8/emit-mint", "identities",
        "Every identity has one MINT in the AIR log of the mint, and every MINT one identity."),
    _of("gate_zero_recovery/9/identity-on-new-intake", "identities",
        "No identity is minted for an intake whose retry passed: it belongs to the new one."),
)  # fmt: skip

OURS: tuple[Invariant, ...] = (
    _of("mint/identity/one-per-lineage", "identities",
        "An intake and the one that it re-entered as have one identity together."),
    _of("mint/air/columns", "columns",
        "The eleven columns come first, with the names, types, nullability and order of Gate Zero's AIR."),
    _of("mint/air/not-null", "air_rows", "No required column is null."),
    _of("mint/air/fixed-identifiers", "air_rows",
        "Every event is a MINT with IDENTITY_MINTED, of an intake, by MINT_SOVEREIGN_IDENTITY in SOVEREIGN_MINT."),
    _of("mint/air/actor", "air_rows", "actor is system, ai or human, and never null."),
    _of("mint/air/unique-event-id", "unique_event_id", "No two rows share an air_event_id."),
    _of("mint/air/agrees-with-identity", "identities",
        "A MINT has the intake, the time and, as company:<id>, the name of its identity."),
    _of("mint/air/batch-inherited", "identities", "batch_id is that of the intake."),
    _of("laws/L1/mint-authority", "air_rows", "Every identity was minted by the mint."),
    _of("rebuild/cl.company_identity", "identities",
        "What the AIR log of the mint says of an identity is what stands in cl.company_identity."),
)  # fmt: skip

INVARIANTS: tuple[Invariant, ...] = (*FLOW, *OURS)
