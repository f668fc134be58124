"""The handle on a watched world, and its directory as a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from recoup_demo.world import Company, World, companies, files
from recoup_demo.world.directory import at_home
from world.counting import SEEN
from world.odd import Odd
from world.tricks import ENTRIES

TEXT = pa.string()
DIRECTORY = pa.schema({"domain": TEXT, "name": TEXT, "found": pa.bool_(), "states": pa.list_(TEXT), "scope": TEXT})


class WatchedWorld(World):
    """A world that counts what comes in, speaks DNS over TCP, and has a canary at 127.0.0.1.

    If it is ``hostile``, one of each odd kind takes the place of a good company in every 200. With a ``key`` the
    directory answers 401 to requests without it.
    """

    program = (str(Path(__file__).with_name("serving.py")),)

    def __init__(
        self, count: int = 2000, seed: int = 7, *, hostile: bool = False, answer_ms: int = 0, key: str | None = None
    ) -> None:
        super().__init__(count, seed, answer_ms=answer_ms)
        self.options += ["--hostile"] if hostile else []
        self.options += ["--key", key] if key is not None else []
        self._rare = Odd if hostile else ()

    @cached_property
    def companies(self) -> list[Company]:
        return companies(self.count, seed=self.seed, rare=self._rare)

    def seen(self) -> dict[str, Any]:
        """What came in since the start."""
        return self.ask("GET", SEEN)

    def write_directory(self, path: Path) -> None:
        """The directory as a file, as of this day: only companies with an entry."""
        rows = directory_rows(self.companies, self.day)
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows, schema=DIRECTORY), path)
            return
        if path.suffix == ".csv":
            rows = [row | {"found": "true", "states": ";".join(row["states"])} for row in rows]
        files.write_rows(path, rows, DIRECTORY.names)


def directory_rows(companies: Sequence[Company], day: int) -> list[files.Row]:
    """What the directory knows on this day. Whether the service would answer is another matter."""
    return [
        {"domain": c.domain, "name": c.name, "found": True, "states": list(entry.states), "scope": entry.scope}
        for c in companies
        if (entry := ENTRIES.get(c.kind_on(day), at_home)(c)) is not None
    ]
