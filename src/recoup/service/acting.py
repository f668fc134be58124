"""One transaction for one call: in an authority that the caller's role has, in the caller's name, within their hub."""

from collections.abc import Iterator
from contextlib import contextmanager

from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.service.keys import Denied
from recoup.service.principal import Principal
from recoup.service.roles import WITHIN_HUBS, Role, authorities


def check_may(principal: Principal, authority: Authority) -> None:
    """Refuse a caller whose role does not have this authority."""
    if principal.hub is not None and authority not in WITHIN_HUBS:
        raise Denied(
            "hub_lacks_authority",
            f"A key of a hub may not act as {authority}: what that changes belongs to no hub.",
            "Use a key without a hub.",
            hub=principal.hub, authority=authority.value,
        )  # fmt: skip
    if authority not in authorities(principal.role):
        able = [role.value for role in Role if role is not Role.LOCAL and authority in authorities(role)]
        raise Denied(
            "role_may_not",
            f"A key of the role {principal.role} may not act as {authority}.",
            f"Use a key of the role {' or '.join(able)}." if able else "No key may.",
            role=principal.role.value, authority=authority.value,
        )  # fmt: skip


def check_whole(principal: Principal) -> None:
    """Refuse a caller of a hub: this is about the work of every hub."""
    if principal.hub is not None:
        raise Denied(
            "hub_lacks_authority",
            "A key of a hub may not do this: it is about the work of every hub.",
            "Use a key without a hub.",
            hub=principal.hub,
        )


@contextmanager
def acting(
    database: Database, principal: Principal, authority: Authority, *, reason: str | None = None
) -> Iterator[Transaction]:
    """A transaction in this authority, under the caller's name, that sees the rows of the caller's hub."""
    check_may(principal, authority)
    with database.transaction(authority, actor=principal.actor, reason=reason) as tx:
        yield tx
