"""``recoup bench`` as its user meets it: a real process."""

from __future__ import annotations

import json
import subprocess
import sys

from command_line import MAIN, clean_environment, refusal
from recoup_bench.run import WORKLOADS


def run(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", before + MAIN, "bench", *arguments],
        env=clean_environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_list_names_every_workload() -> None:
    """With unit, aim and what it does, in the order of running."""
    listed = json.loads(run("--list", "--json").stdout)
    assert [set(row) for row in listed] == [{"workload", "unit", "aim", "description"}] * len(WORKLOADS)
    assert [row["workload"] for row in listed] == [workload.name for workload in WORKLOADS]


def test_without_the_bench_the_command_says_where_it_is() -> None:
    """As with an installed package: refused in words, with nothing started."""
    done = run("--list", "--json", before="import sys; sys.modules['recoup_bench'] = None\n")
    assert done.returncode == 1
    said = refusal(done)
    assert said["refused"] == "bench_missing"
    assert "make bench" in str(said["next_step"])


def test_what_the_bench_itself_lacks_is_not_taken_for_its_absence() -> None:
    """A bench that is there and does not import is a fault, and shows itself as one."""
    done = run("--list", before="import sys; sys.modules['recoup_bench.machine'] = None\n")
    assert done.returncode == 1
    assert "bench_missing" not in done.stderr
    assert "recoup_bench.machine" in done.stderr
