"""One setting: what it may be, where its value comes from, and the refusal when that does not fit."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from recoup.project import ProjectFile
from recoup.refusals import SettingRefused

PREFIX = "RECOUP_"
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
TABLE = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")
ACTION = re.compile(r"[a-z][a-z0-9_]{0,99}")
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
FUNCTIONS = frozenset({"handlers", "actions", "secrets"})  # sections that name functions, or files


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: why it is there and what it may be. Name, kind and default are its field's."""

    description: str
    unit: str = ""
    least: int | None = None
    most: int | None = None
    one_of: tuple[str, ...] = ()
    section: str | None = ""  # of the project file; None: it is not set there
    key: str = ""  # in that section; its name unless another one is given
    name: str = ""
    kind: type[str] | type[int] | type[Path] = str
    default: str | int | None = None

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


class Given(NamedTuple):
    """A value before it is checked."""

    value: object
    label: str  # how a refusal names it
    source: str  # how the doctor names it
    rank: int  # of its source: the project file, the environment, an option
    folder: Path | None = None  # a relative path starts here; None: the current directory


def from_environment(table: Sequence[Setting], environment: Mapping[str, str]) -> Iterator[tuple[str, Given]]:
    """What the environment has of Recoup's settings. Refuses a RECOUP_ variable that is none."""
    known = {setting.variable: setting for setting in table}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX):
            continue
        if variable not in known:
            raise _unknown(variable, f"{variable} is set, and Recoup has no setting of that name.", known)
        yield known[variable].name, Given(text, variable, variable, 2)


def from_file(table: Sequence[Setting], file: ProjectFile) -> Iterator[tuple[str, Given]]:
    """What a project file says. Refuses everything in it except settings and functions."""
    known = {(setting.section, setting.key or setting.name): setting for setting in table}
    sections = {section for section, _ in known if section}
    for section, values in _sections(file, sections | FUNCTIONS):
        for key, value in values.items():
            if section in FUNCTIONS:
                continue
            place = file.place(section, key)
            if (section, key) not in known:
                names = [name for where, name in known if where == section]
                raise _unknown(key, f"{place}: Recoup has no setting of that name.", names, file=file, section=section)
            setting = known[section, key]
            yield setting.name, Given(value, place, place.rpartition(": ")[0], 1, file.folder)
    if "dsn" in file.values and "home" in file.values:
        raise SettingRefused(
            "bad_setting",
            f"{file.place('', 'home')}: the file names a server (dsn) and a folder for the embedded one (home).",
            "Remove one of the two.",
            file=str(file.path), key="home", line=file.line_of("", "home"),
        )  # fmt: skip


def _sections(file: ProjectFile, known: Iterable[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The keys outside of any section, then each section."""
    tables = {name: value for name, value in file.values.items() if isinstance(value, dict)}
    for name in tables:
        if name not in known:
            happened = f"{file.place('', name)}: Recoup has no section of that name."
            raise _unknown(name, happened, known, file=file, section="")
    yield "", {name: value for name, value in file.values.items() if name not in tables}
    yield from tables.items()


def handlers(file: ProjectFile) -> dict[str, str]:
    """The functions that retry the errors of a table, as a project file names them."""
    found: dict[str, Any] = {}
    for name, value in file.values.get("handlers", {}).items():
        # Without quotes around schema.table it is a table of its own in TOML.
        found |= {f"{name}.{table}": one for table, one in value.items()} if isinstance(value, dict) else {name: value}
    for table, function in found.items():
        if wrong := _wrong(file, "handlers", table, function, TABLE, "the name of an error table"):
            raise SettingRefused(
                "bad_setting",
                wrong,
                'Write schema and table in quotes, and module:function: "billing.invoice_errors" ='
                ' "pipeline.retries:invoice"',
                file=str(file.path), section="handlers", key=table, line=file.line_of("handlers", table),
            )  # fmt: skip
    return found


def actions(file: ProjectFile) -> dict[str, str]:
    """The functions that execute actions of recovery, as a project file names them."""
    found: dict[str, Any] = file.values.get("actions", {})
    for action, function in found.items():
        if wrong := _wrong(file, "actions", action, function, ACTION, "the name of an action"):
            raise SettingRefused(
                "bad_setting",
                wrong,
                'Write the action of the policy, and module:function: restart_unit = "pipeline.actions:restart_unit"',
                file=str(file.path), section="actions", key=action, line=file.line_of("actions", action),
            )  # fmt: skip
    return dict(found)


def secrets(file: ProjectFile) -> dict[str, str]:
    """The files that hold secrets of routes, by the names that the policy has for them."""
    found: dict[str, Any] = file.values.get("secrets", {})
    for name, path in found.items():
        # What is written there may be the secret itself, so it is not repeated.
        if not VARIABLE.fullmatch(name) or not isinstance(path, str) or not path.strip() or "://" in path:
            raise SettingRefused(
                "bad_setting",
                f"{file.place('secrets', name)} is not a variable in capital letters and the path of a file.",
                'Write the secret into a file of its own (chmod 600), and its path here: OPS_URL = "secrets/ops_url"',
                file=str(file.path), section="secrets", key=name, line=file.line_of("secrets", name),
            )  # fmt: skip
    return {name: str(file.folder / path) for name, path in found.items()}


def _wrong(
    file: ProjectFile, section: str, name: str, function: object, names: re.Pattern[str], called: str
) -> str | None:
    if not isinstance(function, str) or not FUNCTION.fullmatch(function):
        return f"{file.place(section, name)} is {function!r}, which is not a function of a module."
    return None if names.fullmatch(name) else f"{file.place(section, name)} is not {called}."


def parsed(setting: Setting, given: Given) -> str | int | Path:
    """A value as its setting has it; or a refusal."""
    value, label = given.value, given.label
    if setting.name == "worker_duties" and isinstance(value, list):
        value = ",".join(map(str, value))
    text = str(value)
    if isinstance(value, str) and not text.strip():
        raise empty(given)
    # A number in quotes is none in TOML; in the environment everything is text.
    is_number = type(value) is int or (isinstance(value, str) and given.rank > 1)
    if setting.kind is int:
        return _number(setting, given, text if is_number else "")
    if not isinstance(value, str):
        raise SettingRefused(
            "bad_setting", f"{label} is {value!r}, which is not text.", "Write it in quotes.", **_where(given)
        )
    if setting.kind is Path:
        return (given.folder or Path()).absolute() / Path(text).expanduser()
    if setting.one_of and text not in setting.one_of:
        raise SettingRefused(
            "bad_setting",
            f"{label} is {text!r}, which is none of {', '.join(setting.one_of)}.",
            f"Use one of them, or remove it for the default, {setting.default}.",
            value=text, one_of=setting.one_of, **_where(given),
        )  # fmt: skip
    return text


def _number(setting: Setting, given: Given, text: str) -> int:
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
            f"{given.label} is {given.value!r}, which is not a whole number from {low} to {high}.",
            f"Use a number of {setting.unit} from {low} to {high}, or remove it for the default, {setting.default}.",
            value=given.value, least=low, most=high, **_where(given),
        )  # fmt: skip
    return number


def empty(given: Given) -> SettingRefused:
    """The refusal of a value that is empty."""
    return SettingRefused(
        "empty_setting",
        f"{given.label} is set, and empty.",
        "Remove it for the default, or give it a value: the variable that it is made from may be unset.",
        **_where(given),
    )


def _unknown(
    name: str, happened: str, known: Iterable[str], file: ProjectFile | None = None, section: str = ""
) -> SettingRefused:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    where: dict[str, object] = {"variable": name}
    if file is not None:
        where = {"file": str(file.path), "section": section, "key": name, "line": file.line_of(section, name)}
    return SettingRefused(
        "unknown_setting",
        happened,
        f"Did you mean {near[0]}? Remove {name}." if near else f"Remove it. Known are: {', '.join(sorted(known))}.",
        nearest=near[0] if near else None,
        **where,
    )


def _where(given: Given) -> dict[str, object]:
    """What a refusal says of the place, as data."""
    return {"variable": given.label} if given.rank > 1 else {"place": given.label}
