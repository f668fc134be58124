"""What the routines of deliveries refuse."""

from recoup.refusals import declare

LAWS = {
    "RC110": ("route_unknown", "a delivery goes by a route of the active policy"),
    "RC111": ("delivery_birth", "a delivery is queued now, untried, under the active policy"),
    "RC112": ("route_full", "a limited number of deliveries waits for one route"),
    "RC113": ("delivery_move", "tries, times and outcomes of a delivery are what its moves make them"),
    "RC114": ("route_secret", "no address and no secret of a route is in the policy"),
}
CONSTRAINTS = {
    "delivery_open": (
        "delivery_open",
        "A delivery with this dedup key is queued already.",
        "Wait until it is delivered, or cancel it: recoup deliveries list --status queued",
    ),
}
declare(LAWS, CONSTRAINTS)
