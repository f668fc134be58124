"""What holds of alerts, in addition to what follows from their declaration."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.alerts")

INVARIANTS: tuple[Invariant, ...] = (
    _of("alerts/as-logged", "rows", "Every alert is what its events say, its values, notices and end included."),
    _of("alerts/notices", "notices", "Every notice of an alert that was queued is a delivery; none has another cause."),
    _of("alerts/one-firing", "firing", "At most one alert of a rule fires for a key."),
    _of("alerts/threshold", "rows", "Every alert fired above its threshold, by a rule of its policy."),
)  # fmt: skip
