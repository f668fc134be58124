"""What a program hears of us that has asked for nothing: lines of its own ``logging``, and no secrets."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
import structlog

from recoup import observe

BROKEN = """
import sys
from recoup import observe

def check(key):
    raise ValueError("the site is odd")

try:
    check("Bearer hunter2" + "!")
except ValueError as error:
    observe.logger(worker="w1").error("a check broke", check="site", exc_info=error)
observe.logger().info("nobody asked")
"""


def test_nothing_goes_to_standard_output_and_no_line_tells_what_variables_held() -> None:
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""
    assert done.stderr.startswith("a check broke worker=w1 check=site\nTraceback")
    assert done.stderr.endswith("ValueError: the site is odd\n")
    assert "hunter2!" not in done.stderr
    assert "nobody asked" not in done.stderr


def test_lines_go_through_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="recoup"):
        observe.logger(worker="w1").info("100% done", units=3)
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("recoup", "INFO", "100% done worker=w1 units=3")


def test_a_program_that_has_configured_structlog_gets_its_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.configure(processors=[structlog.processors.JSONRenderer(sort_keys=True)])
    try:
        observe.logger(worker="w1").warning("heard")
    finally:
        structlog.reset_defaults()
    assert capsys.readouterr().out == '{"event": "heard", "worker": "w1"}\n'


@pytest.mark.parametrize("no_color", ["", "1"])
def test_lines_for_reading_have_no_colours_where_nobody_wants_them(
    no_color: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    try:
        observe.configure(json=False)
        observe.logger(worker="w1").warning("heard")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr().err
    assert "heard" in said
    assert ("\x1b" not in said) is bool(no_color)
