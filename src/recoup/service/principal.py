"""Who calls: the holder of a key, or the person who started the service on its own machine."""

from dataclasses import dataclass
from uuid import UUID

from recoup.database.connection import Actor
from recoup.service.roles import Role

PEOPLE = frozenset({Role.OPERATOR, Role.REVIEWER, Role.ADMIN, Role.LOCAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller that was authenticated."""

    key_id: UUID | None  # None: no key, but the person who started the service
    name: str  # the actor of everything that is done with it
    role: Role
    hub: str | None = None  # None: every row
    session_id: UUID | None = None  # the session of a browser, if it came through one

    @property
    def actor(self) -> Actor:
        """Who acts, as the logs name them."""
        return Actor("human" if self.role in PEOPLE else "system", self.name, self.hub or "")

    @property
    def id(self) -> str:
        """Who sent a request, for what is kept by caller: a rotated key is the same, one of another hub is not."""
        return f"{self.role}:{self.name}" if self.hub is None else f"{self.role}:{self.hub}:{self.name}"


# The service itself, for its own tables: they are no hub's.
OWN = Actor("system", "service", "")


def local(name: str) -> Principal:
    """The person who started the service without keys, on its own machine."""
    return Principal(key_id=None, name=name, role=Role.LOCAL)
