"""The decision, held against the requirement's own tables: every table, severity, category and rule."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from product import PARTS
from recoup import policy
from recoup.errors import Category, Decision, Disposition, ErrorStatus, ParkReason, Severity, Tier, Want, decide, delay
from recoup.errors.policy import ErrorPolicy
from recoup.refusals import InputRefused

ERRORS = ErrorPolicy.shipped()
DAY = timedelta(days=1)

# As the requirement prints them. Table: TTL, default, allowed, blocks.
TABLES = {
    "outreach.dol_errors": ("MEDIUM", "RETRY", {"RETRY", "PARK", "ARCHIVE"}, True),
    "outreach.company_target_errors": ("MEDIUM", "RETRY", {"RETRY", "PARK", "ARCHIVE"}, True),
    "people.people_errors": ("MEDIUM", "RETRY", {"RETRY", "PARK", "ARCHIVE"}, True),
    "company.url_discovery_failures": ("LONG", "ARCHIVE", {"RETRY", "ARCHIVE"}, False),
    "public.shq_error_log": ("LONG", "IGNORE", {"IGNORE", "ARCHIVE"}, False),
    "public.shq_master_error_log": ("INFINITE", "IGNORE", {"IGNORE"}, False),
    "public.shq_orphan_errors": ("MEDIUM", "PARK", {"PARK", "ARCHIVE"}, False),
}
SEVERITIES = {
    "CRITICAL": ("PARK", None),
    "HIGH": ("RETRY", "SHORT"),
    "MEDIUM": ("RETRY", "MEDIUM"),
    "LOW": ("IGNORE", "LONG"),
}
TIERS = {"SHORT": 7 * DAY, "MEDIUM": 30 * DAY, "LONG": 90 * DAY, "INFINITE": None}
RETRIES = {"TRANSIENT": 5, "OPERATIONAL": 3, "STRUCTURAL": 1}
FIRST_RETRY = {"TRANSIENT": timedelta(seconds=2), "OPERATIONAL": timedelta(minutes=5), "STRUCTURAL": None}
# Overrides of the hubs: operational retries, a TTL that no severity changes.
MORE_RETRIES = {"outreach.dol_errors": 5}
HUB_TTL = {"outreach.company_target_errors", "people.people_errors"}
STORED = {"RETRY": "RETRY", "PARK": "PARKED", "ARCHIVE": "ARCHIVE", "IGNORE": "IGNORE"}
BORN = {"RETRY": "RETRY_PENDING", "PARK": "PARKED", "ARCHIVE": "ACTIVE", "IGNORE": "ACTIVE"}


def expected(table: str, severity: str | None, category: str) -> tuple[object, ...]:
    """What the printed tables say, read once more and independently."""
    ttl, default, allowed, blocks = TABLES[table]
    want = default if severity is None else SEVERITIES[severity][0]
    reason = "ESCALATION_REQUIRED" if want == "PARK" else None
    if want == "RETRY" and category == "STRUCTURAL":
        want, reason = "PARK", "NON_RETRYABLE_ERROR"
    asked_to_park = want == "PARK"
    if want not in allowed:
        nearest = {"IGNORE": "ARCHIVE", "ARCHIVE": "IGNORE"}.get(want)
        want = nearest if nearest in allowed else default
    if severity is not None and ttl != "INFINITE" and table not in HUB_TTL:
        ttl = SEVERITIES[severity][1] or ttl
    retries = MORE_RETRIES.get(table, 3) if category == "OPERATIONAL" else RETRIES[category]
    return (
        STORED[want],
        BORN[want],
        ttl,
        TIERS[ttl],
        blocks and want in ("RETRY", "PARK"),
        retries,
        FIRST_RETRY[category] if want == "RETRY" else None,
        (reason or "ESCALATION_REQUIRED") if want == "PARK" or asked_to_park else None,
    )


def said(decision: Decision) -> tuple[object, ...]:
    return (
        decision.disposition,
        decision.status,
        decision.ttl_tier,
        decision.ttl,
        decision.blocks,
        decision.max_retries,
        decision.retry_after,
        decision.park_reason,
    )


@pytest.mark.parametrize(
    ("table", "severity", "category"), list(product(TABLES, [None, *SEVERITIES], RETRIES)), ids=lambda v: str(v)
)
def test_every_table_severity_and_category(table: str, severity: str | None, category: str) -> None:
    """Disposition, status, TTL, blocking, retries and park reason are what the printed tables say."""
    decision = decide(
        ERRORS, table, severity=None if severity is None else Severity(severity), category=Category(category), code=None
    )
    assert said(decision) == expected(table, severity, category)
    assert decision.disposition.replace("PARKED", "PARK") in TABLES[table][2], "what is stored is allowed"


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("category", Category)
def test_low_never_blocks(table: str, category: Category) -> None:
    """In a blocking table it is stored as ARCHIVE, and the clamp is told."""
    decision = decide(ERRORS, table, severity=Severity.LOW, category=category, code=None)
    assert not decision.blocks
    assert decision.clamped_from == (None if "IGNORE" in TABLES[table][2] else Want.IGNORE)


def test_a_person_comes_before_every_rule() -> None:
    """And is held to what the table allows."""
    asked = {"severity": Severity.LOW, "category": Category.STRUCTURAL, "code": "MISSING_NAME"}
    decision = decide(ERRORS, "people.people_errors", **asked, person=Want.RETRY)  # type: ignore[arg-type]
    assert (decision.disposition, decision.decided_by) == (Disposition.RETRY, "person")
    clamped = decide(ERRORS, "public.shq_orphan_errors", **asked, person=Want.RETRY)  # type: ignore[arg-type]
    assert (clamped.disposition, clamped.clamped_from) == (Disposition.PARKED, Want.RETRY)


@pytest.mark.parametrize("severity", [None, *Severity])
@pytest.mark.parametrize("category", Category)
def test_a_missing_name_is_parked_as_data_quality(severity: Severity | None, category: Category) -> None:
    """Without a name no address can be made, whatever the severity."""
    decision = decide(ERRORS, "people.people_errors", severity=severity, category=category, code="MISSING_NAME")
    assert (decision.status, decision.park_reason) == (ErrorStatus.PARKED, ParkReason.DATA_QUALITY)
    assert decision.decided_by == "hub rule"
    elsewhere = decide(ERRORS, "outreach.dol_errors", severity=severity, category=category, code="MISSING_NAME")
    assert elsewhere.decided_by != "hub rule"


@pytest.mark.parametrize(("code", "reason"), list(ERRORS.park_codes.items()))
def test_codes_that_wait_for_a_person(code: str, reason: str) -> None:
    """A rule for a code comes before the severity, and says why."""
    decision = decide(ERRORS, "outreach.dol_errors", severity=Severity.HIGH, category=Category.TRANSIENT, code=code)
    assert (decision.disposition, decision.park_reason) == (Disposition.PARKED, ParkReason(reason))
    assert decision.decided_by == "code rule"
    # Where nothing may be parked, it is archived in its time.
    elsewhere = decide(
        ERRORS, "company.url_discovery_failures", severity=Severity.HIGH, category=Category.TRANSIENT, code=code
    )
    assert (elsewhere.disposition, elsewhere.clamped_from) == (Disposition.ARCHIVE, Want.PARK)


def test_the_third_failed_look_up_of_a_domain_parks() -> None:
    """Also where the category would allow five. The error itself was the first of them."""
    decision = decide(
        ERRORS, "outreach.company_target_errors", severity=None, category=Category.TRANSIENT, code="DOMAIN_NOT_FOUND"
    )
    assert decision.max_retries == 2


def test_the_delays_are_the_printed_ones() -> None:
    """2 to 32 seconds; 5, 10, 15 minutes; none."""
    seconds = [delay(ERRORS, Category.TRANSIENT, retry) for retry in range(1, 6)]
    assert seconds == [timedelta(seconds=s) for s in (2, 4, 8, 16, 32)]
    minutes = [delay(ERRORS, Category.OPERATIONAL, retry) for retry in range(1, 4)]
    assert minutes == [timedelta(minutes=m) for m in (5, 10, 15)]
    assert delay(ERRORS, Category.STRUCTURAL, 1) is None
    assert [ERRORS.retry[name].window_hours for name in (Category.TRANSIENT, Category.OPERATIONAL)] == [24, 168]


@pytest.mark.parametrize(
    "table",
    [
        "outreach.bit_errors", "outreach.blog_errors", "outreach.people_errors", "outreach.outreach_errors",
        "cl.cl_errors_archive", "company.pipeline_errors",
    ],
)  # fmt: skip
def test_dead_tables_are_refused_with_the_printed_advice(table: str) -> None:
    """Nothing is written there."""
    with pytest.raises(InputRefused) as caught:
        decide(ERRORS, table, severity=None, category=Category.OPERATIONAL, code=None)
    assert caught.value.code == "table_dead"
    assert "ERD" in caught.value.next_step or "Archive table" in caught.value.next_step


def test_an_unknown_table_is_refused_and_one_of_your_own_is_not() -> None:
    """A hub's own table is added in the policy."""
    with pytest.raises(InputRefused) as caught:
        decide(ERRORS, "billing.errors", severity=None, category=Category.OPERATIONAL, code=None)
    assert caught.value.code == "table_unknown"
    own = policy.read(
        '[errors.tables."billing.errors"]\nttl = "SHORT"\ndefault = "PARK"\nallowed = ["PARK"]\nblocks = false\n'
        'owner = "billing"\narchive_years = 1\n',
        PARTS,
    )[ErrorPolicy]
    decision = decide(own, "billing.errors", severity=Severity.LOW, category=Category.TRANSIENT, code=None)
    assert (decision.disposition, decision.ttl_tier) == (Disposition.PARKED, Tier.LONG)
    assert decision.clamped_from is Want.IGNORE


@pytest.mark.parametrize(
    ("document_", "key"),
    [
        ('[errors.severity.HIGH]\nttl = "INFINITE"', "errors.severity.HIGH.ttl"),
        ('[errors.tables."outreach.dol_errors"]\nhub_ttl = "INFINITE"', "errors.tables.outreach.dol_errors.hub_ttl"),
        ('[errors.tables."outreach.dol_errors"]\nallowed = ["RETRY"]', "errors.tables.outreach.dol_errors.allowed"),
        ('[errors.tables."outreach.dol_errors"]\ndefault = "IGNORE"', "errors.tables.outreach.dol_errors.default"),
    ],
    ids=["a severity for ever", "a hub rule for ever", "retries without an end", "a default that is not allowed"],
)
def test_a_policy_that_could_not_be_kept_is_refused(document_: str, key: str) -> None:
    with pytest.raises(InputRefused) as refused:
        policy.read(document_, PARTS)
    assert refused.value.facts["wrong"][0]["key"] == key  # type: ignore[index]
