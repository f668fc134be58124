"""What holds of deliveries, in addition to what follows from their declaration."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.deliveries")

INVARIANTS: tuple[Invariant, ...] = (
    _of("deliveries/as-logged", "rows", "Every delivery is what its events say, its tries and its end included."),
    _of("deliveries/tries", "rows", "No delivery was tried more often than the policy it was queued under allows."),
    _of("deliveries/given-up", "events",
        "A delivery became dead when no try was left, when its route was gone, or when a person cancelled it."),
    _of("deliveries/one-open", "open", "At most one delivery with the same dedup key is queued."),
    _of("deliveries/routes", "rows", "Every delivery was queued for a route of its policy."),
)  # fmt: skip
