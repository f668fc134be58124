"""SQL for the tiers of parked errors: what whoever parks, escalates or reviews an error by hand has to write."""

from __future__ import annotations

NOW, POLICY = "recoup.now()", "recoup.error_policy()"
_TIER = f"recoup.tier_when_parked(escalation_level, parked_since, {NOW}, {POLICY})"
# Parked in the first tier, or in the one where it was.
WHEN_PARKED = (
    f"parked_since = coalesce(parked_since, {NOW}), escalation_level = {_TIER}, escalated_at = {NOW},"
    f" escalated_to = recoup.owner_when_parked(error_table, escalation_level, escalated_to, parked_since, {NOW},"
    f" {POLICY}), escalation_reason = 'look', sla_due_at = {NOW} + recoup.sla_of({_TIER}, {POLICY}),"
    " sla_met_at = null, sla_breached_at = null"
)
# Born in the first tier.
BORN_PARKED = {
    "parked_since": NOW, "escalation_level": "1", "escalated_at": NOW, "escalated_to": "'dol-hub'",
    "escalation_reason": "'look'", "sla_due_at": f"{NOW} + interval '24 hours'",
}  # fmt: skip
# Whatever a person does with a parked error.
REVIEWED = (
    f"last_reviewed_at = {NOW}, sla_met_at = recoup.sla_met(status, sla_due_at, sla_met_at, sla_breached_at, {NOW})"
)


def escalated(level: int, to: str) -> str:
    """In another tier, whose clock begins."""
    return (
        f"escalation_level = {level}, escalated_at = {NOW}, escalated_to = '{to}',"
        f" parked_since = coalesce(parked_since, parked_at), sla_due_at = {NOW} + recoup.sla_of({level}, {POLICY}),"
        " sla_met_at = null, sla_breached_at = null"
    )
