"""Examples are accepted by the programs they are for, name metrics and pages that exist, and commands that exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cyclopts import CoercionError

from recoup.cli.main import app
from recoup.domains import DOMAINS
from recoup.metrics import declared

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RUNBOOKS = sorted((ROOT / "docs/runbooks").glob("*.md"))
UNITS = sorted((EXAMPLES / "systemd").iterdir())
PROMTOOL, ANALYZE, DOCKER = shutil.which("promtool"), shutil.which("systemd-analyze"), shutil.which("docker")
METRICS = {
    name
    for metric in declared.every(DOMAINS)
    for name in ([metric.name] if metric.type != "histogram" else [metric.name + end for end in ("_bucket", "_count")])
}
INSTALLED = "/opt/recoup/bin/recoup"  # where the units expect it


def commands(text: str) -> Iterator[list[str]]:
    """The commands of ours that a text shows, as the shell would read them."""
    for line in re.findall(
        rf"(?:^ *\$ |`|ExecStart=|CMD |command: ){'(?:' + INSTALLED + '|recoup)'} ([^`\n]+)", text, re.M
    ):
        yield shlex.split(line.replace("…", "x"), comments=True)


def exists(tokens: list[str]) -> bool:
    """Whether this is a command of ours with options that it has."""
    if tokens[:1] == ["exec"] or "--" in tokens:
        tokens = tokens[: tokens.index("--")] if "--" in tokens else tokens
    before = ["", *tokens]
    places = [bool(re.fullmatch("[A-Z]+", one)) and last[:2] != "--" for last, one in zip(before, tokens, strict=False)]
    for own in ("1", "01a1f1fd-74fa-7c78-b85f-474bd3c45823"):  # for ID and the like, which a reader replaces
        given = [own if replaced else one for one, replaced in zip(tokens, places, strict=True)]
        try:
            app.parse_args(given, exit_on_error=False, print_error=False)
        except CoercionError:
            if not any(places) or own != "1":
                raise
        else:
            break
    return True


@pytest.mark.parametrize("page", RUNBOOKS, ids=lambda page: page.stem)
def test_the_commands_of_a_runbook_exist(page: Path) -> None:
    found = list(commands(page.read_text(encoding="utf-8")))
    assert found or page.stem in ("README", "a-subscriber-lags")
    for tokens in found:
        assert exists(tokens), tokens


def test_a_command_that_does_not_exist_is_noticed() -> None:
    for line in ("errors mend 3", "duties --frobnicate", "pause duty seal"):
        with pytest.raises(Exception, match=r"mend|frobnicate|reason|REASON"):
            exists(shlex.split(line))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_that_exists(unit: Path) -> None:
    (tokens,) = commands(unit.read_text(encoding="utf-8"))
    assert exists(tokens)


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: apt-get install systemd")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    assert ANALYZE is not None
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text(encoding="utf-8").replace(INSTALLED, "/bin/true"))
    done = subprocess.run(
        [ANALYZE, "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))],
        capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "recoup" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")
def test_prometheus_accepts_rules_and_configuration() -> None:
    for what in (["rules", "alerts.yml"], ["config", "prometheus.yml"]):
        done = subprocess.run(
            [str(PROMTOOL), "check", *what], cwd=EXAMPLES / "prometheus", capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def expressions() -> Iterator[str]:
    rules = yaml.safe_load((EXAMPLES / "prometheus/alerts.yml").read_text(encoding="utf-8"))
    yield from (rule["expr"] for group in rules["groups"] for rule in group["rules"])
    dashboard = json.loads((EXAMPLES / "grafana/recoup.json").read_text(encoding="utf-8"))
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ()))


def test_rules_and_dashboard_use_metrics_that_exist() -> None:
    used = {name for expression in expressions() for name in re.findall(r"\brecoup_\w+", expression)}
    assert used <= METRICS
    assert len(used) > 20


def test_every_alert_names_a_runbook() -> None:
    rules = yaml.safe_load((EXAMPLES / "prometheus/alerts.yml").read_text(encoding="utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            assert (ROOT / rule["annotations"]["runbook"]).exists(), rule["alert"]


def test_every_runbook_is_listed() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs/runbooks/README.md").read_text(encoding="utf-8")))
    assert listed == {page.name for page in RUNBOOKS} - {"README.md"}


def test_the_compose_file_runs_commands_that_exist() -> None:
    """As text: without a compose program here it is not resolved."""
    found = yaml.safe_load((EXAMPLES / "docker/compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("migrate", "worker", "api"):
        assert exists(found[name]["command"])
    for service in found.values():
        assert set(service.get("depends_on", {})) <= set(found)


def test_the_image_copies_what_there_is() -> None:
    text = (EXAMPLES / "docker/Dockerfile").read_text(encoding="utf-8")
    for names in re.findall(r"^COPY (.+) \S+$", text, re.M):
        for name in names.split():
            assert (ROOT / name).exists(), name
    assert "HEALTHCHECK" in text
