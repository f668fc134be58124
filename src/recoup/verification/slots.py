"""A maximum number at a time, for each name."""

from asyncio import Semaphore
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """Slots by name. A name that nobody uses takes no room, so a million of them may come by."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._semaphores: dict[str, Semaphore] = {}
        self._users: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._users)

    @asynccontextmanager
    async def one(self, name: str) -> AsyncIterator[None]:
        """Wait for a slot of this name, and hold it."""
        self._users[name] = self._users.get(name, 0) + 1
        try:
            async with self._semaphores.setdefault(name, Semaphore(self._most)):
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._semaphores[name]
