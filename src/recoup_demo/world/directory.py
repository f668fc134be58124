"""The company directory: what it knows of each company, and how it answers. The world itself is asked here, too."""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from recoup_demo.world.companies import Company
from recoup_demo.world.http_server import Answer, Connection, Request, Service, response
from recoup_demo.world.kinds import AnyKind, Kind
from recoup_demo.world.names import STATES, state_code
from recoup_demo.world.present import Present

PATH, ABOUT, DAY = "/company", "/world", "/world/day"
MAX_DAY = 10_000
ELSEWHERE = ("Ontario", "Bavaria", "Jalisco")


class Entry(NamedTuple):
    states: tuple[str, ...]
    scope: str = "state"


class Asked(NamedTuple):
    """A company that the directory is asked for, and its entry."""

    present: Present
    company: Company
    entry: Entry


Known = Callable[[Company], Entry | None]  # None: there is no entry
Says = Callable[[Asked], Answer]


def at_home(company: Company) -> Entry:
    code = state_code(company.state)
    return Entry((company.pick((code, code, STATES[code]), of="entry"),))


def _another_state(company: Company) -> str:
    code = state_code(company.state)
    return company.pick([other for other in STATES if other != code], of="other")


def _elsewhere(company: Company) -> Entry:
    other = _another_state(company)
    return Entry((company.pick((other, other, STATES[other], company.pick(ELSEWHERE, of="else")), of="wrong"),))


def _in_several(company: Company) -> Entry:
    code, other = state_code(company.state), _another_state(company)
    return Entry(company.pick(((code, other), (other, code), (STATES[other], STATES[code])), of="several"))


def _everywhere(company: Company) -> Entry:
    return Entry(company.pick(((), at_home(company).states), of="global"), "global")


def shown(asked: Asked) -> Answer:
    return as_json(200, {"found": True, **asked.entry._asdict()})


def _out(asked: Asked) -> Answer:
    return response(503, "<h1>Back in a moment</h1>", headers=[("Retry-After", "60")])


def _now_and_then(asked: Asked) -> Answer:
    return _out(asked) if asked.present.first_of_all(asked.company) else shown(asked)


# What it knows and what it says, where that is not the entry of a good company.
ENTRIES: Mapping[AnyKind, Known] = {
    Kind.NO_ENTRY: lambda company: None,
    Kind.WRONG_STATE: _elsewhere,
    Kind.SEVERAL_STATES: _in_several,
    Kind.GLOBAL: _everywhere,
    Kind.NO_STATE: lambda company: Entry(()),
}
SAYINGS: Mapping[AnyKind, Says] = {
    Kind.SLOW_DIRECTORY: lambda asked: Connection.hold,
    Kind.DIRECTORY_OUT: _out,
    Kind.NOW_AND_THEN: _now_and_then,
}


class Directory(Service):
    def __init__(
        self, present: Present, entries: Mapping[AnyKind, Known] = ENTRIES, sayings: Mapping[AnyKind, Says] = SAYINGS
    ) -> None:
        super().__init__(present)
        self._entries = entries
        self._sayings = sayings

    def answer(self, request: Request) -> Answer:
        match request.method, request.path:
            case _, path if path == PATH:
                company = self.asked_for(request.query)
                return as_json(200, {"found": False}) if company is None else self._entry(company)
            case "GET", path if path == ABOUT:
                return as_json(200, {"world": "recoup"})
            case "PUT", path if path == DAY:
                return self._move_to(request.query.get("to", ""))
            case _:
                return as_json(404, {"error": "there is nothing here"})

    def asked_for(self, query: Mapping[str, str]) -> Company | None:
        """By domain, or else by name."""
        found = self.present.company_at(query.get("domain", "").lower().rstrip("."))
        return found or self.present.by_name.get(query.get("name", "").casefold())

    def _entry(self, company: Company) -> Answer:
        kind = self.present.kind(company)
        entry = self._entries.get(kind, at_home)(company)
        if entry is None:
            return as_json(company.pick((200, 200, 200, 404), of="absent"), {"found": False})
        return self._sayings.get(kind, shown)(Asked(self.present, company, entry))

    def _move_to(self, day: str) -> Answer:
        if not (day.isascii() and day.isdecimal() and int(day) <= MAX_DAY):
            return as_json(400, {"error": f"a day from 0 to {MAX_DAY}"})
        self.present.move_to(int(day))
        return as_json(200, {"day": self.present.day})


def as_json(status: int, value: object) -> bytes:
    return response(status, json.dumps(value), content_type="application/json")
