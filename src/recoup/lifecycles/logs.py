"""What a log is: an append-only table, its recorders, and the canonical text of its rows."""

import textwrap
from dataclasses import dataclass

ONLY_RECORDERS = "recoup.only_recorders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """An append-only table. Only its recorders write it, if it names any.

    ``columns`` are the columns of its canonical text, one list per version, oldest first. A list that has sealed
    anything never changes: a log that gains a column gets a second, longer list, and old seals keep the old one.
    Without a list it is not sealed.
    """

    table: str
    at: str  # the column with the time of the event
    times: tuple[str, ...] = ()  # other columns that are times
    recorders: tuple[str, ...] = ()
    door: str | None = None  # the trigger function before every insert, if not that of the recorders
    columns: tuple[tuple[str, ...], ...] = ()

    @property
    def keeper(self) -> str | None:
        """The trigger function that checks every insert; None: every role with the right may write."""
        return self.door or (ONLY_RECORDERS if self.recorders else None)

    @property
    def canon(self) -> int:
        """The newest version of its canonical text; 0: it is not sealed."""
        return len(self.columns)

    def canon_function(self, version: int) -> str:
        return f"recoup.canon_{self.table.split('.')[1]}_{version}"

    def canon_body(self, version: int) -> str:
        """The canonical text of a row ``l``, as SQL.

        The text does not depend on the session (times are microseconds since 1970), on the locale (an array of texts
        quotes by ASCII alone, where a record uses the C library's idea of a space), or on columns that are added later.
        """
        texts = ", ".join(self._text(column) for column in self.columns[version - 1])
        lines = textwrap.wrap(f"select array[{texts}]::text", 118, break_long_words=False, break_on_hyphens=False)
        return "\n  " + "\n    ".join(lines) + "\n"

    def _text(self, column: str) -> str:
        if column == self.at or column in self.times:
            return f"(extract(epoch from l.{column}) * 1000000)::bigint::text"
        return f"l.{column}::text"
