"""Every lifecycle of the product, in the order in which the docs show them."""

from __future__ import annotations

from recoup.clock import CLOCK
from recoup.errors.lifecycle import ARCHIVE_MONTH, ERROR, OPERATION, OPERATION_ITEM
from recoup.gate.lifecycle import ATTEMPT, BATCH, INTAKE, RECOVERY
from recoup.lifecycles.declaration import Lifecycle
from recoup.mint.lifecycle import IDENTITY
from recoup.pauses.lifecycle import PAUSE
from recoup.worker.lifecycle import WORKER

LIFECYCLES: tuple[Lifecycle, ...] = (
    BATCH, INTAKE, ATTEMPT, RECOVERY, IDENTITY, ERROR, ARCHIVE_MONTH, OPERATION, OPERATION_ITEM, PAUSE, WORKER, CLOCK,
)  # fmt: skip
