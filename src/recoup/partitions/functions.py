"""Which functions extract and validate the partitions of a query, and whether this process can call them.

The policy names them: ``module:function``, imported from the folder of the project file or from an installed package;
or the name that a package gives them as an entry point (groups ``recoup.extractors`` and ``recoup.validators``). A
query with a data contract needs no function of yours to validate it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from recoup.own_functions import OwnFunction, Role
from recoup.partitions import contracts
from recoup.partitions.interfaces import Extractor, Validation, Validator, Verdict
from recoup.partitions.policy import PartitionPolicy, Query
from recoup.redaction import in_words
from recoup.refusals import Refusal

Called = TypeVar("Called", bound=Callable[..., object])


def _callable(loaded: Any) -> Any:
    if not callable(loaded):
        raise TypeError(f"a function is needed, and this is of type {type(loaded).__name__}")
    return loaded


EXTRACTORS: Role[Extractor] = Role(word="extractor", serves="query", group="recoup.extractors", checked=_callable)
VALIDATORS: Role[Validator] = Role(word="validator", serves="query", group="recoup.validators", checked=_callable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A validator, and what an attempt says about it."""

    validate: Validator
    name: str
    version: str | None = None
    contract_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The functions of a query by name, and what they are given: small enough to be sent to another process."""

    extractor: str
    extract_with: Mapping[str, Any] = field(default_factory=dict)
    validator: str | None = None
    validate_with: Mapping[str, Any] = field(default_factory=dict)
    contract: str | None = None
    declared: Mapping[str, Any] | None = None  # the contract itself
    project: Path | None = None

    def extracting(self) -> Extractor:
        """The extractor. Raises where it cannot be used."""
        return _usable(EXTRACTORS.named(self.extractor, self.project))  # type: ignore[no-any-return]

    def judging(self) -> Judge:
        """The validator. Raises where it cannot be used."""
        if self.declared is not None:
            return _of_contract(self.contract or "contract", _Declared(self.declared))
        if self.validator is None:
            return Judge(validate=_accept_all, name="none")
        function = _usable(VALIDATORS.named(self.validator, self.project))
        version = getattr(function, "version", None)
        return Judge(validate=function, name=self.validator, version=None if version is None else str(version)[:200])

    def problem(self) -> str | None:
        """Why this process cannot extract or validate the query; None: it can."""
        try:
            self.extracting()
            self.judging()
        except Refusal as refusal:
            return f"{refusal.happened} {refusal.next_step}"
        except Exception as error:  # noqa: BLE001 - whatever its import raises, other queries are served
            return f"{type(error).__name__}: {in_words(error)}"
        return None


class Unusable(Exception):  # noqa: N818 - describes a function
    """A function cannot be loaded."""


def named(policy: PartitionPolicy, query: Query, project: Path | None) -> Named:
    """The functions of a registered query."""
    declared = None if query.contract is None else policy.contracts.get(query.contract)
    return Named(
        extractor=query.extractor, extract_with=query.extract_with, validator=query.validator,
        validate_with=query.validate_with, contract=query.contract,
        declared=None if declared is None else declared.model_dump(),
        project=project,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Served:
    """What this process can extract and validate."""

    queries: dict[str, list[str]]  # by source
    problems: dict[tuple[str, str], str]  # source and query that it cannot, and why


def served(policy: PartitionPolicy, project: Path | None) -> Served:
    """The registered queries whose functions can be loaded here, and why the others cannot."""
    found = Served({}, {})
    for source, one in policy.sources.items():
        for name, query in one.queries.items():
            problem = named(policy, query, project).problem()
            if problem is None:
                found.queries.setdefault(source, []).append(name)
            else:
                found.problems[source, name] = problem
    return found


def _usable(found: OwnFunction) -> Any:
    if found.function is None:
        raise Unusable(f"{found.name} cannot be used: {found.problem}")
    return found.function


def _accept_all(_validation: Validation) -> Verdict:
    """For a query without a validator: what could be extracted is accepted."""
    return Verdict(accepted=True)


class _Declared(dict[str, Any]):
    """The values of a contract, by which a validator that is made once is found again."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self)))


@lru_cache(maxsize=100)
def _of_contract(name: str, declared: _Declared) -> Judge:
    contract = contracts.declared(declared)
    return Judge(
        validate=contracts.validator(contract), name=f"contract:{name}", version=str(contracts.CONTRACT_VERSION),
        contract_digest=contracts.digest(contract),
    )  # fmt: skip
