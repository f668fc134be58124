"""Whether a message tells its reader to send the same request again: "Retry the operation", "Run the job again"."""

from collections.abc import Mapping, Sequence
from typing import Any

LOOK_BACK = 14  # words before the advice, in which a change may be asked for first
AHEAD = 3  # words after a verb, in which the thing to repeat is named
OBJECT_BEFORE_AGAIN = 4  # words between "try" and "again"
NOTE = 5  # words after the advice, in which a change may be asked for: retry with …


class Advice:
    """The words of [advice] in categories.toml."""

    def __init__(self, document: Mapping[str, Sequence[str]]) -> None:
        self._verbs = frozenset(document["verbs"])
        self._things = frozenset(document["things"])
        self._before_again = frozenset(document["before_again"])
        self._no_advice_after = frozenset(document["no_advice_after"])
        self._changes = frozenset(document["changes"])
        self._with = frozenset(document["with"])
        self._delays = frozenset(document["delays"])
        self.first = self._verbs | {"again"}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Advice":
        return cls(document["advice"])

    def given(self, words: Sequence[str]) -> str | None:
        """The word that asks for the same request again. None: nothing asks for it, or something is to change first."""
        for place, word in enumerate(words):
            if word in self.first and self._asks(words, place, word) and not self._asks_for_change(words, place):
                return word
        return None

    def _asks(self, words: Sequence[str], place: int, word: str) -> bool:
        if word == "again":
            return not self._before_again.isdisjoint(words[max(0, place - OBJECT_BEFORE_AGAIN) : place])
        if place and words[place - 1] in self._no_advice_after:  # a noun: after the retry
            return False
        return not self._things.isdisjoint(words[place + 1 : place + 1 + AHEAD])

    def _asks_for_change(self, words: Sequence[str], place: int) -> bool:
        after = words[place + 1 : place + 1 + NOTE]
        if not self._with.isdisjoint(after) and self._delays.isdisjoint(words[place + 1 : place + 1 + 2 * NOTE]):
            return True
        return not self._changes.isdisjoint(words[max(0, place - LOOK_BACK) : place])
