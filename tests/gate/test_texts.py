"""Names from outside: one rule, whichever way they come in; and no cell of a report is a formula."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from company import new_batch
from recoup import gate
from recoup.database.connection import Database, Transaction
from recoup.files import Row
from recoup.files.report import RefusedRow, reporting
from recoup.gate.importing.checks import Checks, Company, Fault
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

REFUSED = ["\x1b[2J", "\x00", "\x9b", "\u202eevil", "\u200f", "\u2066x\u2069", "\u2028", "\ud800"]
TAKEN = [
    "Zoë Ångström & Söhne",
    "株式会社",
    "نمونه\u200cشرکت",
    "Tab\tand\nline",
    "👩\u200d🔧 Repairs",
]  # joiners belong to words


def imported(text: str) -> Company | Fault:
    return Checks(noun="line").company(Row(number=1, values={"company_name": text}, raw=text))


WAYS: dict[str, Callable[[Transaction, str], object]] = {
    "added": lambda tx, text: gate.add_intakes(tx, [gate.NewIntake(company_name=text)]),
    "restarted": lambda tx, text: gate.restart(tx, uuid.uuid4(), company_name=text),
    "a batch": lambda tx, text: gate.create_batch(tx, f"{text} {uuid.uuid4()}"),
}


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_what_a_terminal_would_obey_is_refused(db: Database, text: str) -> None:
    """ESC and its like, and marks that make one name look like another."""
    with db.transaction(Authority.OPERATOR) as tx:
        for way in WAYS.values():
            with pytest.raises(InputRefused) as refused:
                way(tx, f"Acme {text}")
            assert refused.value.code == "text_unprintable"
            assert f"U+{ord(text[0]):04X}" in refused.value.happened
    fault = imported(f"Acme {text}")
    assert isinstance(fault, Fault)
    assert fault.reason == "text_unprintable"


@pytest.mark.parametrize("text", TAKEN, ids=ascii)
def test_names_of_the_world_are_taken(db: Database, text: str) -> None:
    with db.transaction(Authority.HUB) as tx:
        WAYS["added"](tx, text)
        WAYS["a batch"](tx, text)
        new_batch(tx)
    assert isinstance(imported(text), Company)


def test_no_cell_of_a_report_is_a_formula(tmp_path: Path) -> None:
    """A spreadsheet would carry it out. Told as text, it is as it was but for the quote before it."""
    report = tmp_path / "refused.csv"
    rows = ["=HYPERLINK(1),x", "+1", "-1", "@SUM(1)", "\t=1", "plain, =1"]
    with reporting(report, source=tmp_path / "source") as refused:
        for number, row in enumerate(rows, start=1):
            refused.add(RefusedRow(number, None, "reason", "said", row))
        refused.finish()
        refused.publish()
    with report.open(newline="") as file:
        told = [line["row"] for line in csv.DictReader(file)]
    assert told == [f"'{row}" for row in rows[:-1]] + [rows[-1]]
    assert [one.row for one in refused.kept] == rows
