"""A handler for ``logging`` that records what is logged as an error, with its traceback.

    logging.getLogger().addHandler(RecoupHandler("public.shq_error_log"))
    log.exception("no filing", extra={"outreach_id": company, "work_key": "filing-7", "error_code": "EIN_NO_MATCH"})

It never blocks the program: a thread of its own records, from a bounded queue. What does not fit is dropped, counted in
``dropped`` and logged. What Recoup and psycopg log is not recorded.
"""

from __future__ import annotations

import logging
from typing import Any

from recoup.adapters.reporting import CAPACITY, FLUSH_S, Background, Opened, captured, is_own_thread, report
from recoup.database.connection import Database
from recoup.errors.recording import NewError

OWN_LOGGERS = ("recoup", "psycopg")  # to record what they log while they record would never end


class RecoupHandler(logging.Handler):
    """Records log records of a level, ERROR by default, in an error table.

    table: the error table; one of schema public if records come without an entity. database: from
    ``recoup.connect()``; default: the one that the settings mean. capacity: how many records may wait.
    """

    def __init__(
        self, table: str, database: Database | None = None, *, level: int | str = "ERROR", capacity: int = CAPACITY
    ) -> None:
        super().__init__(level)
        self._table = table
        self._database = Opened(database)
        self._background = Background("recoup-logging", capacity=capacity)

    @property
    def dropped(self) -> int:
        """How many records were dropped in this process."""
        return self._background.dropped

    def handle(self, record: logging.LogRecord) -> Any:
        """Without the handler's lock: nothing here needs it, and while it flushes nobody has to wait."""
        if record.name.partition(".")[0] in OWN_LOGGERS or is_own_thread():
            return False
        kept = self.filter(record)
        if kept:
            self.emit(kept if isinstance(kept, logging.LogRecord) else record)
        return kept

    def emit(self, record: logging.LogRecord) -> None:
        """Put a record in the queue."""
        try:
            new = self._new(record)
            self._background.put(lambda: report(self._database, new))
        except Exception:  # noqa: BLE001 - as every handler: logging's own setting decides whether it is printed
            self.handleError(record)

    def flush(self) -> None:
        """Wait until what was logged before is recorded, ten seconds at most."""
        self._background.flush(FLUSH_S)

    def close(self) -> None:
        """Record what waits, and end."""
        self._background.close(FLUSH_S)
        super().close()

    def _new(self, record: logging.LogRecord) -> NewError:
        given = {name: getattr(record, name, None) for name in ("outreach_id", "work_key")}
        code = getattr(record, "error_code", None)
        message = record.getMessage()
        payload = {
            "logger": record.name,
            "level": record.levelname,
            "at": f"{record.pathname}:{record.lineno} {record.funcName}",
        }
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return NewError(table=self._table, message=message, code=code, payload=payload, **given)
        what = captured(self._table, error, payload=payload, **given)
        words = message if what.message in message else f"{message}: {what.message}"
        return NewError(table=self._table, message=words, code=code or what.code, payload=what.payload, **given)
