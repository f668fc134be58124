"""The funnel of Gate Zero as bars."""

from collections.abc import Mapping

from recoup.gate import Funnel

BAR = 40  # characters of the longest bar


def print_funnel(funnel: Funnel) -> None:
    """Counts as bars: where companies stand, then why attempts failed."""
    print(f"\n{funnel.came_in:,} {'company' if funnel.came_in == 1 else 'companies'} came in")
    _print_bars(
        {
            "passed at first": funnel.passed_at_first,
            "recovered by a retry": funnel.recovered,
            "exhausted": funnel.exhausted,
            "wait for a retry": funnel.waiting_retry,
            "wait for their first": funnel.waiting_first,
        },
        of=funnel.came_in,
    )
    print(f"{funnel.minted:,} identities minted, {funnel.in_flight:,} companies being looked at")
    if funnel.failures:
        print(f"\n{sum(funnel.failures.values()):,} attempts failed")
        _print_bars(funnel.failures, of=max(funnel.failures.values()))


def _print_bars(counts: Mapping[str, int], *, of: int) -> None:
    width = max(map(len, counts))
    for name, count in counts.items():
        # At least a sliver for what is there at all.
        eighths = max(round(count / of * BAR * 8), 1) if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        print(f"  {name:<{width}}  {count:>7,}  {bar}")
