"""What the demo shows of Gate Zero, and the local world of its companies."""

import importlib
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from recoup.lifecycles.declaration import Authority


def show() -> None:
    from recoup import gate
    from recoup.cli.context import acting, opened
    from recoup.cli.funnel import print_funnel
    from recoup.cli.gate import EVENT_COLUMNS
    from recoup.cli.output import command, print_rows
    from recoup_demo import gate as demo

    with opened(demo=True) as database:
        recovered = demo.a_recovered_company(database)
    with acting(Authority.READER, demo=True) as tx:
        print_funnel(gate.funnel(tx))
        if recovered is not None:
            (intake,) = gate.find_intakes(tx, [recovered])
            print(f"\n{intake.company_name} failed twice and passed at its last attempt (intake {recovered}):\n")
            print_rows(gate.history(tx, [recovered]), as_json=False, columns=EVENT_COLUMNS, empty="No events yet.")
    print("\nTry:")
    if recovered is not None:
        print(f"  {command(f'find {intake.company_domain}', demo=True)}")
    for text in ("gate batches", "gate list --status failed", "gate run", "db psql"):
        print(f"  {command(text, demo=True)}")


@contextmanager
def local_world() -> Iterator[None]:
    """Run the local world of the demo's companies, for as long as the block lasts."""
    refuse_without_the_world()
    from recoup import policy
    from recoup.cli.context import acting
    from recoup.gate.policy import GatePolicy
    from recoup.refusals import InputRefused
    from recoup_demo import gate as play
    from recoup_demo.world import World

    with acting(Authority.READER, demo=True) as tx:
        ports = _ports_of(policy.in_force(tx).policy[GatePolicy].verification.model_dump())
    if ports is None or World.running_at(ports):
        yield
        return
    with ExitStack() as stack:
        try:
            world = stack.enter_context(World(play.COMPANIES, play.SEED, ports=ports))
            world.day = 2  # companies that recover have recovered by now
        except InputRefused:
            if not World.running_at(ports):  # another process started it a moment before
                raise
        yield


def _ports_of(rules: Mapping[str, object]) -> tuple[int, int, int] | None:
    """The ports of the local world, from the demo's policy; None when it has another one."""
    found = re.search(r"127\.77\.0\.53:(\d+).*\{domain\}:(\d+)/.*//127\.77\.[0-9.]+:(\d+)/", str(rules), re.DOTALL)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def refuse_without_the_world() -> None:
    """Refuse before anything is dropped."""
    from recoup.refusals import InputRefused

    try:
        for part in ("recoup_demo.world", "recoup.gate.flow"):
            importlib.import_module(part)
    except ModuleNotFoundError as error:
        raise InputRefused(
            "gate_extra_missing",
            f"The demo verifies companies, and the package for that is not installed ({error.name}).",
            "Install it: pip install 'recoup[gate,parquet]'",
        ) from error
