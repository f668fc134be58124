"""The world as a process of its own, and the handle on it."""

import http.client
import json
import subprocess
import sys
from functools import cached_property
from typing import Any, ClassVar, Self

from recoup.refusals import InputRefused
from recoup_demo.world.companies import Company, companies
from recoup_demo.world.directory import ABOUT, DAY
from recoup_demo.world.present import DIRECTORY_ADDRESS
from recoup_demo.world.servers import Ports

ASK_TIMEOUT_S = 30.0
KNOCK_TIMEOUT_S = 3.0
CLOSE_PATIENCE_S = 10


class World:
    """A small internet on loopback. Within the ``with`` block it answers; its process ends with the block, or with us.

    ``answer_ms`` delays every answer. ``ports`` are those of DNS, sites and directory; free ones unless given.
    """

    program: ClassVar[tuple[str, ...]] = ("-m", "recoup_demo.world")

    def __init__(
        self, count: int = 2000, seed: int = 7, *, answer_ms: int = 0, ports: tuple[int, int, int] = (0, 0, 0)
    ) -> None:
        self.options = ["--count", str(count), "--seed", str(seed), "--answer-ms", str(answer_ms)]
        self.options += ["--ports", *map(str, ports)]
        self.count, self.seed = count, seed
        self._day = 0
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, *self.program, *self.options]
        # A group of its own: an interrupt at the terminal is for us, and its end of input tells it the rest.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline() or b"{}")
        if "ports" not in said:
            self.close()
            raise _refusal(said)
        self.ports = Ports(*said["ports"])
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process. A second call does nothing."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(CLOSE_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    @staticmethod
    def running_at(ports: tuple[int, int, int]) -> bool:
        """Whether a world answers at these ports."""
        try:
            return _ask("GET", ABOUT, port=ports[2], timeout_s=KNOCK_TIMEOUT_S).get("world") == "recoup"
        except (OSError, http.client.HTTPException, ValueError):
            return False

    @cached_property
    def companies(self) -> list[Company]:
        return companies(self.count, seed=self.seed)

    @property
    def policy(self) -> dict[str, Any]:
        """What the policy's section [gate.verification] says to verify against this world, and nothing else."""
        return self.ports.policy

    @property
    def day(self) -> int:
        return self._day

    @day.setter
    def day(self, day: int) -> None:
        """Begin a day. When this returns, every answer is of that day."""
        self._day = int(self.ask("PUT", f"{DAY}?to={day}")["day"])

    def ask(self, method: str, target: str) -> dict[str, Any]:
        """What the world says of itself."""
        if self.process is None:
            raise InputRefused("world_not_running", "The world does not run.", "Use it inside its with block.")
        return _ask(method, target, port=self.ports.directory, timeout_s=ASK_TIMEOUT_S)


def _refusal(said: dict[str, Any]) -> InputRefused:
    """Why the process did not serve, in its own words if it had any."""
    if "refused" in said:
        return InputRefused(said["refused"], said["happened"], said["next_step"], **said["facts"])
    return InputRefused(
        "world_not_started",
        "The world's process ended before it was ready.",
        "What went wrong is on standard error.",
    )


def _ask(method: str, target: str, *, port: int, timeout_s: float) -> dict[str, Any]:
    connection = http.client.HTTPConnection(DIRECTORY_ADDRESS, port, timeout=timeout_s)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        said = json.loads(answer.read())
    finally:
        connection.close()
    if answer.status != 200 or not isinstance(said, dict):
        raise ValueError(f"{method} {target}: {answer.status} {said}")
    return said
