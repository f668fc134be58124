"""Recording over HTTP, in one process of `recoup api`, compared with the library in this one."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from urllib.parse import urlsplit

from recoup.errors.recording import NewError
from recoup_bench.errors import ERRORS, new_error, recorded
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload, small

PROGRAM = "from recoup.cli.main import main; main()"


def serving(trial: Trial) -> Stage:
    """Errors of a round, each with the client that sends it."""
    with served(trial.ground) as client:
        while True:
            trial.ground.tidy(ERRORS)
            errors = [new_error(number) for number in range(trial.units)]
            yield [(error, client) for error in errors]


@contextlib.contextmanager
def served(ground: Ground) -> Iterator[http.client.HTTPConnection]:
    command = [sys.executable, "-c", PROGRAM, "--dsn", ground.ours.conninfo, "api", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            at = urlsplit(process.stderr.readline().split(" at ")[1].split("/v1/")[0])
            with contextlib.closing(http.client.HTTPConnection(at.hostname or "", at.port, timeout=60)) as client:
                yield client
        finally:
            process.terminate()


def over_http(trial: Trial) -> Timed:
    """A request for each batch, one after the other. Its body is not made by us, and not timed."""
    watch, units = Stopwatch(), 0
    for batch in trial.batches():
        body, client = _body([error for error, _ in batch]), batch[0][1]
        with watch:
            client.request("POST", "/v1/errors/bulk", body, {"Content-Type": "application/json"})
            answer = client.getresponse()
            read = answer.read()
        assert answer.status == 201, read
        units += len(batch)
    return Timed(units=units, seconds=watch.seconds, metrics=watch.metrics(units))


def by_library(trial: Trial) -> Timed:
    watch, units = Stopwatch(), 0
    for batch in trial.batches():
        with watch:
            units += len(recorded(trial.ground, batch))
    return Timed(units=units, seconds=watch.seconds, metrics=watch.metrics(units))


def _body(errors: Sequence[NewError]) -> bytes:
    rows = [{name: value for name, value in asdict(error).items() if value is not None} for error in errors]
    return json.dumps({"errors": rows}, default=str).encode()


RECORD = Workload(
    name="api-record-1000",
    description="record errors over HTTP, 1000 a request, compared with the library (as raw)",
    unit="errors", k=1000, stage=serving, ours=over_http, raw=by_library,
    aims=(Aim(metric="ratio_to_raw", least=0.5),), full=Size(batches=5), quick=small(batches=2),
)  # fmt: skip
