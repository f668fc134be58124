"""Many workers at once, killed at random and replaced."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

PATIENCE_S = 60


@dataclass
class Crowd:
    """The workers on one database, and the hand that strikes them."""

    conninfo: str
    chance: Random
    said: Path  # what workers say that ended by themselves
    kills: int = 0
    _alive: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    _born: int = 0

    def __enter__(self) -> Self:
        with self.said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("crowd.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True,
            )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Whoever still lives dies with the process that forked it.
        self._process.communicate(timeout=PATIENCE_S)

    def born(self, role: str, *given: str) -> None:
        self._born += 1
        pid = self._asked(role=role, given=given, name=f"{role} {self._born}", conninfo=self.conninfo)
        self._alive[int(pid)] = (role, given)

    def strike(self, *roles: str) -> None:
        """Kill somebody of these roles, whatever it does at this moment, and replace it."""
        pid = self.chance.choice([pid for pid, (role, _) in self._alive.items() if not roles or role in roles])
        role, given = self._alive.pop(pid)
        (how,) = self._asked(end=[pid], how=int(signal.SIGKILL), patience_s=PATIENCE_S)
        assert how == -signal.SIGKILL, f"{role} ended by itself ({how}): {self._told()}"
        self.kills += 1
        self.born(role, *given)

    def rest(self) -> None:
        """Everybody finishes what it does, and stops."""
        hows = self._asked(end=list(self._alive), how=int(signal.SIGTERM), patience_s=PATIENCE_S)
        ended = dict(zip(self._alive.values(), hows, strict=True))
        assert set(hows) == {0}, f"{ended}: {self._told()}"
        self._alive.clear()

    def _asked(self, **told: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"whoever forks the workers is gone: {self._told()}"
        return json.loads(answer)

    def _told(self) -> str:
        return self.said.read_text()[-3000:]
