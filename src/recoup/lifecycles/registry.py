"""Every lifecycle of the product, in the order in which the docs show them."""

from __future__ import annotations

from recoup.clock import CLOCK
from recoup.gate.lifecycle import ATTEMPT, BATCH, INTAKE, RECOVERY
from recoup.lifecycles.declaration import Lifecycle

LIFECYCLES: tuple[Lifecycle, ...] = (BATCH, INTAKE, ATTEMPT, RECOVERY, CLOCK)
