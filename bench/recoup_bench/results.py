"""Results as JSON, for a person to read and a program to compare."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from recoup.refusals import InputRefused
from recoup_bench.measure import Measured
from recoup_bench.run import WORKLOADS, Outcome, Results


def as_json(results: Results) -> dict[str, Any]:
    """A run with all its rounds. Figures are rounded to what they are worth."""
    return {
        "began_at": results.began_at.isoformat(),
        "quick": results.quick,
        "machine": asdict(results.machine),
        "workloads": [_outcome(outcome) for outcome in results.outcomes],
    }


def written(results: Results) -> str:
    """The JSON as text. Numbers of one list share a line: a round is not worth one of its own."""
    text = json.dumps(as_json(results), indent=2, default=_plain) + "\n"
    return re.sub(r"\[[\s\d.,]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", text)


def save(results: Results, folder: Path) -> Path:
    """Write a run to ``<date>-<workloads>.json``. A second run of a day does not overwrite the first."""
    stem = f"{results.began_at:%Y-%m-%d}-{_called(results)}{'-quick' if results.quick else ''}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = next(p for n in range(1, 1000) if not (p := folder / f"{stem}{f'-{n}' if n > 1 else ''}.json").exists())
        path.write_text(written(results), encoding="utf-8")
    except OSError as error:
        raise InputRefused(
            "folder_unwritable",
            f"The results cannot be written to {folder}: {error.strerror or error}.",
            "Name a folder that you can write.",
            folder=str(folder),
        ) from error
    return path


def _called(results: Results) -> str:
    """The set of workloads in a word or two."""
    names = [outcome.workload for outcome in results.outcomes]
    if len(names) == len(WORKLOADS):
        return "all"
    families = dict.fromkeys(re.sub(r"-\d+$", "", name) for name in names)  # moves-1, moves-100: moves
    return names[0] if len(names) == 1 else "-".join(families)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "workload": outcome.workload,
        "says": outcome.says,
        "unit": outcome.unit,
        "size": asdict(outcome.size),
        "goal": outcome.goal,
        "ratio": _ratio(outcome.ratio),
        "bound": asdict(outcome.bound) if outcome.bound is not None else None,
        "reached": outcome.reached,
        "variants": [_measured(measured) for measured in outcome.variants],
    }


def _measured(measured: Measured) -> dict[str, Any]:
    return {
        "variant": measured.variant,
        "per_second": {
            "median": round(measured.median, 1),
            "low": round(measured.low, 1),
            "high": round(measured.high, 1),
        },
        "spread": round(measured.spread, 3),
        "ratio": _ratio(measured.ratio),
        "ratio_by_round": _ratio(measured.by_round),
        "figures": {name: round(figure, 3) for name, figure in measured.figures.items()},
        "units": [timed.units for timed in measured.rounds],
        "seconds": [round(timed.seconds, 6) for timed in measured.rounds],
    }


def _ratio(ratio: float | None) -> float | None:
    return round(ratio, 3) if ratio is not None else None


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
