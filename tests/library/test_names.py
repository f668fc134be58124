"""What the library exports: every name is there, is shown, and has its words; and importing it is quick and silent."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

import recoup
from recoup.client import Alerts, Client, Deliveries, Errors, Gate, Partitions, Policies, Recovery, Runs, Subscription
from recoup.client.aio import AsyncAlerts, AsyncDeliveries, AsyncErrors, AsyncGate, AsyncRecovery

PACKAGES = (
    "recoup",
    "recoup.alerts",
    "recoup.client",
    "recoup.deliveries",
    "recoup.errors",
    "recoup.gate",
    "recoup.ledger",
    "recoup.partitions",
    "recoup.policy",
    "recoup.audit",
    "recoup.runs",
)
NAMES = {
    "Actor", "Authority", "Category", "Claimed", "Cleared", "Client", "ErrorStatus", "Failed", "NewError", "ParkReason",
    "Recorded", "Refusal", "Severity", "Succeeded", "Want", "connect", "failures", "run",
}  # fmt: skip
VERBS = {
    "archive", "assign", "blocked_locking", "blocking", "claim", "cleared", "escalate", "finish", "groups",
    "is_blocked", "list", "metrics", "park", "processed", "record", "report", "resolve", "review", "show", "stats",
    "unpark",
}  # fmt: skip
RECOVERY = {
    "actions", "approve", "breakers", "calibration", "claim", "close_breaker", "config", "configs", "evaluate",
    "finish", "incidents", "ingest", "list", "matches", "open_breaker", "open_scope", "propose", "recovered", "reject",
    "revoke_scope", "rollback", "rules", "scopes", "set_config", "show", "task_cancel", "task_done", "tasks",
    "test_rules",
}  # fmt: skip
TWINS = (
    (AsyncErrors, Errors), (AsyncGate, Gate), (AsyncDeliveries, Deliveries), (AsyncRecovery, Recovery),
    (AsyncAlerts, Alerts),
)  # fmt: skip
HEAVY = "import sys, recoup; print(sorted({'psycopg', 'pydantic', 'structlog', 'recoup.errors'} & {*sys.modules}))"


def verbs(kind: type) -> dict[str, object]:
    """Its own, and those of the parts of the library that it is made of."""
    parts = [one for one in kind.__mro__ if one is kind or one.__module__.startswith("recoup.client.")]
    return {
        name: value for part in parts for name, value in vars(part).items()
        if inspect.isfunction(value) and name[0] != "_"
    }  # fmt: skip


def test_the_names_are_these() -> None:
    """Users import them: one that goes is missed, one that comes is written here."""
    assert set(recoup.__all__) >= NAMES
    assert set(recoup.__all__) - NAMES <= {"Worker"}
    assert verbs(Errors).keys() == VERBS
    assert verbs(Recovery).keys() == RECOVERY


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_is_there_and_is_shown(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert {*module.__all__} <= {*dir(module)}, "for tab completion"


@pytest.mark.parametrize(
    "kind",
    [
        Alerts,
        Client,
        Deliveries,
        Errors,
        Gate,
        Partitions,
        Policies,
        Recovery,
        Runs,
        Subscription,
        AsyncAlerts,
        AsyncDeliveries,
        AsyncErrors,
        AsyncGate,
        AsyncRecovery,
    ],
)
def test_every_verb_says_what_it_does_and_takes_the_callers_transaction(kind: type) -> None:
    for name, verb in verbs(kind).items():
        assert inspect.getdoc(verb), name
        if kind is not Client:
            assert "tx" in inspect.signature(verb).parameters, name  # type: ignore[arg-type]


def test_an_async_twin_takes_what_its_verb_takes() -> None:
    for twins, kind in TWINS:
        for name, twin in verbs(twins).items():
            assert inspect.iscoroutinefunction(twin), name
            assert inspect.signature(twin) == inspect.signature(getattr(kind, name)), name


def test_arguments_of_failures_are_explained() -> None:
    words = inspect.getdoc(recoup.failures) or ""
    for name in inspect.signature(recoup.failures).parameters:
        assert f"{name}:" in words or f"{name}," in words, name


def test_importing_it_is_quick_and_prints_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        recoup.nothing  # noqa: B018
