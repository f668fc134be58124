"""Where the actors run: their database, the process that forks and kills them, and other disturbances."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from recoup.database import embedded
from recoup.database.postmaster import came_true
from recoup.settings import Settings

CAST = {"hub": 2, "retrier": 2, "handler": 1, "verifier": 2, "operator": 1, "sweeper": 2, "promoter": 2}
PATIENCE_S = 60
FLIGHT_S = 0.3
IN_HAND = ("claimed", "opened", "handled")  # and the end of it is not written down
Act = Callable[[], None]


def in_flight(last: list[str]) -> bool:
    """Whether the last that somebody wrote down is work that was taken on."""
    return any(json.loads(line)["did"] in IN_HAND for line in last)


class Nursery:
    """The process that forks the actors, and ends them."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("actors.py")],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
        )  # fmt: skip

    def asked(self, **told: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"whoever forks the actors is gone: {Path(self._log.name).read_text()[-3000:]}"
        return json.loads(answer)

    def close(self) -> None:
        self._process.communicate(timeout=PATIENCE_S)
        self._log.close()


class WallClock:
    """The machine's clock, as everything sees it that runs with our shim before its C library."""

    def __init__(self, folder: Path) -> None:
        self._file, self._shim = folder / "clock", folder / "wall_clock.so"
        self._beside = timedelta(0)
        self._file.write_bytes(bytes(8))
        self._file.chmod(0o644)  # the server's user reads it too
        source = Path(__file__).with_name("wall_clock.c")
        subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", self._shim, source], check=True)

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._shim), "STRESS_CLOCK": str(self._file)}

    def on(self, by: timedelta) -> None:
        """Set it on, or back, for all at one moment."""
        self._beside += by
        with self._file.open("r+b", buffering=0) as file:
            file.write((self._beside // timedelta(microseconds=1) * 1000).to_bytes(8, sys.byteorder, signed=True))


@dataclass
class OwnServer:
    """A server that no other test uses: it may be ended at once, and run by another clock."""

    settings: Settings
    environment: dict[str, str]

    def start(self) -> embedded.Server:
        """The one that runs with our environment; else start it as the product does, and then once more with that."""
        found = embedded.start(self.settings)
        environment = Path(f"/proc/{found.pid}/environ").read_bytes().split(b"\0")
        ours = {os.fsencode(f"{name}={value}") for name, value in self.environment.items()}
        return found if ours <= set(environment) else self._again(found)

    def crash(self) -> None:
        """End it at once, as the machine's end would; then start it, which repairs it."""
        server = embedded.status(self.settings)
        assert server is not None
        self._end(server, signal.SIGQUIT)
        self.start()

    def _end(self, server: embedded.Server, how: signal.Signals) -> None:
        os.kill(server.pid, how)  # by its own pid file, just connected to
        assert came_true(lambda: not Path(f"/proc/{server.pid}").exists(), PATIENCE_S)

    def _again(self, server: embedded.Server) -> embedded.Server:
        program, owner = os.readlink(f"/proc/{server.pid}/exe"), server.data.stat()
        self._end(server, signal.SIGINT)
        around = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        with server.log.open("ab") as log:
            process = subprocess.Popen(
                [program, "-D", server.data], cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"LC_ALL": "C", "TZ": "UTC", **self.environment}, start_new_session=True, **around,
            )  # type: ignore[call-overload]  # fmt: skip
        # Reaped when it ends, as the product does it: its folder could not be started again before.
        threading.Thread(target=process.wait, daemon=True).start()
        assert came_true(lambda: embedded.status(self.settings) is not None, PATIENCE_S), server.log.read_text()[-2000:]
        found = embedded.status(self.settings)
        assert found is not None
        return found


@dataclass
class Stage:
    """A database with actors at it, and the hand that strikes them."""

    name: str
    seed: int
    folder: Path
    conninfo: str  # as the actors have it
    admin: str  # straight to the server
    simulated: bool
    environment: dict[str, str] = field(default_factory=dict)
    strikes: dict[str, tuple[Act, float]] = field(default_factory=dict)  # what else is done, and how often a second
    done: Counter[str] = field(default_factory=Counter)
    struck: list[str] = field(default_factory=list)  # lives that were killed
    seen: list[Any] = field(default_factory=list)  # sessions, when somebody did not stop

    def play(self, seconds: float) -> list[dict[str, Any]]:
        """Let them act for so long, and strike. Returns what they wrote down; each line also says whose it is."""
        chance = Random(f"strikes {self.seed}")
        with contextlib.closing(Nursery(self.environment, self.folder / "said")) as nursery:
            cast = {**CAST, **({"timekeeper": 1} if self.simulated else {})}
            alive = {
                (role, number): self._born(nursery, role, number, 0)
                for role, of in cast.items()
                for number in range(of)
            }
            lives = Counter(dict.fromkeys(alive, 0))
            until = time.monotonic() + seconds
            half = until - seconds / 2
            while time.monotonic() < until:
                time.sleep(chance.random() * 0.2)
                who = chance.choice(list(alive))
                if chance.random() < 0.7:
                    self._await_flight(who, lives[who])
                self._kill(nursery, who, lives[who], alive[who])
                lives[who] += 1
                alive[who] = self._born(nursery, *who, lives[who])
                if chance.random() < 0.5:
                    self._terminate(chance)
                for name, (strike, often) in self.strikes.items():
                    # Once in any case: a short run is one, too.
                    if chance.random() < often * 0.1 or (not self.done[name] and time.monotonic() > half):
                        strike()
                        self.done[name] += 1
            watch = threading.Timer(PATIENCE_S / 3, self._look, [list(alive.values())])
            watch.start()
            hows = nursery.asked(end=list(alive.values()), how=int(signal.SIGTERM), patience_s=PATIENCE_S)
            watch.cancel()
        stuck = [who for who, how in zip(alive, hows, strict=True) if how is None]
        assert not stuck, (
            f"told to stop, and went on: {stuck}; {self.seen}; {(self.folder / 'said').read_text()[-3000:]}"
        )
        return list(self._written())

    def _born(self, nursery: Nursery, role: str, number: int, life: int) -> int:
        self.done["lives"] += 1
        return int(
            nursery.asked(
                role=role, number=number, life=life, seed=self.seed, conninfo=self.conninfo, folder=str(self.folder)
            )
        )

    def _await_flight(self, who: tuple[str, int], life: int) -> None:
        """Whoever works under leases is best struck with something in hand; but nobody is waited for for long."""
        if who[0] in ("retrier", "handler", "verifier"):
            file = self.folder / f"{who[0]}-{who[1]}-{life}.jsonl"
            came_true(lambda: file.exists() and in_flight(file.read_text().splitlines()[-1:]), FLIGHT_S)

    def _kill(self, nursery: Nursery, who: tuple[str, int], life: int, pid: int) -> None:
        (how,) = nursery.asked(end=[pid], how=int(signal.SIGKILL), patience_s=PATIENCE_S)
        if how == -signal.SIGKILL:  # else it had ended by itself, and says why
            self.done["kills"] += 1
            self.struck.append(f"{who[0]}-{who[1]}-{life}")

    def _terminate(self, chance: Random) -> None:
        """The server ends somebody's connection."""
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.admin, autocommit=True) as admin:
            found = admin.execute(
                "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
                " and backend_type = 'client backend' order by pid"
            ).fetchall()
            if found:
                admin.execute("select pg_terminate_backend(%s)", chance.choice(found))
                self.done["connections ended"] += 1

    def _look(self, pids: list[int]) -> None:
        """Where those are who do not stop, and what the server does for them. Nobody has waited for them yet."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
        with psycopg.connect(self.admin, autocommit=True) as admin:
            self.seen = admin.execute(
                "select pid, application_name, state, wait_event_type, wait_event, now() - state_change,"
                " pg_blocking_pids(pid), left(query, 200) from pg_stat_activity where datname = current_database()"
                " and pid <> pg_backend_pid()"
            ).fetchall()

    def _written(self) -> Iterator[dict[str, Any]]:
        for file in sorted(self.folder.glob("*.jsonl")):
            for line in file.read_text().splitlines():
                yield {"by": file.stem, **json.loads(line)}
