"""Results: as a table for a person, and as JSON for a program to compare."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from recoup.refusals import InputRefused
from recoup_bench.measure import OURS, RATIO, RAW, Measured
from recoup_bench.workload import Aim, Size, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one workload."""

    workload: Workload
    size: Size
    variants: tuple[Measured, ...]  # ours first

    @property
    def ratio(self) -> float | None:
        """Ratio of ours to raw."""
        return self.variants[0].ratio

    @property
    def reached(self) -> bool | None:
        """Whether all aims are reached; None without aims, or with nothing to compare with."""
        judged = [aim.reached(value) for aim, value in self.aimed.items() if value is not None]
        return all(judged) if judged else None

    @property
    def aimed(self) -> dict[Aim, float | None]:
        """The value of each aim; None: the variant it is compared with did not run."""
        ours, *others = self.variants
        times = {f"times_{other.variant}": other.ours_to_it for other in others if other.ours_to_it is not None}
        found = {**ours.metrics, **times, "per_second": ours.median, RATIO: ours.ratio}
        return {aim: found.get(aim.metric) for aim in self.workload.aims}


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """One run of the bench, as it is stored."""

    began_at: datetime
    quick: bool
    complete: bool  # all workloads
    machine: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """The table of one workload."""
    against = RAW if any(m.variant == RAW for m in outcome.variants) else OURS
    with_peers = any(m.ours_to_it is not None for m in outcome.variants)
    metrics = dict.fromkeys(name for m in outcome.variants for name in m.metrics)
    return [
        {
            "variant": m.variant,
            f"{outcome.workload.unit}_per_second": f"{m.median:,.0f}",
            "spread": f"{m.spread:.0%}",
            f"ratio_to_{against}": f"{m.ratio:.2f}" if m.ratio is not None else None,
            "ratio_by_round": f"{m.by_round:.2f}" if m.by_round is not None else None,
            **({"ours_to_it": f"{m.ours_to_it:.2f}" if m.ours_to_it is not None else None} if with_peers else {}),
            **{name: _shown(m.metrics[name]) if name in m.metrics else None for name in metrics},
        }
        for m in outcome.variants
    ]


def _shown(metric: float) -> str:
    return f"{metric:.3g}" if metric < 1000 else f"{metric:,.0f}"


def as_json(results: Results) -> dict[str, Any]:
    """A run with all its rounds. Numbers are rounded to their precision."""
    return {
        "began_at": results.began_at.isoformat(),
        "quick": results.quick,
        "machine": results.machine,
        "workloads": [_outcome(outcome) for outcome in results.outcomes],
    }


def written(results: Results) -> str:
    """The JSON as text. Numbers of one list share a line: a line per round would be too long."""
    text = json.dumps(as_json(results), indent=2) + "\n"
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
            "Name a folder that you can write to.",
            folder=str(folder),
        ) from error
    return path


def _called(results: Results) -> str:
    """A short name for the set of workloads."""
    names = [outcome.workload.name for outcome in results.outcomes]
    if results.complete:
        return "all"
    families = dict.fromkeys(re.sub(r"-\d+$", "", name) for name in names)  # moves-1, moves-100: moves
    return names[0] if len(names) == 1 else "-".join(families)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    workload = outcome.workload
    return {
        "workload": workload.name,
        "description": workload.description,
        "unit": workload.unit,
        "size": asdict(outcome.size),
        "ratio": _rounded(outcome.ratio),
        "aims": [{**asdict(aim), "value": _rounded(value)} for aim, value in outcome.aimed.items()],
        "reached": outcome.reached,
        "variants": [_measured(measured) for measured in outcome.variants],
    }


def _measured(measured: Measured) -> dict[str, Any]:
    return {
        "variant": measured.variant,
        "per_second": {name: round(getattr(measured, name), 1) for name in ("median", "low", "high")},
        "spread": round(measured.spread, 3),
        "ratio": _rounded(measured.ratio),
        "ratio_by_round": _rounded(measured.by_round),
        "ours_to_it": _rounded(measured.ours_to_it),
        "metrics": {name: round(metric, 3) for name, metric in measured.metrics.items()},
        "units": [timed.units for timed in measured.rounds],
        "seconds": [round(timed.seconds, 6) for timed in measured.rounds],
    }


def _rounded(ratio: float | None) -> float | None:
    return round(ratio, 3) if ratio is not None else None
