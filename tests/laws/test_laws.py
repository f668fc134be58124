"""Every guard of the schema has a probe, every probe holds, and every probe notices when its guard is gone.

``make soak-guards`` shows the same from outside: it takes each guard away from a database of its own and runs
``test_the_law_holds`` against it.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable

import pytest

from laws.alert_probes import PROBES as PROBES_OF_ALERTS
from laws.backfill_probes import PROBES as PROBES_OF_BACKFILLS
from laws.catalogue import Guard, Law, guards, take_away
from laws.conftest import WITHOUT_VARIABLE
from laws.delivery_probes import PROBES as PROBES_OF_DELIVERIES
from laws.error_probes import PROBES as PROBES_OF_ERRORS
from laws.partition_probes import PROBES as PROBES_OF_PARTITIONS
from laws.probes import PROBES
from laws.probing import REPLICATED, OtherVoice, Probe, Silent
from laws.recovery_probes import PROBES as PROBES_OF_RECOVERY
from laws.requeue_probes import PROBES as PROBES_OF_REQUESTS
from laws.run_probes import PROBES as PROBES_OF_RUNS
from laws.service_probes import PROBES as PROBES_OF_SERVICE
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.settings import Settings

assert all(
    theirs is PROBES
    for theirs in (
        PROBES_OF_ERRORS,
        PROBES_OF_RUNS,
        PROBES_OF_DELIVERIES,
        PROBES_OF_ALERTS,
        PROBES_OF_SERVICE,
        PROBES_OF_RECOVERY,
        PROBES_OF_PARTITIONS,
        PROBES_OF_BACKFILLS,
        PROBES_OF_REQUESTS,
    )
)  # one list; each file adds to it
REPLICATING = [p for p in PROBES if p.law.event and not p.commits and p.law.name != REPLICATED]
Held = dict[Law, list[Guard]]
every_probe = pytest.mark.parametrize("probe", PROBES, ids=str)
intact = pytest.mark.skipif(WITHOUT_VARIABLE in os.environ, reason="a guard was taken away")


@pytest.fixture(scope="module")
def held(ground: Transaction) -> Held:
    """Who holds each law: read once, as every change of it is undone."""
    found: Held = {}
    for guard in guards(ground):
        for law in guard.laws:
            found.setdefault(law, []).append(guard)
    return found


@intact
def test_every_guard_has_a_probe(ground: Transaction) -> None:
    """Whoever adds a trigger, a check, a key or a reference also says how one sees that it holds."""
    probed = {probe.law for probe in PROBES}
    without = [f"{guard} has no probe{_on(law)}" for guard in guards(ground) for law in guard.laws if law not in probed]
    assert not without, "\n".join(["Add to tests/laws/probes.py:", *without])


def _on(law: Law) -> str:
    return f" on {law.event}" if law.event else ""


@intact
def test_every_probe_has_its_guard(ground: Transaction) -> None:
    """Exactly one: a second one would make the first look needless, and none means that a law lost its holder."""
    held = Counter(law for guard in guards(ground) for law in guard.laws)
    wrong = [
        f"{law}: {held[law] or 'no'} guards ({_promise(law)})" for law in sorted({p.law for p in PROBES} - _once(held))
    ]
    assert not wrong, "\n".join(["Who holds these now?", *wrong])


def _once(held: Counter[Law]) -> set[Law]:
    return {law for law, times in held.items() if times == 1}


def _promise(law: Law) -> str:
    return " ".join(probe.description for probe in PROBES if probe.law == law)


@every_probe
def test_the_law_holds(ground: Transaction, probe: Probe) -> None:
    """With every guard in place, the probed one answers, and no other."""
    if probe.commits:
        probe.run(ground)
        return
    with ground.transaction(force_rollback=True):
        probe.run(ground)


@intact
@pytest.mark.parametrize("table", sorted({probe.law.table for probe in REPLICATING}))
def test_the_laws_hold_for_a_session_that_replicates(ground: Transaction, table: str) -> None:
    """session_replication_role switches ordinary triggers off. Ours are ALWAYS, also without what refuses it all."""
    wrong = []
    with ground.transaction(force_rollback=True):
        ground.execute(f"drop function {REPLICATED} cascade")
        ground.execute("set local session_replication_role = replica")
        for probe in (one for one in REPLICATING if one.law.table == table):
            try:
                with ground.transaction(force_rollback=True):
                    probe.run(ground)
            except (Silent, OtherVoice) as answer:
                wrong.append(f"{probe}: {answer!r}")
    assert not wrong, "\n".join(wrong)


@intact
@pytest.mark.parametrize("probe", [p for p in PROBES if not p.commits], ids=str)
def test_the_probe_notices_when_its_guard_is_gone(ground: Transaction, held: Held, probe: Probe) -> None:
    """Without the guard the statement goes through, or the effect is missing: nothing else stands in for it."""
    with ground.transaction(force_rollback=True):
        take_away(ground, _holders(held, probe))
        with pytest.raises(Silent):
            probe.run(ground)


@intact
@pytest.mark.parametrize("probe", [p for p in PROBES if p.commits], ids=str)
def test_the_probe_that_commits_notices_when_its_guard_is_gone(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, held: Held, probe: Probe
) -> None:
    """The same in a database made for it, from which the guard is really gone."""
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        take_away(connection, _holders(held, probe))
        with pytest.raises(Silent):
            probe.run(connection)


def _holders(held: Held, probe: Probe) -> list[Guard]:
    assert probe.law in held, f"Nothing holds {probe.law}: {probe.description}"
    return held[probe.law]
