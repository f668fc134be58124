"""``recoup keys``"""

from dataclasses import asdict, replace
from datetime import timedelta
from typing import Annotated

from cyclopts import App, Parameter

from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, print_fields, print_rows
from recoup.durations import duration
from recoup.lifecycles.declaration import Authority
from recoup.service import denied, keys
from recoup.service.keys import NewKey

app = App(
    name="keys",
    help_epilogue="A key has a role: viewer, producer, operator, reviewer or admin. docs/howto/make-keys.md",
    help_format="plaintext",
)
COLUMNS = (
    Column("prefix", "key", least=8),
    Column("name", cut="middle", least=10, rank=1),
    Column("role", rank=2),
    Column("hub", rank=3),
    Column("status", rank=4),
    Column("expires_at", "expires", least=12, rank=5),
    Column("last_used_at", "last used", least=12, rank=6),
    Column("created_at", "made", least=12, rank=8),
    Column("created_by", "by", cut="middle", least=8, rank=9),
    Column("ended_at", "revoked", least=12, rank=7),
)
DENIED_COLUMNS = (
    Column("minute", rank=0),
    Column("calls", rank=1),
    Column("refusal", rank=2),
    Column("address", "network", rank=3),
    Column("key_prefix", "key", rank=4),
)


@app.command
def add(
    name: str,
    *,
    role: str,
    hub: str | None = None,
    expires: str | None = None,
    reason: str | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Make a key. It is shown once.

    For example: recoup keys add ada --role operator --expires 90d

    Parameters
    ----------
    name
        Who will act with it, as the logs name them. A name has one key.
    role
        viewer, producer, operator, reviewer or admin.
    hub
        Limit it to the rows of a hub of the policy: service.hubs.
    expires
        How long it is valid, such as 90d. Default: until it is revoked.
    reason
        Why. It is recorded in the log, with your name.
    """
    valid = None if expires is None else duration(expires)
    with acting(Authority.KEY_MANAGER, demo=demo, reason=reason) as tx:
        made = keys.add(tx, name, role, hub=hub, expires=valid)
    _print_new(made, json=json)


@app.command(name="list")
def list_(
    *,
    all_: Annotated[
        bool,
        Parameter(name="--all", negative="", show_default=False, help="Also those that were revoked or have expired."),
    ] = False,
    limit: Limit = 100,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List keys, newest first: role, hub, expiry and last use. Secrets are not stored."""
    with acting(Authority.READER, demo=demo) as tx:
        found = keys.listed(tx, all=all_, limit=limit)
    print_rows(found, as_json=json, columns=COLUMNS, empty="No keys. Make one: recoup keys add NAME --role ROLE")


@app.command
def rotate(
    key: str, *, overlap: str | None = None, reason: str | None = None, demo: Demo = False, json: Json = False
) -> None:
    """Replace a key by a new one of the same name, role and hub. The new one is shown once.

    Parameters
    ----------
    key
        Its name, the beginning that lists show, or its id.
    overlap
        How long the old one stays valid, such as 1h. Default: service.overlap_hours of the policy, 24 hours.
    reason
        Why. It is recorded in the log, with your name.
    """
    lasts: timedelta | None = None if overlap is None else duration(overlap)
    with acting(Authority.KEY_MANAGER, demo=demo, reason=reason) as tx:
        made = keys.rotate(tx, key, overlap=lasts)
    _print_new(made, json=json)


@app.command
def revoke(key: str, *, reason: str, demo: Demo = False, json: Json = False) -> None:
    """Revoke a key. Its sessions and streams end with it.

    Parameters
    ----------
    key
        Its name (then also a key that it replaced), the beginning that lists show, or its id.
    reason
        Why. It is recorded in the log, with your name.
    """
    with acting(Authority.KEY_MANAGER, demo=demo, reason=reason) as tx:
        revoked = [replace(one, status="revoked") for one in keys.revoke(tx, key)]
    if json:
        print_rows(revoked, as_json=True, empty="")
        return
    for one in revoked:
        print(f"key {one.prefix} of {one.name} is revoked")


@app.command(name="denied")
def denied_(*, limit: Limit = 100, demo: Demo = False, json: Json = False) -> None:
    """List calls of the API that were denied, by minute, network and key."""
    with acting(Authority.READER, demo=demo) as tx:
        found = denied.listed(tx, limit=limit)
    print_rows(found, as_json=json, columns=DENIED_COLUMNS, empty="No calls were denied.")


def _print_new(made: NewKey, *, json: bool) -> None:
    shown = asdict(made)
    secret = shown.pop("secret")
    print_fields({"key": secret, **shown}, as_json=json)
    if not json:
        print("\nThe key is shown only now.")
