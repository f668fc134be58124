"""The decision about a new error: one pure function over the policy.

The wanted disposition comes from, in this order: a person's request, the hub's rule for the code, the policy's rule for
the code, the severity if one is given, the table's default. Then the table's allowed list applies. Nothing here uses a
database or a clock.
"""

from datetime import timedelta
from typing import NamedTuple

from recoup.errors.policy import ErrorPolicy, ErrorTable
from recoup.errors.vocabulary import Category, Disposition, ErrorStatus, ParkReason, Severity, Tier, Want

STORED = {
    Want.RETRY: Disposition.RETRY,
    Want.PARK: Disposition.PARKED,
    Want.ARCHIVE: Disposition.ARCHIVE,
    Want.IGNORE: Disposition.IGNORE,
}
BORN = {
    Want.RETRY: ErrorStatus.RETRY_PENDING,
    Want.PARK: ErrorStatus.PARKED,
    Want.ARCHIVE: ErrorStatus.ACTIVE,
    Want.IGNORE: ErrorStatus.ACTIVE,
}
_WEIGHT = {Disposition.IGNORE: 0, Disposition.ARCHIVE: 0, Disposition.RETRY: 1, Disposition.PARKED: 2}


class Decision(NamedTuple):
    """What happens to an error, and who decided it."""

    disposition: Disposition
    status: ErrorStatus
    ttl_tier: Tier
    ttl: timedelta | None  # None: for ever
    max_retries: int
    retry_after: timedelta | None  # None: it is not retried automatically
    park_reason: ParkReason | None
    blocks: bool  # blocks its entity
    decided_by: str  # person, hub rule, code rule, severity, table
    clamped_from: Want | None  # what was wanted and the table does not allow
    overruled: Want | None = None  # what it asked for, where an open error of the same failure was stronger


class _Wanted(NamedTuple):
    want: Want
    by: str
    park_reason: ParkReason | None = None


def decide(
    policy: ErrorPolicy,
    error_table: str,
    *,
    severity: Severity | None,
    category: Category,
    code: str | None,
    person: Want | None = None,
) -> Decision:
    """Decide what happens to a new error of this table."""
    table = policy.table(error_table)
    wanted = _wanted(policy, table, severity=severity, category=category, code=code, person=person)
    want = held(table, wanted.want)
    max_retries = retries(policy, table, category, code)
    tier = _tier(policy, table, severity)
    return Decision(
        disposition=STORED[want],
        status=BORN[want],
        ttl_tier=tier,
        ttl=policy.ttl(tier),
        max_retries=max_retries,
        retry_after=delay(policy, category, 1) if want is Want.RETRY else None,
        # Kept also where parking is not allowed.
        park_reason=(wanted.park_reason or ParkReason.ESCALATION_REQUIRED)
        if Want.PARK in (want, wanted.want)
        else None,
        blocks=table.blocks and want in (Want.RETRY, Want.PARK),
        decided_by=wanted.by,
        clamped_from=wanted.want if want is not wanted.want else None,
    )


def never_weaker(new: Decision, before: Decision) -> Decision:
    """The decision about an error whose failure is open already: never weaker than the one before."""
    if not _WEIGHT[before.disposition]:
        return new
    longer = before if new.ttl is not None and (before.ttl is None or before.ttl > new.ttl) else new
    most = max(new.max_retries, before.max_retries)
    if _WEIGHT[new.disposition] < _WEIGHT[before.disposition]:
        own = next(want for want, stored in STORED.items() if stored is new.disposition)
        reason = before.park_reason if before.disposition is Disposition.PARKED else new.park_reason
        new = before._replace(
            decided_by=new.decided_by, clamped_from=new.clamped_from, overruled=own, park_reason=reason
        )
    return new._replace(ttl_tier=longer.ttl_tier, ttl=longer.ttl, max_retries=most)


def _wanted(
    policy: ErrorPolicy,
    table: ErrorTable,
    *,
    severity: Severity | None,
    category: Category,
    code: str | None,
    person: Want | None,
) -> _Wanted:
    if person is not None:
        return _Wanted(person, "person")
    if code is not None and code in table.park_codes:
        return _Wanted(Want.PARK, "hub rule", ParkReason(table.park_codes[code]))
    if code is not None and code in policy.park_codes:
        return _Wanted(Want.PARK, "code rule", ParkReason(policy.park_codes[code]))
    if severity is not None:
        wanted = _Wanted(Want(policy.severity[severity].disposition), "severity")
    else:
        wanted = _Wanted(Want(table.default), "table")
    # Also where only the clamp would make it a retry.
    if category is Category.STRUCTURAL and Want.RETRY in (wanted.want, held(table, wanted.want)):
        # No retry can help; a person may start the one that it has.
        return wanted._replace(want=Want.PARK, park_reason=ParkReason.NON_RETRYABLE_ERROR)
    return wanted


def held(table: ErrorTable, want: Want) -> Want:
    """The wanted disposition if the table allows it, else the one to fall back to."""
    if want in table.allowed:
        return want
    if want in (Want.IGNORE, Want.ARCHIVE):
        other = Want.ARCHIVE if want is Want.IGNORE else Want.IGNORE
        if other in table.allowed:
            return other
    return Want(table.default)


def retries(policy: ErrorPolicy, table: ErrorTable, category: Category, code: str | None) -> int:
    """How often an error is retried: by its category, or by the rules of its hub."""
    most = policy.retry[category].max_retries
    if category is Category.OPERATIONAL and table.operational_max_retries is not None:
        most = table.operational_max_retries
    return min(most, table.max_retries_by_code.get(code, most)) if code is not None else most


def delay(policy: ErrorPolicy, category: Category, retry: int) -> timedelta | None:
    """How long after the last failure the retry of this number comes; None: not automatically."""
    rule = policy.retry[category]
    match rule.backoff:
        case "exponential":
            return timedelta(seconds=min(rule.base_s**retry, rule.cap_s))
        case "linear":
            return timedelta(seconds=min(rule.base_s * retry, rule.cap_s))
        case _:
            return None


def _tier(policy: ErrorPolicy, table: ErrorTable, severity: Severity | None) -> Tier:
    if table.ttl == Tier.INFINITE:
        return Tier.INFINITE
    overriding = None if severity is None else policy.severity[severity].ttl
    return Tier(table.hub_ttl or overriding or table.ttl)
