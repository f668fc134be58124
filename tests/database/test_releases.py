"""A domain that changes what it installs has a new release: programs go by that number."""

from __future__ import annotations

import tomllib
from pathlib import Path

from recoup.domains import DOMAINS
from recoup.schema.declarations import digest

KEPT = Path(__file__).with_name("data") / "releases.toml"


def test_a_release_is_what_it_was() -> None:
    """Routines and declarations of each release have a digest. One that was given out never changes."""
    kept = tomllib.loads(KEPT.read_text(encoding="utf-8"))
    for domain in DOMAINS:
        assert kept[domain.name].get(str(domain.release)) == digest(domain, DOMAINS), (
            f"{domain.name} is not what release {domain.release} was. Given out? Raise `release` in its manifest."
            " Then, or while it is not given out, write the digest with `make schema`."
        )
