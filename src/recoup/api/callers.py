"""Who calls: the holder of a key, or without keys the person who started the service. And what they may do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Protocol

from fastapi import Request

from recoup import observe
from recoup.api import requests
from recoup.api.declare import Route
from recoup.database import releases as releases_of
from recoup.database.connection import Actor, Database, Transaction
from recoup.domain import releases
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.refusals import MigrationRefused, Refusal
from recoup.service import Denied, Limiter, Principal, acting, authenticate, check_may, check_whole, keys, local
from recoup.service.denied import Counted
from recoup.service.logins import Logins
from recoup.service.policy import ServicePolicy

# Where the console puts the caller of a session when it calls a route itself. Nothing in a request reaches it.
SESSION = "recoup.session"
POLICY_S = 30.0  # for which limits of the policy are not read again


class Guarded(Protocol):
    """What only some callers may use."""

    @property
    def authority(self) -> Authority: ...
    @property
    def also(self) -> tuple[Authority, ...]: ...
    @property
    def whole(self) -> bool: ...


class Callers:
    """Admits callers, and opens transactions under their names, each through the login of their role."""

    def __init__(self, logins: Logins, *, keyed: bool) -> None:
        self._logins, self.keyed = logins, keyed
        self.service = logins.service
        self._local = local(self.service.settings.actor)
        self._limits_until = 0.0
        self._schema: MigrationRefused | None = None  # why the schema cannot be used

    @property
    def is_usable(self) -> bool:
        """Whether the schema is one that this program can work with."""
        return self._schema is None

    def check_schema(self) -> None:
        """Refuse every call once the database is of another epoch, until a program of that epoch answers here."""
        if (found := self._schema) is not None:  # a new one for each: the traceback of one would grow
            raise MigrationRefused(found.code, found.happened, found.next_step, **found.facts)

    def check_origin(self, request: Request) -> None:
        """Without keys, refuse what did not come from a program of this machine."""
        if self.keyed:
            return
        try:
            requests.check_origin(request)
        except Refusal as refusal:
            self.count(request, refusal, None)
            raise

    def admitted(self, request: Request, route: Route) -> Principal:
        """Who calls. Refused without a valid key, for a role that may not call this route, and for too many calls."""
        given: Principal | None = request.scope.get(SESSION)
        if not self.keyed and "authorization" in request.headers:
            self.ask_for_keys()  # a caller with the first key is not taken for the person at this machine
        if not self.keyed and given is None:
            return self._local
        secret = None
        try:
            if given is None:
                secret = _bearer(request)
            principal = given or authenticate(self.service, secret or "")
            self.check_may(principal, route)
            self._limiter.take(principal)
        except Refusal as refusal:
            self.count(request, refusal, secret)
            raise
        return principal

    def check_may(self, principal: Principal, route: Guarded) -> None:
        """Refuse a caller whose role or hub may not call this route, or open this page."""
        for authority in (route.authority, *route.also):
            check_may(principal, authority)
        if route.whole:
            check_whole(principal)

    def take(self, principal: Principal) -> None:
        """Count one request of a caller, and refuse too many."""
        if self.keyed:
            self._limiter.take(principal)

    def secret_of(self, request: Request) -> str | None:
        """The key of a request that was admitted, for what continues after it. None: without keys."""
        return _bearer(request) if self.keyed else None

    def is_valid(self, secret: str | None) -> bool:
        """Whether a key is still valid."""
        if secret is None:
            return not self.keyed
        try:
            authenticate(self.service, secret)
        except Denied:
            return False
        return True

    @contextmanager
    def acting(self, caller: Principal, authority: Authority, reason: str | None = None) -> Iterator[Transaction]:
        """One transaction under an authority of the caller's."""
        self.check_schema()
        with acting(self._logins.of(caller.role), caller, authority, reason=reason) as tx:
            yield tx

    def seen_as(self, caller: Principal) -> _AsCaller:
        """The database as a caller may use it, for what opens transactions by itself."""
        return _AsCaller(self, caller, self._logins.of(caller.role))

    def maintain(self) -> None:
        """Check the schema, write what was denied, read limits again; ask for keys from when there is one on."""
        self._read_schema()
        if self._schema is not None:
            return
        self._denied.write()
        self.ask_for_keys()
        if self.keyed and time.monotonic() > self._limits_until:
            policy = self._policy()
            self._limiter.rate_per_s, self._limiter.burst = policy.rate_per_s, policy.burst

    def ask_for_keys(self) -> None:
        """Every call needs a key from when there is one on."""
        if not self.keyed and keys.exist(self.service):
            self.keyed = True
            observe.logger().warning("there is a key now: every call needs one")

    def _read_schema(self) -> None:
        """Another program may migrate the database while this one serves it: within an epoch both work."""
        found = None
        with self.service.transaction(Authority.READER) as tx:
            try:
                releases_of.check_schema(tx, releases(DOMAINS))
            except MigrationRefused as refusal:
                found = refusal
        if found is not None and self._schema is None:
            observe.logger().error("the schema cannot be used any more", code=found.code, failure=found.happened)
        elif found is None and self._schema is not None:
            observe.logger().warning("the schema can be used again")
        self._schema = found

    @cached_property
    def _limiter(self) -> Limiter:
        policy = self._policy()
        return Limiter(self.service, rate_per_s=policy.rate_per_s, burst=policy.burst)

    @cached_property
    def _denied(self) -> Counted:
        return Counted(self.service, rows_per_minute=self._policy().denied_rows_per_minute)

    def _policy(self) -> ServicePolicy:
        self._limits_until = time.monotonic() + POLICY_S
        with self.service.transaction(Authority.READER) as tx:
            return versions.active(tx).policy[ServicePolicy]

    def count(self, request: Request, refusal: Refusal, secret: str | None) -> None:
        """Count a denied call."""
        self._denied.add(refusal.code, address=request.client.host if request.client else None, secret=secret)


def _bearer(request: Request) -> str:
    """The key of a request. No other header, cookie or parameter carries one."""
    given = request.headers.getlist("authorization")
    scheme, _, secret = (given[0] if len(given) == 1 else "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Denied("key_missing", "This call has no key.", "Send it with the header: Authorization: Bearer rcp_…")
    return secret.strip()


class _AsCaller(Database):
    """A database whose transactions are a caller's."""

    def __init__(self, callers: Callers, caller: Principal, database: Database) -> None:
        super().__init__(database.conninfo, database.settings)
        self._callers, self._caller = callers, caller

    @contextmanager
    def transaction(
        self, authority: Authority, *, actor: Actor | None = None, reason: str | None = None
    ) -> Iterator[Transaction]:
        with self._callers.acting(self._caller, authority, reason) as tx:
            yield tx

    one_statement = transaction
