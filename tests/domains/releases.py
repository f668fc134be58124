"""Two releases of parcels: the second records a reason for every step, and has a column and a move more."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from domains.parcels.manifest import OPERATOR, PARCEL, PARCELS
from recoup.domain import Domain, SqlFile
from recoup.domains import DOMAINS
from recoup.lifecycles import Move

LATER = "parcels_later"
ADDED = "alter table parcels.parcel add column weight integer;\n"


def extended(release: int, folder: Path) -> tuple[Domain, ...]:
    """The product with parcels of that release. The second lies in a package of its own, below this folder."""
    return (*DOMAINS, PARCELS if release == 1 else _second(folder))


def _second(folder: Path) -> Domain:
    package = folder / LATER
    if not package.exists():
        recorder, *_ = PARCELS.routines
        for name, text in (
            ("__init__.py", ""),
            ("routines/recorder.sql", recorder.text.replace("''''), recoup.acting_id()", "''''), ''second release''")),
            *((file.path, file.text) for file in PARCELS.migrations),
            ("migrations/0901_weight.sql", ADDED),
        ):
            path = package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    # Under the name that the first release gave it: it is the same file, changed.
    changed = _Renamed(LATER, "routines/recorder.sql")
    found = Move("LOST", "WAITING", OPERATOR, "it was found")
    life = dataclasses.replace(PARCEL, moves=(*PARCEL.moves, found))
    return dataclasses.replace(
        PARCELS, release=2, package=LATER, routines=(changed, *PARCELS.routines[1:]), lifecycles=(life,)
    )


class _Renamed(SqlFile):
    @property
    def name(self) -> str:
        return PARCELS.routines[0].name
