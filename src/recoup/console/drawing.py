"""Small plots as SVG, drawn on the server: they need no script. Each says its numbers to those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from recoup.formatting import plural

SPARK_W, SPARK_H = 96, 22


def spark(values: Sequence[float], label: str) -> Markup:
    """A line of small bars, one for each value, the newest last."""
    top = max([*values, 1])
    step = SPARK_W / max(len(values), 1)
    bars = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            place * step, SPARK_H - SPARK_H * value / top, max(step - 1, 0.5), SPARK_H * value / top
        )
        for place, value in enumerate(values)
        if value
    )
    said = f"{label}: {', '.join(f'{value:g}' for value in values)}"
    return Markup('<svg class="spark" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        said, SPARK_W, SPARK_H, bars
    )


def meter(value: float | None, label: str, *, high: float = 1.0) -> Markup:
    """A share of a whole, as a bar."""
    part = 0.0 if value is None else max(0.0, min(1.0, value / high)) if high else 0.0
    return Markup(
        '<svg class="meter" role="img" aria-label="{}" viewBox="0 0 100 8" preserveAspectRatio="none">'
        '<rect class="whole" width="100" height="8" rx="2"/><rect class="part" width="{:.1f}" height="8" rx="2"/></svg>'
    ).format(label, 100 * part)


def funnel(steps: Sequence[tuple[str, int]]) -> Markup:
    """Steps of which each keeps a part of the one before."""
    top = max([count for _, count in steps] + [1])
    rows = Markup("").join(
        Markup(
            '<text x="0" y="{y}" class="name">{name}</text>'
            '<rect x="150" y="{top}" width="{width:.1f}" height="16" rx="2"/>'
            '<text x="{after:.1f}" y="{y}">{count:,}</text>'
        ).format(
            y=18 + 26 * place, top=6 + 26 * place, name=name, width=max(1.0, 330 * count / top),
            after=158 + 330 * count / top, count=count,
        )
        for place, (name, count) in enumerate(steps)
    )  # fmt: skip
    said = "; ".join(f"{name}: {count:,}" for name, count in steps)
    return Markup('<svg class="funnel" role="img" aria-label="{}" viewBox="0 0 560 {}">{}</svg>').format(
        said, 26 * len(steps) + 6, rows
    )


def reliability(bins: Sequence[tuple[float, float, int]]) -> Markup:
    """Predicted against observed success, one point for each bin: predicted, observed, how many."""
    most = max([count for *_, count in bins] + [1])
    points = Markup("").join(
        Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>').format(
            30 + 200 * predicted, 210 - 200 * observed, 2 + 6 * (count / most) ** 0.5,
            f"predicted {predicted:.2f}, observed {observed:.2f}, {plural(count, 'outcome')}",
        )
        for predicted, observed, count in bins
    )  # fmt: skip
    said = "; ".join(f"predicted {p:.2f}, observed {o:.2f}, {plural(n, 'outcome')}" for p, o, n in bins)
    return Markup(
        '<svg class="reliability" role="img" aria-label="{}" viewBox="0 0 260 240">'
        '<path class="axis" d="M30 10V210H230"/><path class="ideal" d="M30 210L230 10"/>{}'
        '<text x="130" y="232" class="name middle">predicted</text>'
        '<text x="12" y="110" class="name middle turned">observed</text></svg>'
    ).format(said or "no outcomes yet", points)
