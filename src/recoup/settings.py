"""Every setting Recoup reads, as one table.

Settings come from the environment. Validation happens once, at start, and names the setting, the value and what is
allowed; an unknown ``RECOUP_*`` variable is refused, and so is an empty one, because a setting that is silently ignored
is found only in the worst moment. ``docs/reference/settings.md`` is rendered from this table.
"""

import difflib
import getpass
import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

from recoup.refusals import SettingRefused

PREFIX = "RECOUP_"


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: why it is there and what it may be. Name, kind and default are its field's."""

    description: str
    unit: str = ""
    least: int | None = None
    most: int | None = None
    one_of: tuple[str, ...] = ()
    name: str = ""
    kind: type[str] | type[int] | type[Path] = str
    default: str | int | None = None

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Validated settings. Build with :func:`load`, or directly in a program that configures itself."""

    # fmt: off
    home: Annotated[Path, Setting(
        "Folder of the embedded server: data, log, passwords. Default: the user's data folder "
        "(/var/lib/recoup as root)."
    )]
    dsn: Annotated[str | None, Setting(
        "Connection string of a PostgreSQL server, version 15 or later. Always wins over the embedded server."
    )] = None
    admin_dsn: Annotated[str | None, Setting(
        "Connection string that `recoup migrate`, backup and restore use instead of RECOUP_DSN, so that the "
        "everyday login needs no right to change the schema."
    )] = None
    server_bin: Annotated[Path | None, Setting(
        "Folder of PostgreSQL programs for the embedded server. Default: the ones of the `embedded` extra."
    )] = None
    server_user: Annotated[str | None, Setting(
        "As root only: the unprivileged user that runs the embedded server. Default: the first of recoup, "
        "postgres, nobody that exists."
    )] = None
    start_timeout_s: Annotated[int, Setting(
        "How long to wait for the embedded server to accept connections, crash recovery included.",
        unit="s", least=1, most=3600,
    )] = 60
    connect_timeout_s: Annotated[int, Setting(
        "How long to wait for a connection before the server counts as unreachable.", unit="s", least=2, most=600
    )] = 10
    pool_max: Annotated[int, Setting("Most connections one process holds.", unit="connections", least=1, most=500)] = 4
    pooler: Annotated[str, Setting(
        "Whether a pooler that gives each transaction another session (PgBouncer's pool_mode = transaction) stands "
        "before the server. auto finds out at the first connection; none: sessions are kept from login to end.",
        one_of=("auto", "none", "transaction"),
    )] = "auto"
    statement_timeout_ms: Annotated[int, Setting(
        "Longest time for one statement. 0 means no limit.", unit="ms", least=0, most=86_400_000
    )] = 30_000
    lock_timeout_ms: Annotated[int, Setting(
        "Longest wait for one lock. 0 means no limit.", unit="ms", least=0, most=86_400_000
    )] = 5_000
    idle_in_transaction_timeout_ms: Annotated[int, Setting(
        "Longest idle time inside a transaction before the server ends the connection. 0 means no limit.",
        unit="ms", least=0, most=86_400_000,
    )] = 60_000
    directory_key: Annotated[str | None, Setting(
        "Key for Gate Zero's company directory, sent as a bearer token. Not in the policy, which all may read."
    )] = field(default=None, repr=False)
    actor: Annotated[str, Setting(
        "Who is acting, as written into logs. Default: the name of the operating system user."
    )]
    # fmt: on


def _table() -> Iterator[Setting]:
    hints = get_type_hints(Settings, include_extras=True)
    for one in fields(Settings):
        kind, row = get_args(hints[one.name])
        kind = (get_args(kind) or (kind,))[0]  # without its "or None"
        yield replace(row, name=one.name, kind=kind, default=None if one.default is MISSING else one.default)


SETTINGS = tuple(_table())


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Read and check every setting. Refuses unknown names, malformed values and values out of bounds."""
    environment = os.environ if environment is None else environment
    given = {key: value for key, value in environment.items() if key.startswith(PREFIX)}
    known = {setting.variable: setting for setting in SETTINGS}
    for variable in given:
        if variable not in known:
            near = difflib.get_close_matches(variable, known, n=1, cutoff=0.6)
            raise SettingRefused(
                "unknown_setting",
                f"{variable} is set, and Recoup has no setting of that name.",
                f"Did you mean {near[0]}? Unset {variable}." if near
                else f"Unset it. Settings are: {', '.join(sorted(known))}.",
                variable=variable,
                nearest=near[0] if near else None,
            )  # fmt: skip
    values: dict[str, object] = {}
    for setting in SETTINGS:
        text = given.get(setting.variable)
        value = _parsed(setting, text) if text is not None else setting.default
        if value is not None:
            values[setting.name] = value
    values.setdefault("home", default_home(environment))
    values.setdefault("actor", _login_name())
    return Settings(**values)  # type: ignore[arg-type]


def _parsed(setting: Setting, text: str) -> str | int | Path:
    if not text.strip():
        raise SettingRefused(
            "empty_setting",
            f"{setting.variable} is set, and empty.",
            f"Unset {setting.variable} for the default, or give it a value: what it was made of may be unset.",
            variable=setting.variable,
        )
    if setting.kind is Path:
        return Path(text).expanduser().absolute()
    if setting.kind is str:
        if setting.one_of and text not in setting.one_of:
            raise SettingRefused(
                "bad_setting",
                f"{setting.variable} is {text!r}, which is none of {', '.join(setting.one_of)}.",
                f"Set {setting.variable} to one of them, or unset it for the default, {setting.default}.",
                variable=setting.variable, value=text, one_of=setting.one_of,
            )  # fmt: skip
        return text
    try:
        number = int(text)
    except ValueError:
        number = None
    low, high = setting.least, setting.most
    assert low is not None
    assert high is not None
    if number is None or not low <= number <= high:
        raise SettingRefused(
            "bad_setting",
            f"{setting.variable} is {text!r}, which is not a whole number from {low} to {high}.",
            f"Set {setting.variable} to a number of {setting.unit} from {low} to {high}, or unset it for "
            f"the default, {setting.default}.",
            variable=setting.variable, value=text, least=low, most=high,
        )  # fmt: skip
    return number


def default_home(environment: Mapping[str, str]) -> Path:
    """Where the embedded server lives when nobody says otherwise."""
    if os.geteuid() == 0:
        # Root's home is closed to the unprivileged user that must run the server, and stays closed.
        return Path("/var/lib/recoup")
    data = environment.get("XDG_DATA_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".local/share")
    return Path(data).expanduser().absolute() / "recoup"


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no passwd entry and no USER: common in containers
        return f"uid-{os.getuid()}"
