"""Commands made from declared verbs: over named rows, or over many with a preview, in batches that can be resumed."""

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Protocol
from uuid import UUID

from cyclopts import App, Parameter, validators

from recoup.cli.context import acting, opened, person
from recoup.cli.operations import plain, print_operation
from recoup.cli.output import Column, Demo, Json, command, ends_with, print_fields, print_rows, say, shown
from recoup.cli.progress import progress
from recoup.database.connection import Transaction
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Operation, Preview, Subject, Verb, begin, carry_on, find, preview, steps
from recoup.refusals import InputRefused

FIRST = 5  # rows that a preview shows
ANSWERED = ("refused", "now", Column("happened", "message"), Column("next_step", "next"))


class Asked(Protocol):
    """The options of a filter, as a dataclass that cyclopts reads."""

    def filter(self) -> Any: ...


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """Options over many rows."""

    yes: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="With a filter: do it. Without it, only a preview."),
    ] = False
    resume: Annotated[
        UUID | None, Parameter(show_default=False, help="Resume an operation that was interrupted or paused.")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Steps(Many):
    """Options over many rows, for verbs whose rows have an outcome later."""

    canary: Annotated[
        int | None,
        Parameter(
            show_default=False,
            validator=validators.Number(gte=1, lte=steps.MAX_FIRST),
            help="Let this many go first. A worker continues in growing steps while their outcomes are good.",
        ),
    ] = None
    rate: Annotated[
        int | None,
        Parameter(
            show_default=False,
            validator=validators.Number(gte=1, lte=steps.MAX_RATE),
            help="With --canary: maximum number per minute. Default: as in the policy.",
        ),
    ] = None
    watch: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="With --canary: stay until it ends, pauses or stops. Ctrl-C leaves it going.",
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbs:
    """How a command line offers the verbs of a subject."""

    subject: Subject
    command: str  # errors: as in `recoup errors park`
    which: Asked  # no filter
    ids: str  # help for the names of rows
    # Names as people give them to units; the status of units, in words; and the first rows that match, for a preview.
    units: Callable[[Transaction, Sequence[str]], list[str]]
    statuses: Callable[[Transaction, Sequence[str]], Sequence[str | None]] | None = None
    first: Callable[[Transaction, Any, int], Sequence[Any]] | None = None
    print_first: Callable[[Sequence[Any]], None] | None = None

    def into(self, app: App) -> None:
        for verb in self.subject.verbs:
            app.command(self._command(verb), name=verb.name)

    def _command(self, verb: Verb) -> Callable[..., None]:
        def run(*names: str, which: Any = self.which, many: Many | None = None, **given: Any) -> None:
            demo, json = given.pop("demo", False), given.pop("json", False)
            _Call(self, verb, demo=demo, json=json).run(names, which.filter(), many or Many(), given)

        parameters = [_parameter("names", str, Parameter(help=self.ids), kind=inspect.Parameter.VAR_POSITIONAL)]
        for argument in verb.arguments:
            bounds = validators.Number(gte=argument.least, lte=argument.most) if argument.kind is int else None
            about = Parameter(help=argument.help, show_default=False, validator=bounds)
            parameters.append(_parameter(argument.name, argument.kind | None, about, default=None))
        parameters.append(_plain("which", type(self.which), self.which))
        offered = Steps if verb.name in self.subject.outcomes else Many
        parameters.append(_plain("many", offered, offered()))
        parameters += [_plain("demo", Demo, False), _plain("json", Json, False)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__, run.__name__ = verb.help, verb.name
        return run


def _parameter(name: str, kind_: Any, about: Parameter, *, default: Any = inspect.Parameter.empty,
               kind: Any = inspect.Parameter.KEYWORD_ONLY) -> inspect.Parameter:  # fmt: skip
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[kind_, about])


def _plain(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class _Call:
    """One call of a verb's command."""

    def __init__(self, verbs: Verbs, verb: Verb, *, demo: bool, json: bool) -> None:
        self.verbs, self.subject, self.verb = verbs, verbs.subject, verb
        self.demo, self.json = demo, json

    def run(self, names: Sequence[str], asked: Any, many: Many, given: dict[str, Any]) -> None:
        if sum((bool(names), not asked.is_empty, many.resume is not None)) != 1:
            raise InputRefused(
                f"{self.verbs.command}_unclear",
                f"It is not clear which {self.subject.noun}s to {self.verb.name}.",
                "Give either ids, or a filter, or --resume with an operation:"
                f" recoup {self.verbs.command} {self.verb.name} --help",
            )
        steps_ = many if isinstance(many, Steps) else Steps()
        if steps_.canary is None and (steps_.rate is not None or (steps_.watch and many.resume is None)):
            raise InputRefused(
                "canary_missing", "--rate and --watch go with --canary.", "Give it: --canary 5, or leave them out."
            )
        if many.resume is not None:
            self._carry_on(many.resume, watch=steps_.watch)
        elif steps_.canary is not None and (names or many.yes):
            self._canary(self.subject.act(self.verb.name, **given), names, asked, steps_)
        elif names:
            self._named(self.subject.act(self.verb.name, **given), names)
        elif not many.yes:
            self._preview(Act(verb=self.verb.name, given={k: v for k, v in given.items() if v is not None}), asked)
        else:
            act = self.subject.act(self.verb.name, **given)
            with acting(Authority.OPERATOR, demo=self.demo, reason=act.reason) as tx:
                operation = begin(tx, self.subject, act, asked)
            self._carry_on(operation)

    def _named(self, act: Act, names: Sequence[str]) -> None:
        with acting(self.subject.authority, demo=self.demo, reason=act.reason) as tx:
            units = self.verbs.units(tx, names)
            answers = self.subject.carry_out(tx, act, units)
            now = self.verbs.statuses(tx, units) if self.verbs.statuses is not None else [None] * len(units)
        rows = [
            {**self.subject.named(answer.unit), **answer._asdict(), "now": status}
            for answer, status in zip(answers, now, strict=True)
        ]
        for row in rows:
            del row["unit"]
        named = tuple(self.subject.named(answers[0].unit))
        with ends_with(0 if all(answer.done for answer in answers) else 1):
            print_rows(rows, as_json=self.json, columns=(*named, *ANSWERED), empty="")

    def _preview(self, act: Act, asked: Any) -> None:
        with acting(Authority.READER, demo=self.demo) as tx:
            found = preview(tx, self.subject, act, asked)
            meant = self.subject.narrowed(act, asked)
            first = self.verbs.first(tx, meant, FIRST) if self.verbs.first is not None else ()
        if self.json:
            print_fields({**_plain_preview(found), "first": [asdict(row) for row in first]}, as_json=True)
            return
        noun = self.subject.noun
        counts: Counter[tuple[tuple[str, Any], ...]] = Counter()
        for group in found.groups:
            counts[tuple(group.place.items())] += group.rows
        rows = [{**dict(place), f"{noun}s": count} for place, count in counts.items()]
        print_rows(rows, as_json=False, empty=f"No {noun}s match that you can {self.verb.name}.")
        if first and self.verbs.print_first is not None:
            print("\nThe newest:\n")
            self.verbs.print_first(first)
        if found.refused:
            print("\nNot included:\n")
            print_rows(_reasons(found.refused, noun), as_json=False, empty="")
        if found.rows:
            more = "--reason … --yes" if self.verb.needs_reason else "--yes"
            these = f"this {noun}" if found.rows == 1 else f"these {plural(found.rows, noun)}"
            print(f"\nNothing was changed. To {self.verb.name} {these}, repeat the command with {more}")

    def _canary(self, act: Act, names: Sequence[str], asked: Any, many: Steps) -> None:
        with acting(Authority.OPERATOR, demo=self.demo, reason=act.reason) as tx:
            chosen = self.verbs.units(tx, names) if names else asked
            operation = begin(tx, self.subject, act, chosen, canary=many.canary, rate=many.rate)
        self._carry_on(operation, watch=many.watch)

    def _carry_on(self, operation_id: UUID, *, watch: bool = False) -> None:
        with opened(demo=self.demo) as database:
            with database.transaction(Authority.READER) as tx:
                operation = find(tx, operation_id)
            if operation.verb != self.verb.name:
                raise InputRefused(
                    "operation_verb",
                    f"Operation {operation_id} is for {operation.verb}, not for {self.verb.name}.",
                    f"recoup {self.verbs.command} {operation.verb} --resume {operation_id}",
                )
            if operation.canary is not None:
                carry_on(database, self.subject, operation_id, actor=person(database))
                print_operation(database, operation_id, watch=watch, demo=self.demo, json=self.json)
                return
            items = plural(operation.items, self.subject.noun)
            say(f"operation {operation_id}: {items}; if it is interrupted, continue with --resume {operation_id}")
            with progress(quiet=self.json) as tell:
                ended = carry_on(
                    database,
                    self.subject,
                    operation_id,
                    actor=person(database),
                    progress=lambda done, of: tell(f"{done:,} of {of:,}", done / max(of, 1)),
                )
        if self.json:
            print_fields(plain(ended), as_json=True)
        else:
            _print_ended(ended, self.subject.noun, demo=self.demo)
        if ended.refused:  # as by ids
            sys.exit(1)


def _plain_preview(found: Preview) -> dict[str, Any]:
    groups = [{**group.place, "rows": group.rows} for group in found.groups]
    return {"rows": found.rows, "groups": groups, "refused": found.refused}


def _print_ended(ended: Operation, noun: str, *, demo: bool) -> None:
    print(f"{plural(ended.items, noun)}: {ended.done:,} done, {ended.refused:,} refused")
    if ended.refusals:
        print()
        print_rows(_reasons(ended.refusals, noun), as_json=False, empty="")
    if ended.paused is not None:
        resume = command(f'resume operation {ended.operation_id} --reason "…"', demo=demo)
        print(f"\nPaused by {shown(ended.paused)}. Next: {resume}")
    elif ended.pending:
        print(f"\nAnother process works on {ended.pending:,} of them. Next: {command('operations', demo=demo)}")


def _reasons(refusals: Any, noun: str) -> list[dict[str, Any]]:
    return [{f"{noun}s": count, "refused": shown(why)} for why, count in refusals.items()]
