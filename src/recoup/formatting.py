"""Numbers, durations and times as people read them. Pure."""

from datetime import UTC, datetime, timedelta

DAY_S, HOUR_S, MINUTE_S = 86_400, 3600, 60


def plural(count: int, noun: str, several: str | None = None) -> str:
    """A count with its noun: ``1 error``, ``1,204 errors``."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def duration(length: timedelta | float) -> str:
    """A length of time in its two largest units: ``42s``, ``2m 05s``, ``2h 14m``, ``1d 23h``."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 10 and not seconds.is_integer():
        return f"{seconds:.1f}s" if seconds >= 0.05 else "0s"
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{whole}s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S}m {whole % MINUTE_S:02}s"
    if whole < DAY_S:
        return f"{whole // HOUR_S}h {whole % HOUR_S // MINUTE_S:02}m"
    return f"{whole // DAY_S:,}d {whole % DAY_S // HOUR_S}h"


def timestamp(time: datetime, *, seconds: bool = True) -> str:
    """A time in UTC: ``2026-11-16 10:13:42Z``."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z" if seconds else f"{time.astimezone(UTC):%Y-%m-%d %H:%M}Z"
