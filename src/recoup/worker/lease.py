"""Leases: how long a claim keeps its units from others."""

from datetime import timedelta

from recoup.refusals import InputRefused


def check_lease(lease: timedelta | None, *, most: timedelta) -> None:
    """Refuse a lease that is not positive, or longer than a lost worker may block others."""
    if lease is not None and not timedelta(0) < lease <= most:
        raise InputRefused(
            "lease_length", f"A lease of {lease} is not allowed.", f"Give more than nothing, and at most {most}."
        )
