"""Small charts of text: a bar with the place of a threshold, and a line of columns over time. Pure."""

from collections.abc import Sequence

COLUMNS = "▁▂▃▄▅▆▇█"
BAR = 20  # characters, half of them up to the threshold


def bar(value: float | None, threshold: float) -> str:
    """A value against its threshold, which is in the middle: what is to the right of it is above."""
    half = BAR // 2
    filled = 0 if value is None else min(BAR, round(value / threshold * half))
    if value is not None and value > threshold:
        filled = max(filled, half + 1)
    cells = "█" * filled + "·" * (BAR - filled)
    return f"{cells[:half]}│{cells[half:]}"


def sparkline(values: Sequence[float]) -> str:
    """Values as columns, the highest one full; a dot is 0."""
    most = max(values, default=0)
    return "".join("·" if value <= 0 else COLUMNS[min(7, int(value / most * 8))] for value in values)


def percent(value: float | None) -> str:
    """A share as a person reads it; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.1%}" if value >= 0.001 or value == 0 else "<0.1%"
