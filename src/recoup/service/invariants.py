"""What holds of keys and sessions, in addition to what follows from the declaration."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.service")

INVARIANTS: tuple[Invariant, ...] = (
    _of("service/keys/as-logged", "keys", "Every key is what its events say: role, hub, expiry and end included."),
    _of("service/keys/rotation", "keys", "A key that replaces another has its name, its role and its hub."),
    _of("service/sessions", "sessions", "Every session has the name, the role and the hub of its key."),
)  # fmt: skip
