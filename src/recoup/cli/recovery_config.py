"""``recoup recovery config list|show|set``"""

import json as json_
from typing import Annotated, Any

from cyclopts import App, Parameter

from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, print_fields, print_rows
from recoup.lifecycles.declaration import Authority
from recoup.recovery import config
from recoup.refusals import InputRefused

app = App(
    name="config",
    help="Keys that your programs read, and that the action reconfigure may change.",
    help_format="plaintext",
)
Key = Annotated[str, Parameter(help="The key, such as vendor.batch_size.")]
KEYS = (
    Column("key", cut="middle", least=14, rank=0),
    Column("version", rank=3),
    Column("value", cut="end", least=14, rank=1),
    Column("set_by", "set by", cut="middle", least=10, rank=4),
    Column("set_at", "set", least=12, rank=2),
    Column("candidate_id", "candidate", cut="middle", least=13, rank=6),
    Column("reason", cut="end", least=14, rank=5),
)
VERSIONS = tuple(column for column in KEYS if column.field != "key")


@app.command(name="list")
def list_(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List every key as it is now."""
    with acting(Authority.READER, demo=demo) as tx:
        found = config.keys(tx, limit=limit)
    rows = found if json else [_shown(one) for one in found]
    print_rows(rows, as_json=json, columns=KEYS, empty="No key is set.")


@app.command
def show(key: Key, *, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """Show the versions of a key, newest first. The first one counts."""
    with acting(Authority.READER, demo=demo) as tx:
        found = config.versions(tx, key, limit=limit)
    rows = found if json else [_shown(one) for one in found]
    print_rows(rows, as_json=json, columns=VERSIONS, empty="No key is set.")


@app.command(name="set")
def set_(
    key: Key,
    value: Annotated[str, Parameter(help="The value, as JSON: 500, true, '\"text\"', '[1, 2]'.")],
    *,
    reason: Annotated[str, Parameter(help="Why. It is logged with your name.")],
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Set a key, as a new version of it."""
    if not reason.strip():
        raise InputRefused("reason_missing", "The reason is empty.", "Give it: --reason …")
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        version = config.put(tx, key, _value(value))
    if json:
        print_fields({"key": key, "version": version}, as_json=True)
    else:
        print(f"{key} is set: version {version}")


def _shown(one: config.Version) -> dict[str, Any]:
    text = "(removed)" if one.status == "removed" else json_.dumps(one.value, ensure_ascii=False)
    return {**{column.field: getattr(one, column.field) for column in KEYS}, "value": text}


def _value(text: str) -> Any:
    try:
        return json_.loads(text)
    except (ValueError, RecursionError):
        raise InputRefused(
            "value_unreadable", f"{text[:50]!r} is not JSON.", """Write text in quotes of its own: '"text"'."""
        ) from None
