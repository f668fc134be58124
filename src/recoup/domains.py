"""The domains of the product. A new one is a folder with a manifest, and a line here."""

from recoup.alerts.manifest import alerts
from recoup.deliveries.manifest import DELIVERIES
from recoup.domain import Domain
from recoup.errors.manifest import ERRORS
from recoup.gate.manifest import GATE
from recoup.mint.manifest import MINT
from recoup.partitions.manifest import PARTITIONS
from recoup.platform import PLATFORM
from recoup.recovery.manifest import RECOVERY
from recoup.runs.manifest import RUNS
from recoup.service.manifest import SERVICE

MEASURED: tuple[Domain, ...] = (PLATFORM, GATE, MINT, ERRORS, RUNS, DELIVERIES, RECOVERY, PARTITIONS, SERVICE)
DOMAINS: tuple[Domain, ...] = (*MEASURED, alerts(MEASURED))  # which judges what the others measure
