"""The signature of a message: which failure it is about, whatever the values in it. A key, and how it was made."""

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

from recoup.signatures import v1, v2

VERSION = 2

VariableParts = list[tuple[str, str]]
# What remains of a message under each version. A released version stays as it is: its keys are stored.
_VERSIONS: dict[int, Callable[[str, VariableParts | None], str]] = {1: v1.remaining, 2: v2.remaining}


class Signature(NamedTuple):
    """Which failure a message is about."""

    key: str
    version: int
    message: str
    code: str | None = None

    @property
    def remained(self) -> str:
        """The pattern: the words of the message that count."""
        return _VERSIONS[self.version](self.message, None)

    @property
    def masked(self) -> tuple[tuple[str, str], ...]:
        """The variable parts: kind and text of each."""
        variable: VariableParts = []
        _VERSIONS[self.version](self.message, variable)
        return tuple(variable)

    def explain(self) -> str:
        """The pattern and the variable parts, as text."""
        lines = [f"{self.key} (version {self.version})"]
        if self.code is not None:
            lines.append(f"  code      {self.code}")
        lines.append(f"  pattern   {self.remained}")
        kinds: dict[str, list[str]] = {}
        for kind, text in self.masked:
            kinds.setdefault(kind, []).append(text if len(text) <= 60 else f"{text[:59]}…")
        for kind, texts in kinds.items():
            shown = ", ".join(dict.fromkeys(texts[:8])) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")
            lines.append(f"  variable  {kind}: {shown}")
        return "\n".join(lines)


def signature(message: str, code: str | None = None, *, version: int = VERSION) -> Signature:
    """The signature of a message and of its code, by the rules of a version."""
    if version not in _VERSIONS:
        raise ValueError(f"signatures have the versions {', '.join(map(str, _VERSIONS))}, and not {version}")
    text = f"{version}\n{code or ''}\n{_VERSIONS[version](message, None)}"
    key = f"s{version}-{blake2b(text.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"
    return Signature(key, version, message, code)
