"""Other job queues, run beside ours in one session on one server.

They are no dependencies: an adapter imports its package when it is set up, and says what to install when it is missing.
A peer of your own is a factory, named as ``module:factory``, that returns something with these three methods.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Protocol, cast

from recoup.refusals import InputRefused

KNOWN: Mapping[str, str] = {
    "pgqueuer": "recoup_bench.peers.pgqueuer:PgQueuer",
    "procrastinate": "recoup_bench.peers.procrastinate:Procrastinate",
}


class Peer(Protocol):
    """A job queue under the bench."""

    name: str
    share: float  # of the units that ours does in a round: a slow one need not take minutes to show its speed

    def setup(self, conninfo: str) -> None:
        """Install what it needs into this database. Called once."""

    def run(self, units: int) -> float:
        """Enqueue so many units, then let each fail once and succeed at its retry. Returns the seconds of the work."""

    def close(self) -> None:
        """Give everything back."""


def find(named: str) -> Peer:
    """A peer by its short name, or as ``module:factory``."""
    module, _, factory = KNOWN.get(named, named).partition(":")
    if not factory:
        near = difflib.get_close_matches(named, KNOWN, n=1)
        raise InputRefused(
            "peer_unknown",
            f"There is no peer {named!r}.",
            f"Did you mean {near[0]}?" if near else f"Known are {', '.join(KNOWN)}; any other as module:factory.",
            peer=named,
        )
    made = getattr(required(module), factory, None)
    if made is None:
        raise InputRefused(
            "peer_unknown", f"{module} has no {factory}.", "Name a factory that returns a peer.", peer=named
        )
    return cast(Callable[[], Peer], made)()


def required(module: str, *, install: str | None = None) -> ModuleType:
    """Import what a peer needs, or say what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        missing = install or (error.name or module).partition(".")[0]
        raise InputRefused(
            "peer_missing",
            f"{module} cannot be imported: {error}.",
            f"Install it into this environment: pip install {missing}",
            module=module,
        ) from error
