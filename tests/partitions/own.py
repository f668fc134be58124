"""Extractors and validators of a user, for tests. They behave as the options, or files in a folder, tell them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from recoup.partitions.interfaces import Extraction, Finding, Validation, Verdict, Writer

ROWS = 3


def extract(extraction: Extraction, writer: Writer) -> None:
    """Some rows of the day and the customer; or what its options ask for."""
    options = extraction.options
    customer = extraction.partition.customer_id
    _note(options, f"extract {extraction.partition} {extraction.run_id}")
    _misbehave(options, "extract", customer)
    writer.rows(
        {"n": n, "customer": customer, "from": extraction.window_start, "until": extraction.window_end}
        for n in range(int(options.get("rows", ROWS)))
    )
    if customer in options.get("large", ()):
        writer.rows({"text": os.urandom(1000).hex()} for _ in range(3000))


def validate(validation: Validation) -> Verdict:
    """Accepts what has rows; or what its options ask for."""
    options = validation.options
    customer = validation.partition.customer_id
    _note(options, f"validate {validation.partition} {validation.run_id}")
    _misbehave(options, "validate", customer)
    if customer in options.get("rejects", ()):
        return Verdict(
            accepted=False, reason="TOO_FEW", rule="rows", message="connection timed out while counting",
            findings=(Finding(rule="rows", count=1, message="too few"),),
        )  # fmt: skip
    if customer in options.get("changes", ()):
        path = validation.files[0]
        path.chmod(0o644)
        path.write_text("changed\n")
    return Verdict(accepted=validation.rows > 0, reason=None if validation.rows else "EMPTY")


validate.version = "7"  # type: ignore[attr-defined]


def _note(options: object, line: str) -> None:
    """One line of a file that all processes share: who did what."""
    assert isinstance(options, dict)
    if "notes" in options:
        fd = os.open(options["notes"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, f"{os.getpid()} {line}\n".encode())
        os.close(fd)


def _misbehave(options: object, what: str, customer: str) -> None:
    assert isinstance(options, dict)
    if customer in options.get("raises", ()):
        raise ConnectionError("the source does not answer: password=hunter2secret")
    if customer in options.get("dies", ()):
        os.kill(os.getpid(), signal.SIGKILL)
    if customer in options.get("hangs", ()):
        until = Path(options["until"])
        while not until.exists():
            time.sleep(0.02)
    if "takes_s" in options:
        time.sleep(options["takes_s"])
