"""Fit the weight of each word for a category to the development set, and write it to categories.toml.

A logistic model of the words of a message and its code, fitted by gradient descent from zero: the same set gives the
same weights. Words that are rare, or that only one vendor uses, are omitted. Only the tuning part of the set is
read.
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from recoup.signatures.judging import words_of
from recoup.signatures.rules import CATEGORIES

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from signatures.grading import Judged, judged

ROOT = Path(__file__).parent.parent
RULES = ROOT / "src/recoup/signatures/categories.toml"
SET = ROOT / "tests/signatures/data/categories-tune.jsonl"

ERRORS_LEAST, VENDORS_LEAST = 3, 2
ROUNDS, RATE, SHRINK = 300, 0.5, 2.0
WEIGHT_LEAST = 0.3  # smaller weights are omitted

Weights = dict[str, list[float]]


def vocabulary(errors: Sequence[Judged]) -> list[str]:
    """The words that are common enough."""
    seen: Counter[str] = Counter()
    vendors: dict[str, set[str]] = defaultdict(set)
    for error in errors:
        for word in words(error):
            seen[word] += 1
            vendors[word].add(error.vendor)
    return sorted(word for word in seen if seen[word] >= ERRORS_LEAST and len(vendors[word]) >= VENDORS_LEAST)


def words(error: Judged) -> set[str]:
    """The words of an error, numbers and letters left out."""
    found = {*words_of(error.message), *(words_of(error.code) if error.code else ())}
    return {word for word in found if len(word) > 1 and not word.isdigit()}


def fit(errors: Sequence[Judged]) -> tuple[list[float], Weights]:
    """The weights of no word at all, and of each word; with steps that grow smaller the more was learnt of a weight."""
    known = vocabulary(errors)
    at = {word: place for place, word in enumerate(known)}
    rows = [sorted(at[word] for word in words(error) if word in at) for error in errors]
    truth = [CATEGORIES.index(error.category) for error in errors]
    three = range(len(CATEGORIES))
    first, first_seen = [0.0] * 3, [1e-6] * 3
    weights, seen = [[0.0] * 3 for _ in known], [[1e-6] * 3 for _ in known]
    for _ in range(ROUNDS):
        slope, first_slope = [[SHRINK * one for one in weight] for weight in weights], [0.0] * 3
        for row, right in zip(rows, truth, strict=True):
            scores = [first[kind] + sum(weights[word][kind] for word in row) for kind in three]
            likely = [math.exp(one - max(scores)) for one in scores]
            for kind in three:
                wrong = likely[kind] / sum(likely) - (kind == right)
                first_slope[kind] += wrong
                for word in row:
                    slope[word][kind] += wrong
        _step(first, first_slope, first_seen)
        for weight, of_weight, seen_of_weight in zip(weights, slope, seen, strict=True):
            _step(weight, of_weight, seen_of_weight)
    return _rounded(first), {word: _rounded(weights[place]) for word, place in at.items()}


def _step(weight: list[float], slope: list[float], seen: list[float]) -> None:
    for kind, one in enumerate(slope):
        seen[kind] += one * one
        weight[kind] -= RATE * one / math.sqrt(seen[kind])


def _rounded(weight: list[float]) -> list[float]:
    middle = sum(weight) / len(weight)
    return [round(one - middle, 1) + 0.0 for one in weight]


def section(first: list[float], weights: Weights) -> str:
    """The section of categories.toml."""
    kept = {word: weight for word, weight in weights.items() if max(map(abs, weight)) >= WEIGHT_LEAST}
    lines = [f"at_first = {first}", "", "[words.weights]"]
    lines += [f"{word if word.isalpha() and word.isascii() else repr(word)} = {kept[word]}" for word in sorted(kept)]
    return "\n".join(lines) + "\n"


def main() -> int:
    before, _, rest = RULES.read_text("utf-8").partition("[words]\n")
    _, mark, after = rest.partition("\n# What the words of a message say")
    RULES.write_text(f"{before}[words]\n{section(*fit(judged(SET)))}{mark}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
