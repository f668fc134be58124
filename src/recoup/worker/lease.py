"""Leases: for how long somebody may hold what nobody else gets meanwhile."""

from datetime import timedelta

from recoup.refusals import InputRefused


def check_lease(lease: timedelta | None, *, most: timedelta) -> None:
    """Refuse a lease that is no time, or longer than what a lost worker may keep others waiting."""
    if lease is not None and not timedelta(0) < lease <= most:
        raise InputRefused("lease_length", f"A lease of {lease}.", f"Give it some seconds, and at most {most}.")
