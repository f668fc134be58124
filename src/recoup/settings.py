"""Every setting Recoup reads, as one table.

A setting comes from an option (``--dsn``), else from the environment (``RECOUP_DSN``), else from the project file
(``dsn`` in ``recoup.toml``), else it has its default. Validation happens once, at start, and names the setting, the
value and what is allowed. An unknown name or an empty value is refused, because a setting that is silently ignored is
found only in the worst moment. ``docs/reference/settings.md`` is rendered from this table.
"""

import getpass
import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

from recoup import project
from recoup.project import ProjectFile
from recoup.setting import Given, Setting, empty, from_environment, from_file, parsed
from recoup.setting import actions as read_actions
from recoup.setting import handlers as read_handlers
from recoup.setting import secrets as read_secrets

NO_PROJECT = "none"
# By whom the API acts: keys of a role, or itself.
API_LOGINS = {f"api_{name}_login": name for name in ("viewer", "producer", "operator", "reviewer", "admin", "service")}
OPTIONS: dict[str, str] = {}  # what the command line was given: --dsn, --home, --project


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Validated settings. Build with :func:`load`, or directly in a program that configures itself."""

    # fmt: off
    home: Annotated[Path, Setting(
        "Folder of the embedded server: data, log, passwords. Default: the user's data folder "
        "(/var/lib/recoup as root)."
    )]
    dsn: Annotated[str | None, Setting(
        "Connection string of a PostgreSQL server, version 15 or later, to use instead of the embedded server."
    )] = None
    admin_dsn: Annotated[str | None, Setting(
        "Connection string that `recoup migrate`, backup and restore use instead of `dsn`, so that the everyday login "
        "needs no right to change the schema."
    )] = None
    server_bin: Annotated[Path | None, Setting(
        "Folder of PostgreSQL programs for the embedded server. Default: those of the `embedded` extra."
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
        "How long to wait for a connection.", unit="s", least=2, most=600
    )] = 10
    pool_max: Annotated[int, Setting("Maximum connections of one process.", unit="connections", least=1, most=500)] = 4
    pooler: Annotated[str, Setting(
        "Whether a pooler that gives each transaction another session (PgBouncer's pool_mode = transaction) is in "
        "front of the server. auto detects it at the first connection.",
        one_of=("auto", "none", "transaction"),
    )] = "auto"
    statement_timeout_ms: Annotated[int, Setting(
        "Maximum time of one statement. 0: no limit.", unit="ms", least=0, most=86_400_000
    )] = 30_000
    lock_timeout_ms: Annotated[int, Setting(
        "Maximum wait for one lock. 0: no limit.", unit="ms", least=0, most=86_400_000
    )] = 5_000
    idle_in_transaction_timeout_ms: Annotated[int, Setting(
        "Maximum idle time inside a transaction before the server closes the connection. 0: no limit.",
        unit="ms", least=0, most=86_400_000,
    )] = 60_000
    directory_key: Annotated[str | None, Setting(
        "Key for Gate Zero's company directory, sent as a bearer token. Not in the policy, which everybody can read."
    )] = field(default=None, repr=False)
    actor: Annotated[str, Setting(
        "Who acts, as recorded in logs. Default: the name of the operating system user."
    )]
    log_level: Annotated[str, Setting(
        "Least level of the log lines that a worker writes.", one_of=("debug", "info", "warning", "error"),
        section="logging", key="level",
    )] = "info"
    log_format: Annotated[str, Setting(
        "Form of the log lines. auto: text on a terminal, JSON elsewhere.", one_of=("auto", "text", "json"),
        section="logging", key="format",
    )] = "auto"
    api_host: Annotated[str, Setting(
        "Address that `recoup api` and `recoup up` listen on. Other machines need keys: `recoup keys add`.",
        section="api", key="host",
    )] = "127.0.0.1"
    api_port: Annotated[int, Setting(
        "Port that they listen on. 0: any that is free.", unit="port", least=0, most=65_535, section="api", key="port",
    )] = 8321
    api_viewer_login: Annotated[str | None, Setting(
        "With `dsn`: the login of the API for keys of the role viewer. A connection string, or `env:NAME`: a "
        "variable, or a file under `[secrets]`.", section="api", key="viewer_login",
    )] = field(default=None, repr=False)
    api_producer_login: Annotated[str | None, Setting(
        "With `dsn`: the login of the API for keys of the role producer. A connection string, or `env:NAME`: a "
        "variable, or a file under `[secrets]`.", section="api", key="producer_login",
    )] = field(default=None, repr=False)
    api_operator_login: Annotated[str | None, Setting(
        "With `dsn`: the login of the API for keys of the role operator. A connection string, or `env:NAME`: a "
        "variable, or a file under `[secrets]`.", section="api", key="operator_login",
    )] = field(default=None, repr=False)
    api_reviewer_login: Annotated[str | None, Setting(
        "With `dsn`: the login of the API for keys of the role reviewer. A connection string, or `env:NAME`: a "
        "variable, or a file under `[secrets]`.", section="api", key="reviewer_login",
    )] = field(default=None, repr=False)
    api_admin_login: Annotated[str | None, Setting(
        "With `dsn`: the login of the API for keys of the role admin. A connection string, or `env:NAME`: a "
        "variable, or a file under `[secrets]`.", section="api", key="admin_login",
    )] = field(default=None, repr=False)
    api_service_login: Annotated[str | None, Setting(
        "The same for what the API does for itself: it checks keys, counts, and reads for `/metrics` and `/readyz`.",
        section="api", key="service_login",
    )] = field(default=None, repr=False)
    api_connections_per_address: Annotated[int, Setting(
        "Maximum open connections to one API process from one address: of IPv6, from one network of 64 bits. Behind a "
        "proxy all come from the proxy's.",
        unit="connections", least=1, most=1000, section="api", key="connections_per_address",
    )] = 200
    worker_name: Annotated[str | None, Setting(
        "Name of the worker in logs and claims. Default: host name and process id.", section="worker", key="name",
    )] = None
    worker_duties: Annotated[str | None, Setting(
        "Duties that the worker runs, separated by commas; a list in the project file. Default: all.",
        section="worker", key="duties",
    )] = None
    sink: Annotated[Path | None, Setting(
        "Folder of the raw sink, where extracted partitions are written. Default: `sink` in `home`.",
        section="partitions", key="sink",
    )] = None
    sink_name: Annotated[str, Setting(
        "Name under which that sink is registered in the database.", section="partitions", key="sink_name",
    )] = "default"
    partition_executor: Annotated[str, Setting(
        "Where a worker runs extractors and validators: threads of its own, processes, or a Dask cluster.",
        one_of=("threads", "processes", "dask"), section="partitions", key="executor",
    )] = "threads"
    partition_slots: Annotated[int, Setting(
        "Partitions that a worker works on at the same time.", unit="partitions", least=1, most=1000,
        section="partitions", key="slots",
    )] = 8
    dask_scheduler: Annotated[str | None, Setting(
        "Address of the scheduler of the Dask cluster, such as tcp://host:8786.",
        section="partitions", key="scheduler",
    )] = None
    demo_customers: Annotated[int, Setting(
        "Customers of each source in the demo of partitions, which has sixty days of three sources. Fewer are built "
        "sooner.", unit="customers", least=4, most=99, section=None,
    )] = 40
    project: Annotated[Path | None, Setting(
        "Project file to use. Default: the nearest recoup.toml, in the current directory or above. none: use no"
        " project file.", section=None,
    )] = None
    # fmt: on
    handlers: Mapping[str, str] = field(default_factory=dict, compare=False)  # of the project file: table, function
    actions: Mapping[str, str] = field(default_factory=dict, compare=False)  # the same: action, function
    secrets: Mapping[str, str] = field(default_factory=dict, compare=False)  # the same: variable, file
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)  # where each value that is given comes from

    @property
    def api_logins(self) -> dict[str, str]:
        """The connection strings of the API that are set, by role."""
        given = {name: getattr(self, setting) for setting, name in API_LOGINS.items()}
        return {name: value for name, value in given.items() if value is not None}


def _table() -> Iterator[Setting]:
    hints = get_type_hints(Settings, include_extras=True)
    for one in fields(Settings):
        if not isinstance((get_args(hints[one.name]) or (None,))[-1], Setting):
            continue
        kind, row = get_args(hints[one.name])
        kind = (get_args(kind) or (kind,))[0]  # without its "or None"
        yield replace(row, name=one.name, kind=kind, default=None if one.default is MISSING else one.default)


SETTINGS = tuple(_table())


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Read and check every setting. Refuses unknown names, malformed values and values out of bounds.

    A program that passes its own environment gets no options, and no project file unless RECOUP_PROJECT names one.
    """
    around = os.environ if environment is None else environment
    options = OPTIONS if environment is None else {}
    given = {name: Given(text, f"--{name}", f"--{name}", 3) for name, text in options.items()}
    given = dict(from_environment(SETTINGS, around)) | given
    file = _project(given.pop("project", None), search=environment is None)
    if file is not None:
        given = dict(from_file(SETTINGS, file)) | given
    given = {name: one for name, one in given.items() if not _is_replaced(name, given)}
    values = {s.name: s.default for s in SETTINGS if s.default is not None}
    values |= {s.name: parsed(s, given[s.name]) for s in SETTINGS if s.name in given}  # type: ignore[misc]
    return Settings(
        **{"home": default_home(around), "actor": _login_name(), **values},  # type: ignore[arg-type]
        project=None if file is None else file.path,
        handlers={} if file is None else read_handlers(file),
        actions={} if file is None else read_actions(file),
        secrets={} if file is None else read_secrets(file),
        sources={name: one.source for name, one in given.items()},
    )


def _project(given: Given | None, *, search: bool) -> ProjectFile | None:
    if given is not None and not str(given.value).strip():
        raise empty(given)
    if given is not None and given.value == NO_PROJECT:
        return None
    path = Path(str(given.value)).expanduser() if given is not None else project.find() if search else None
    return None if path is None else project.read(path)


def _is_replaced(name: str, given: Mapping[str, Given]) -> bool:
    """Whether a source that comes first names another server: then what others say of theirs does not count."""
    ranks = {one: given[one].rank for one in ("home", "dsn") if one in given}
    return name in ("dsn", "admin_dsn") and given[name].rank < max(ranks.values(), default=0)


def default_home(environment: Mapping[str, str]) -> Path:
    """The default folder of the embedded server."""
    if os.geteuid() == 0:
        # Root's home is closed to the unprivileged user that has to run the server.
        return Path("/var/lib/recoup")
    data = environment.get("XDG_DATA_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".local/share")
    return Path(data).expanduser().absolute() / "recoup"


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no passwd entry and no USER: common in containers
        return f"uid-{os.getuid()}"
