"""The funnel of Gate Zero as bars."""

from collections.abc import Mapping

from recoup.formatting import plural
from recoup.gate import Funnel

BAR = 40  # characters of the longest bar


def print_funnel(funnel: Funnel) -> None:
    """Counts as bars: companies by status, then failed attempts by reason."""
    print(f"\n{plural(funnel.came_in, 'company', 'companies')} imported")
    _print_bars(
        {
            "passed at first attempt": funnel.passed_at_first,
            "passed in a retry": funnel.recovered,
            "exhausted": funnel.exhausted,
            "waiting for a retry": funnel.waiting_retry,
            "waiting for first attempt": funnel.waiting_first,
        },
        of=funnel.came_in,
    )
    minted = plural(funnel.minted, "identity", "identities")
    print(f"{minted} minted, {plural(funnel.in_flight, 'company', 'companies')} being verified")
    if funnel.failures:
        print(f"\n{plural(sum(funnel.failures.values()), 'failed attempt')}")
        _print_bars(funnel.failures, of=max(funnel.failures.values()))


def _print_bars(counts: Mapping[str, int], *, of: int) -> None:
    width = max(map(len, counts))
    for name, count in counts.items():
        # At least a sliver for any count above zero.
        eighths = max(round(count / of * BAR * 8), 1) if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        print(f"  {name:<{width}}  {count:>7,}  {bar}")
