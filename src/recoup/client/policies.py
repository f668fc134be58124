"""``db.policy``: the settings that decide, by version."""

from __future__ import annotations

from recoup import policy
from recoup.client.calls import Tx, Verbs, Who
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.policy import Change, Version

OPERATOR, READER = Authority.OPERATOR, Authority.READER


class Policies(Verbs):
    """The policy: limits, waits, retention and error tables, in versions."""

    def active(self, *, tx: Tx = None) -> Version:
        """The active version."""
        return self._call(READER, policy.in_force, tx=tx)

    def history(self, *, limit: int = 100, tx: Tx = None) -> list[Version]:
        """All versions, newest first."""
        return self._call(READER, lambda on: policy.history(on, limit=limit), tx=tx)

    def apply(
        self, document: str, *, reason: str, over: int | None = None, tx: Tx = None, actor: Who = None
    ) -> tuple[int, list[Change]]:
        """Apply a policy document (TOML). Returns the version that is active now, and what changed.

        over: the version that the document was written against; refused when another one is active by now.
        """
        return self._call(
            OPERATOR,
            lambda on: policy.apply(on, document, parts(DOMAINS), reason=reason, over=over),
            tx=tx, actor=actor, reason=reason,
        )  # fmt: skip
