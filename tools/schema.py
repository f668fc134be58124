"""Writes what reviews and tests compare with: the schema as one text, and the digest of each domain's release."""

from __future__ import annotations

import tomllib
from pathlib import Path

from recoup.domains import DOMAINS
from recoup.schema.declarations import digest
from recoup.schema.describe import write_schema
from recoup.settings import load

RELEASES = Path(__file__).parents[1] / "tests" / "database" / "data" / "releases.toml"
HEADER = "# What each release of a domain installs, as a digest. Written by `make schema`; released ones stay.\n"


def write_releases() -> None:
    kept = tomllib.loads(RELEASES.read_text(encoding="utf-8")) if RELEASES.exists() else {}
    for domain in DOMAINS:
        kept.setdefault(domain.name, {})[str(domain.release)] = digest(domain, DOMAINS)
    lines = [HEADER]
    for name, releases in kept.items():
        lines += [f"[{name}]", *(f'{release} = "{of}"' for release, of in releases.items()), ""]
    RELEASES.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write_schema(load(), DOMAINS)
    write_releases()
