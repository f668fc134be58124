from __future__ import annotations

from dataclasses import dataclass

from cyclopts import App, Parameter

from domains.parcels.manifest import SHIPPING, Filter
from recoup.cli.verbs import Verbs

app = App(name="parcels", help_format="plaintext")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Which:
    city: str | None = None

    def filter(self) -> Filter:
        return Filter(city=self.city)


Verbs(subject=SHIPPING, command="parcels", which=Which(), ids="Ids.", units=lambda _, names: list(names)).into(app)
