"""The embedded server under ``recoup up``: started or found, started again when it dies, stopped if it is ours."""

import time

from recoup import observe
from recoup.database import embedded
from recoup.database.data_folder import home_of
from recoup.database.embedded import Server
from recoup.database.postmaster import alive, noted_in
from recoup.refusals import Refusal
from recoup.settings import Settings
from recoup.up.home import HomeLock

MAX_AGAIN_S = 30.0  # the longest pause between two tries to start it


class EmbeddedServer:
    """The server of a home. ``ours``: this process started it, or one that served this home before and was killed."""

    def __init__(self, settings: Settings, lock: HomeLock) -> None:
        self._settings, self._lock = settings, lock
        self._data = home_of(settings) / "data"
        self._again_at, self._pause_s = 0.0, 1.0
        self.ours = False
        self.server: Server | None = None

    def start(self) -> Server:
        """A running server. Waits until it answers."""
        # Known before it is started: an interrupt in the middle leaves one that is ours.
        self.ours = not alive(noted_in(self._data), self._data)
        found = embedded.start(self._settings)
        before = self._lock.before
        self.ours = found.started_here or (before is not None and before.server_pid == found.pid)
        self._know(found)
        return found

    def tend(self) -> None:
        """Start it again if it died. Tried again later if that fails."""
        if time.monotonic() < self._again_at or alive(noted_in(self._data), self._data):
            return
        log = observe.logger(part="server")
        log.error("the server ended", pid=self.server.pid if self.server else None)
        try:
            found = embedded.start(self._settings)
        except Refusal as refusal:
            self._again_at = time.monotonic() + self._pause_s
            self._pause_s = min(self._pause_s * 2, MAX_AGAIN_S)
            log.error("the server does not start", failure=refusal.happened, then=refusal.next_step)
            return
        self._pause_s = 1.0
        self.ours = True  # one of us started it again: it is there because this service needs it
        self._know(found)
        log.warning("the server was started again", pid=found.pid)

    def stop(self) -> str:
        """Stop it if it is ours and nobody else is connected. Returns what was done, in words."""
        if not self.ours:
            return "left running: it ran before"
        others = embedded.stop_if_unused(self._settings)
        if others is None:
            return "not running"
        if others == 0:
            return "stopped"
        return f"left running: {others} other session{'s are' if others > 1 else ' is'} connected"

    def _know(self, found: Server) -> None:
        self.server = found
        if self.ours:
            self._lock.write(server_pid=found.pid)
