"""What ``db.recovery`` decides and acts by: rules, calibration, breakers, and keys that recovery may change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from recoup.client.calls import Tx, Verbs, Who
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers as breaking
from recoup.recovery import config, rule_testing
from recoup.recovery.breakers import Breaker
from recoup.recovery.calibration import Calibration
from recoup.recovery.calibration import calibration as calibrated
from recoup.recovery.config import Version
from recoup.recovery.rule_testing import ListedRule, Replay

READER, OPERATOR = Authority.READER, Authority.OPERATOR


class RecoverySettings(Verbs):
    """Rules, calibration, breakers and keys: a part of ``db.recovery``."""

    def rules(self, *, tx: Tx = None) -> Sequence[ListedRule]:
        """The rules of the active policy, and how often each was true, and failed, in the latest evaluations."""
        return self._call(READER, rule_testing.rules, tx=tx)

    def test_rules(
        self,
        document: str | None = None,
        *,
        when: str | None = None,
        action: str | None = None,
        weight: float = 1.0,
        source: str | None = None,
        since: timedelta | None = None,
        limit: int = 1_000,
        tx: Tx = None,
    ) -> Replay:
        """What rules would recommend for the latest recorded failures, and what changes. Nothing is written.

        document: TOML with sections ``[recovery.rules.NAME]``, merged into the active policy; or one rule by ``when``,
        ``action`` and ``weight``; without both, the active rules. source, since: which failures.
        """
        given = rule_testing.given(document, when=when, action=action, weight=weight)

        def tested(on: Transaction) -> Replay:
            return rule_testing.replay(on, given, source=source, since=since, limit=limit)

        return self._call(READER, tested, tx=tx)

    def calibration(
        self, *, action: str | None = None, source: str | None = None, days: int = 90, tx: Tx = None, actor: Who = None
    ) -> Calibration:
        """Compare confidence with what happened, for candidates that ended within the last days.

        Of all of them, and by action, source and week: how many, the reliability table, Brier score, and expected
        calibration error.
        """
        return self._call(
            READER, lambda on: calibrated(on, action=action, source=source, days=days), tx=tx, actor=actor
        )

    def breakers(
        self, *, closed: bool = False, limit: int = 100, after: Breaker | None = None, tx: Tx = None
    ) -> Sequence[Breaker]:
        """Breakers that are not closed, with what waits behind them; with ``closed``, all of them.

        ``after``, the last one, gives the next page.
        """
        place = None if after is None else breaking.Place.of(after)
        return self._call(READER, lambda on: breaking.breakers(on, closed=closed, limit=limit, after=place), tx=tx)

    def open_breaker(self, name: str, *, reason: str, tx: Tx = None, actor: Who = None) -> bool:
        """Open a breaker: what depends on it waits, and one unit at a time tries it. False: it was open already."""
        who = self._person(actor)
        return self._call(
            OPERATOR, lambda on: breaking.open_breaker(on, name, reason=reason), tx=tx, actor=who, reason=reason
        )

    def close_breaker(self, name: str, *, reason: str, tx: Tx = None, actor: Who = None) -> None:
        """Close a breaker, without a probe: what depends on it is claimed again."""
        who, why = self._person(actor), breaking.checked("reason", reason)
        self._call(OPERATOR, lambda on: breaking.close_breaker(on, name), tx=tx, actor=who, reason=why)

    def config(self, key: str, default: Any = None, *, tx: Tx = None) -> Any:
        """What a key is now, which the action reconfigure may have changed; the default, if it is not set."""
        return self._call(READER, lambda on: config.value(on, key, default), tx=tx)

    def configs(self, key: str | None = None, *, limit: int = 100, tx: Tx = None) -> Sequence[Version]:
        """Every key as it is now; or the versions of one key, newest first."""

        def found(on: Transaction) -> Sequence[Version]:
            return config.keys(on, limit=limit) if key is None else config.versions(on, key, limit=limit)

        return self._call(READER, found, tx=tx)

    def set_config(self, key: str, value: Any, *, reason: str, tx: Tx = None, actor: Who = None) -> int:
        """Set a key under your name. Returns its version."""
        return self._call(
            OPERATOR, lambda on: config.put(on, key, value), tx=tx, actor=self._person(actor), reason=reason
        )
