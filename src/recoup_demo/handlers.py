"""The demo's own handlers: retries that succeed or fail by chance, and reach nothing outside of the demo."""

import hashlib

from recoup.errors.handlers import Function
from recoup.errors.retrying import Claimed
from recoup_demo.errors import TROUBLES

SUCCEEDS = 0.6


def handlers() -> dict[str, Function]:
    """A handler for each table that the demo fills."""
    return dict.fromkeys((trouble.table for trouble in TROUBLES), _retry)


def _retry(error: Claimed) -> None:
    """Succeed or fail by the key of the retry: the same in every demo."""
    if hashlib.sha256(error.key.encode()).digest()[0] >= SUCCEEDS * 256:
        raise ConnectionError(f"failed again: {error.error_message}")
