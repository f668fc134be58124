"""Keys of the API over HTTP, for those who manage them, and calls that were denied."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Body, Path, Query
from pydantic import Field

from recoup.api import cursors
from recoup.api.answers import Listing, Page, page
from recoup.api.declare import MAX_PAGE, Area, Because, Length, Name, Paged, Perhaps
from recoup.api.endpoints import Call
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.service import Denied, denied, keys
from recoup.service.denied import DeniedCalls
from recoup.service.keys import Key, NewKey

KEY_MANAGER = Authority.KEY_MANAGER
KEYS = Area(name="keys", about="Keys of this API. To make, rotate or revoke one needs the key of an admin.")
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Which = Annotated[Name, Path(description="Its name, the beginning that lists show, or its id.")]
NEEDS_A_KEY = ("keys_need_a_key",)


class KeysAsked(Paged):
    """Which keys."""

    all: Annotated[bool, Query(description="Also those that were revoked or have expired.")] = False


class ToMake(Perhaps):
    """A key to be made."""

    name: Annotated[
        str, Field(min_length=1, max_length=100, description="Who will act with it, as the logs name them.")
    ]
    role: Literal["viewer", "producer", "operator", "reviewer", "admin"]
    hub: Annotated[Name | None, Field(description="Limit it to the rows of a hub of the policy.")] = None
    expires: Annotated[
        Length | None, Field(description="How long it is valid, such as 90d. Default: until it is revoked.")
    ] = None


class ToRotate(Perhaps):
    """A key to be replaced."""

    overlap: Annotated[
        Length | None, Field(description="How long the old one stays valid, such as 1h. Default: of the policy.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKey:
    """A key that was just made. It is shown once, and not stored."""

    key: str = field(repr=False)
    key_id: UUID
    name: str
    role: str
    hub: str | None
    prefix: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None


@KEYS.get("/v1/keys", KEY_MANAGER)
def list_keys(tx: Transaction, *, asked: Annotated[KeysAsked, Query()]) -> Page[Key]:
    """List keys, newest first: role, hub, expiry and last use. Secrets are not stored."""
    found = keys.listed(tx, all=asked.all, after=cursors.read_id("keys", asked.after), limit=asked.limit)
    return page(found, asked.limit, "keys", lambda one: one.key_id)


@KEYS.post("/v1/keys", KEY_MANAGER, status=201, secret=True, refusals=NEEDS_A_KEY)
def add(tx: Transaction, *, call: Call, body: Annotated[ToMake, Body()]) -> MadeKey:
    """Make a key. It is shown once.

    The first key is made at the command line, by a person with a login of the database.
    """
    _refuse_without_key(call)
    return _made(call, keys.add(tx, body.name, body.role, hub=body.hub, expires=body.expires))


@KEYS.post("/v1/keys/{key}/rotate", KEY_MANAGER, status=201, secret=True, refusals=NEEDS_A_KEY)
def rotate(tx: Transaction, *, call: Call, key: Which, body: Annotated[ToRotate | None, Body()] = None) -> MadeKey:
    """Replace a key by a new one of the same name, role and hub. The new one is shown once."""
    _refuse_without_key(call)
    return _made(call, keys.rotate(tx, key, overlap=None if body is None else body.overlap))


@KEYS.post("/v1/keys/{key}/revoke", KEY_MANAGER, refusals=NEEDS_A_KEY)
def revoke(tx: Transaction, *, call: Call, key: Which, body: Annotated[Because, Body()]) -> Listing[Key]:
    """Revoke a key; by its name also those that it replaced. Sessions and streams end with them."""
    _refuse_without_key(call)
    return Listing(items=keys.revoke(tx, key))


@KEYS.get("/v1/denied", KEY_MANAGER)
def list_denied(tx: Transaction, *, limit: Limit = 100) -> Listing[DeniedCalls]:
    """List calls that were denied, by minute, network and key, newest first."""
    return Listing(items=denied.listed(tx, limit=limit))


def _refuse_without_key(call: Call) -> None:
    """A caller without a key is some program of this machine: it makes nobody an admin."""
    if call.caller.key_id is None:
        raise Denied(
            "keys_need_a_key",
            "Keys are managed with the key of an admin. This call has none.",
            "Make the first one where the database is: recoup keys add NAME --role admin",
        )


def _made(call: Call, made: NewKey) -> MadeKey:
    call.about = str(made.key_id)
    return MadeKey(
        key=made.secret, key_id=made.key_id, name=made.name, role=made.role.value, hub=made.hub, prefix=made.prefix,
        created_by=made.created_by, created_at=made.created_at, expires_at=made.expires_at,
    )  # fmt: skip
