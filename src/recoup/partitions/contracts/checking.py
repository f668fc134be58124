"""Executes a contract on the files of one run.

One query has all rules over rows, one has the expressions of all SQL checks, and each SELECT of theirs is one. Rows are
fetched only for rules that are broken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from recoup.formatting import plural
from recoup.partitions.contracts import rules as of
from recoup.partitions.contracts.declaration import PARAMETERS, Check, Contract
from recoup.partitions.contracts.engine import (
    Limits,
    Session,
    duckdb,
    expression_sql,
    first_line,
    query_sql,
    quoted,
    rolled_back,
    session,
)
from recoup.partitions.contracts.reading import JSONL, PARQUET, TABLE, Loaded, Unnamed, Unreadable, load
from recoup.partitions.contracts.types import Typed, typed
from recoup.partitions.identity import Partition
from recoup.partitions.interfaces import Finding, Validation, Validator, Verdict
from recoup.redaction import redacted
from recoup.refusals import InputRefused

MAX_VALUE = 200  # characters of a value in a sample
MAX_EXAMPLE = 3  # values of a sample that a message has
FORMATS = {".parquet": PARQUET, ".pq": PARQUET, ".jsonl": JSONL, ".ndjson": JSONL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a contract may refer to in addition to the data. None: it is not known, and rules about it are skipped."""

    partition: Partition | None = None
    window_start: datetime | None = None
    window_end: datetime | None = None
    now: datetime | None = None
    previous_rows: int | None = None

    @property
    def window(self) -> tuple[datetime, datetime] | None:
        if self.window_start is None or self.window_end is None:
            return None
        return self.window_start, self.window_end

    def parameters(self) -> dict[str, Any]:
        """By the names that SQL checks have for them."""
        key = self.partition._asdict() if self.partition is not None else {}
        values = {
            "window_start": self.window_start, "window_end": self.window_end, "now": self.now,
            "previous_rows": self.previous_rows, **key,
        }  # fmt: skip
        return {name: values.get(name) for name in PARAMETERS}


def validator(contract: Contract, *, limits: Limits | None = None, own_keys: Sequence[str] = ()) -> Validator:
    """A validator that accepts runs that fulfil a contract. ``own_keys``: further names whose values are secret."""

    def validate(validation: Validation) -> Verdict:
        circumstances = Circumstances(
            partition=validation.partition, window_start=validation.window_start, window_end=validation.window_end,
            now=validation.now, previous_rows=validation.previous_rows,
        )  # fmt: skip
        files = [validation.folder / file for file in validation.files]
        return check(files, validation.format, contract, circumstances, limits=limits, own_keys=own_keys)

    return validate


def check_file(
    path: Path, contract: Contract, *, format: str | None = None, circumstances: Circumstances | None = None,
    limits: Limits | None = None, own_keys: Sequence[str] = (),
) -> Verdict:  # fmt: skip
    """Try a contract on one file."""
    known = format or FORMATS.get(path.suffix.lower())
    if known not in (PARQUET, JSONL):
        raise InputRefused(
            "contract_format_unknown",
            f"{path} is neither a Parquet file nor JSON lines by its name.",
            "Name it .parquet or .jsonl, or give its format: parquet or jsonl.",
            path=str(path),
        )
    if not path.is_file():
        raise InputRefused("file_not_found", f"There is no file {path}.", "Give the path of a file.", path=str(path))
    return check([path], known, contract, circumstances or Circumstances(), limits=limits, own_keys=own_keys)


def check(
    files: Sequence[Path], format: str, contract: Contract, circumstances: Circumstances,
    *, limits: Limits | None = None, own_keys: Sequence[str] = (),
) -> Verdict:  # fmt: skip
    """Judge the files of one run. Raises a refusal where the contract itself is at fault."""
    if not files:
        return _Judged(contract, circumstances, own_keys).nothing()
    with session(limits or Limits()) as opened:
        try:
            loaded = load(opened, files, format)
            return _Judged(contract, circumstances, own_keys).judge(opened, loaded)
        except Unreadable as problem:
            return _rejected(of.UNREADABLE, "readable", f"The files cannot be read as {format}: {problem}")
        except Unnamed as problem:
            return _rejected(of.DRIFT, "columns", f"The columns are not those of the contract: {problem}")


def _rejected(reason: str, rule: str, message: str) -> Verdict:
    finding = Finding(rule=rule, count=1, message=message)
    return Verdict(accepted=False, reason=reason, rule=rule, message=message, findings=(finding,))


@dataclass(slots=True)
class _Judged:
    """What was found so far, in the order of the verdict."""

    contract: Contract
    circumstances: Circumstances
    own_keys: Sequence[str]
    found: list[tuple[str, Finding]] = field(default_factory=list)  # reason, finding
    skipped: list[str] = field(default_factory=list)
    rows: int = 0

    def judge(self, opened: Session, loaded: Loaded) -> Verdict:
        columns = {
            name: typed(name, self.contract.columns[name].type, physical)
            for name, physical in loaded.columns.items() if name in self.contract.columns
        }  # fmt: skip
        rules = of.row_rules(self.contract, columns, self.circumstances.window)
        counts, latest = self._counts(opened, loaded, rules, columns)
        if self.rows or loaded.has_schema:
            self._columns(loaded)
        broken = [(rule, count) for rule, count in zip(rules, counts, strict=True) if count]
        for rule, count in broken:
            if rule.reason == of.DRIFT:
                self._add(opened, rule, count)
        has_drifted = bool(self.found)
        self._row_counts()
        for rule, count in broken:
            if rule.reason != of.DRIFT:
                self._add(opened, rule, count)
        self._freshness(columns, latest)
        if has_drifted:  # they would fail at columns that are not there
            self.skipped += (f"checks.{name}" for name in self.contract.checks)
        else:
            self._checks(opened, loaded, columns)
        return self.verdict()

    def nothing(self) -> Verdict:
        """The verdict on a run without files."""
        self._row_counts()
        return self.verdict()

    def verdict(self) -> Verdict:
        """Everything found, as one verdict. The first finding gives its reason."""
        skipped = f"Not checked: {', '.join(self.skipped)}." if self.skipped else None
        if not self.found:
            return Verdict(accepted=True, message=skipped)
        (reason, first), *others = self.found
        more = f" Also broken: {', '.join(one.rule for _, one in others)}." if others else ""
        message = f"{first.message}.{more}{f' {skipped}' if skipped else ''}"
        findings = tuple(finding for _, finding in self.found)
        return Verdict(accepted=False, reason=reason, rule=first.rule, message=message, findings=findings)

    def _counts(
        self, opened: Session, loaded: Loaded, rules: Sequence[of.Rule], columns: Mapping[str, Typed]
    ) -> tuple[Sequence[int], int | None]:
        timed = self.contract.freshness.column
        is_timed = self.contract.freshness.max_age_hours is not None and timed in columns
        latest = of.latest(columns[timed]) if is_timed and timed is not None else "null"
        terms = ",\n".join(["count(*)", latest, *(rule.count for rule in rules)])
        parameters = {name: value for rule in rules for name, value in rule.parameters.items()}
        try:
            ((self.rows, latest_us, *counts),) = opened.rows(f"select {terms} from {TABLE}", parameters)
        except duckdb().Error as error:
            if not loaded.is_lazy:
                raise
            raise Unreadable(first_line(error)) from error
        return counts, latest_us

    def _columns(self, loaded: Loaded) -> None:
        """Columns that are missing, or not declared."""
        declared = self.contract.columns
        for name in sorted(declared):
            if name in loaded.columns or (declared[name].nullable and not loaded.has_schema):
                if name in loaded.partly:
                    self._schema(f"columns.{name}", f"column {name} is missing in {loaded.partly[name]}")
                continue
            other = next((one for one in loaded.columns if one.lower() == name.lower()), None)
            self._schema(f"columns.{name}", f"column {name} is missing" + (f"; there is {other}" if other else ""))
        extra = [name for name in loaded.columns if name not in declared]
        if extra and not self.contract.extra_columns:
            shown = ", ".join(extra[: of.MAX_COLUMNS_SHOWN]) + (", …" if len(extra) > of.MAX_COLUMNS_SHOWN else "")
            few = len(extra) == 1
            says = f"{'column' if few else 'columns'} {shown} {'is' if few else 'are'} not in the contract"
            self._schema("extra_columns", says, len(extra))

    def _schema(self, rule: str, message: str, count: int = 1) -> None:
        self.found.append((of.DRIFT, Finding(rule=rule, count=count, message=message)))

    def _row_counts(self) -> None:
        for rule, reason, says in of.row_counts(self.contract, self.rows, self.circumstances.previous_rows):
            self.found.append((reason, Finding(rule=rule, count=1, message=says)))
        # Whatever else is wrong with a run without rows, that it has none is the reason.
        self.found.sort(key=lambda one: one[0] != of.EMPTY)

    def _add(self, opened: Session, rule: of.Rule, count: int) -> None:
        sample = self._sample(opened, rule.sample, rule.parameters)
        message = f"{rule.says}: {count:,} of {plural(self.rows, 'row')} {'fails' if count == 1 else 'fail'}"
        self.found.append(
            (rule.reason, Finding(rule=rule.name, count=count, message=message + _example(sample), sample=sample))
        )

    def _sample(self, opened: Session, sql: str, parameters: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """A few rows, as JSON has them, without secrets."""
        try:
            with rolled_back(opened):
                found = opened.rows(f"select to_json(sampled) from ({sql}) as sampled", parameters)
        except duckdb().Error:  # not every type has a form in JSON; the count is shown without examples
            return ()
        return tuple(
            {name: _shortened(value) for name, value in redacted(json.loads(row), self.own_keys).items()}
            for (row,) in found
        )

    def _freshness(self, columns: Mapping[str, Typed], latest_us: int | None) -> None:
        freshness, window = self.contract.freshness, self.circumstances.window
        if freshness.column is None or freshness.column not in columns or not self.rows:
            return
        if window is None:
            self.skipped.append("freshness")
        elif (problem := of.too_old(self.contract, latest_us, window[1])) is not None:
            self.found.append((of.STALE, Finding(rule="freshness.max_age_hours", count=self.rows, message=problem)))

    def _checks(self, opened: Session, loaded: Loaded, columns: Mapping[str, Typed]) -> None:
        checks = {name: self.contract.checks[name] for name in sorted(self.contract.checks)}
        known = {name: value for name, value in self.circumstances.parameters().items() if value is not None}
        sound: dict[str, Check] = {}
        for name, one in checks.items():
            problem = one.problem()
            if problem is not None:
                raise _not_checked(name, problem)
            if one.parameters() <= known.keys():
                sound[name] = one
            else:
                self.skipped.append(f"checks.{name}")
        if not sound:
            return
        values = [
            f"{columns[name].value if name in columns else quoted(name)} as {quoted(name)}" for name in loaded.columns
        ]
        opened.rows(f"create temp view data as select {', '.join(values) or '1'} from {TABLE}")
        for name, count in self._broken(opened, sound, known).items():
            if count:
                used = {used: known[used] for used in sound[name].parameters()}
                self._add(opened, _rule(name, sound[name], used), count)

    def _broken(self, opened: Session, checks: Mapping[str, Check], known: Mapping[str, Any]) -> dict[str, int]:
        """How many rows break each check: all expressions in one query, if it can be executed."""
        rowwise = {name: one for name, one in checks.items() if one.every_row is not None}
        counts: dict[str, int] = {}
        if len(rowwise) > 1:
            terms = ", ".join(expression_sql(one.every_row or "") for one in rowwise.values())
            used = {name: known[name] for one in rowwise.values() for name in one.parameters()}
            try:
                with rolled_back(opened):
                    (row,) = opened.rows(f"select {terms} from data", used)
                counts.update(zip(rowwise, row, strict=True))
            except duckdb().Error:
                counts = {}  # one of them fails; alone, each says whether it is the one
        for name, one in checks.items():
            if name not in counts:
                counts[name] = self._broken_one(opened, name, one, known)
        return {name: counts[name] for name in checks}

    def _broken_one(self, opened: Session, name: str, one: Check, known: Mapping[str, Any]) -> int:
        try:
            with rolled_back(opened):
                ((count,),) = opened.rows(one.sql(), {used: known[used] for used in one.parameters()})
        except duckdb().Error as error:
            if not self.found:
                raise _not_checked(name, first_line(error)) from error
            self.skipped.append(f"checks.{name} ({first_line(error)})")  # it is rejected anyhow
            return 0
        return int(count)


def _rule(name: str, one: Check, parameters: Mapping[str, Any]) -> of.Rule:
    if one.no_rows is not None:
        broken, says = f"{query_sql(one.no_rows)} as broken", f"check {name}"
    else:
        broken, says = f"data where not (\n{one.every_row}\n)", f"check {name} ({one.every_row})"
    return of.Rule(
        name=f"checks.{name}", says=one.description or says, reason=of.BROKEN, count="",
        sample=f"select * from {broken} limit {of.MAX_SAMPLE}", parameters=parameters,
    )  # fmt: skip


def _not_checked(name: str, problem: str) -> InputRefused:
    return InputRefused(
        "contract_check_failed",
        f"The check {name} of the contract cannot be executed: {problem}.",
        "Fix its SQL, and apply the policy again.",
        check=name,
    )


def _shortened(value: Any) -> Any:
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    return f"{value[:MAX_VALUE]}…" if isinstance(value, str) and len(value) > MAX_VALUE else value


def _example(sample: Sequence[Mapping[str, Any]]) -> str:
    if not sample:
        return ""
    shown = [f"{name} = {'null' if value is None else value}" for name, value in sample[0].items()]
    return f", e.g. {', '.join(shown[:MAX_EXAMPLE])}"
