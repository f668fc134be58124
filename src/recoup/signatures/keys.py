"""The signature of a message: which failure it tells of, whatever the values in it. A key, and how it came about."""

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

from recoup.signatures import v1, v2

VERSION = 2

Told = list[tuple[str, str]]
# What remains of a message under each version. One that was released stays as it is: its keys are stored.
_VERSIONS: dict[int, Callable[[str, Told | None], str]] = {1: v1.remaining, 2: v2.remaining}


class Signature(NamedTuple):
    """Which failure a message tells of."""

    key: str
    version: int
    message: str
    code: str | None = None

    @property
    def remained(self) -> str:
        """What counts of the message."""
        return _VERSIONS[self.version](self.message, None)

    @property
    def masked(self) -> tuple[tuple[str, str], ...]:
        """What does not count, and why: kind and text."""
        told: Told = []
        _VERSIONS[self.version](self.message, told)
        return tuple(told)

    def explain(self) -> str:
        """What counts, and what was masked."""
        lines = [f"{self.key} (version {self.version})"]
        if self.code is not None:
            lines.append(f"  code      {self.code}")
        lines.append(f"  counts    {self.remained}")
        kinds: dict[str, list[str]] = {}
        for kind, text in self.masked:
            kinds.setdefault(kind, []).append(text if len(text) <= 60 else f"{text[:59]}…")
        for kind, texts in kinds.items():
            shown = ", ".join(dict.fromkeys(texts[:8])) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")
            lines.append(f"  masked    {kind}: {shown}")
        return "\n".join(lines)


def signature(message: str, code: str | None = None, *, version: int = VERSION) -> Signature:
    """The signature of a message, and of the code that came with it. The version says by which rules."""
    if version not in _VERSIONS:
        raise ValueError(f"signatures have the versions {', '.join(map(str, _VERSIONS))}, and not {version}")
    text = f"{version}\n{code or ''}\n{_VERSIONS[version](message, None)}"
    key = f"s{version}-{blake2b(text.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"
    return Signature(key, version, message, code)
