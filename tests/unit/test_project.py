"""The project file: found upwards, validated with file, key and line, and trusted only if nobody else can write it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from command_line import run_in
from recoup import new_project, project, settings
from recoup.cli import main
from recoup.refusals import InputRefused, SettingRefused
from recoup.settings import Settings, load


def written(folder: Path, text: str) -> Path:
    path = folder / "recoup.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return path


def loaded(path: Path, **environment: str) -> Settings:
    return load({"RECOUP_PROJECT": str(path), **environment})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with nothing in the environment or on the command line."""
    monkeypatch.setattr(settings, "OPTIONS", {})
    for name in [name for name in os.environ if name.startswith("RECOUP_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_found_upwards_and_the_nearest_one_counts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = here / "a" / "b"
    inner.mkdir(parents=True)
    above, below = written(here, 'actor = "above"'), written(inner, 'actor = "below"')
    monkeypatch.chdir(here / "a")
    assert (load().actor, load().project) == ("above", above)
    monkeypatch.chdir(inner)
    assert (load().actor, load().project) == ("below", below)
    monkeypatch.setenv("RECOUP_PROJECT", "none")
    assert load().project is None
    assert project.find(here) == above


def test_an_option_comes_before_the_environment_and_that_before_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(here, 'home = "data"\npool_max = 7\n[logging]\nlevel = "debug"\n')
    found = load()
    assert (found.home, found.pool_max, found.log_level) == (here / "data", 7, "debug")
    assert found.sources["home"] == f"{file}, line 1"
    assert found.sources["log_level"] == f"{file}, line 4"
    monkeypatch.setenv("RECOUP_HOME", "/env")
    monkeypatch.setenv("RECOUP_LOG_LEVEL", "error")
    assert (load().home, load().sources["home"], load().log_level) == (Path("/env"), "RECOUP_HOME", "error")
    monkeypatch.setattr(settings, "OPTIONS", {"home": "/option"})
    assert (load().home, load().sources["home"], load().pool_max) == (Path("/option"), "--home", 7)


def test_whoever_names_a_server_first_is_not_overruled_by_another_kind_of_name(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home from the environment means the embedded server, whatever the file says; and no admin login is mixed in."""
    written(here, 'dsn = "postgresql://file/x"\nadmin_dsn = "postgresql://admin@file/x"\n')
    assert (load().dsn, load().admin_dsn) == ("postgresql://file/x", "postgresql://admin@file/x")
    monkeypatch.setenv("RECOUP_HOME", "/env")
    assert (load().dsn, load().admin_dsn, load().home) == (None, None, Path("/env"))
    monkeypatch.setattr(settings, "OPTIONS", {"dsn": "postgresql://option/x"})
    assert (load().dsn, load().admin_dsn) == ("postgresql://option/x", None)


WRONG = (
    ('dns = "x"', "unknown_setting", "line 1: dns", "Did you mean dsn?"),
    ('\n[loging]\nlevel = "info"', "unknown_setting", "line 2: loging", "Did you mean logging?"),
    ('[logging]\nlevle = "info"', "unknown_setting", "line 2: [logging] levle", "Did you mean level?"),
    ('[logging]\nlevel = "loud"', "bad_setting", "line 2: [logging] level is 'loud'", "Use one of them"),
    ("pool_max = 0", "bad_setting", "line 1: pool_max is 0", "from 1 to 500"),
    ('pool_max = "7"', "bad_setting", "line 1: pool_max is '7'", "from 1 to 500"),
    ("actor = 7", "bad_setting", "line 1: actor is 7", "in quotes"),
    ('actor = " "', "empty_setting", "line 1: actor", "Remove it"),
    ('dsn = "x"\nhome = "y"', "bad_setting", "line 2: home", "Remove one"),
    ("actor = ]", "project_not_toml", "line 1", "Correct"),
    ('[handlers]\n"a.b" = "no function"', "bad_setting", "line 2: [handlers] a.b", "module:function"),
    ('[actions]\nRestart = "a:b"', "bad_setting", "line 2: [actions] Restart", "the action of the policy"),
    ("[actions]\nrestart = 7", "bad_setting", "line 2: [actions] restart", "module:function"),
    ('[handlers]\nerrors = "a:b"', "bad_setting", "line 2: [handlers] errors", "schema and table"),
    ('[secrets]\nops = "file"', "bad_setting", "line 2: [secrets] ops", "chmod 600"),
    ('[secrets]\nOPS_URL = "https://example.com"', "bad_setting", "line 2: [secrets] OPS_URL", "a file of its own"),
    ('project = "x"', "unknown_setting", "line 1: project", "Known are"),
)


@pytest.mark.parametrize(("text", "code", "place", "next_step"), WRONG)
def test_a_refusal_names_file_key_and_line(tmp_path: Path, text: str, code: str, place: str, next_step: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(SettingRefused) as refused:
        loaded(file)
    assert refused.value.code == code
    assert str(file) in refused.value.happened
    assert place in refused.value.happened
    assert next_step in refused.value.next_step


def test_actions_are_read(tmp_path: Path) -> None:
    file = written(tmp_path, '[actions]\nrestart_unit = "pipe.actions:restart"\n')
    assert loaded(file).actions == {"restart_unit": "pipe.actions:restart"}


def test_files_of_secrets_start_at_the_folder_of_the_project(tmp_path: Path) -> None:
    file = written(tmp_path, '[secrets]\nOPS_URL = "secrets/ops"\nOPS_KEY = "/etc/ops"\n')
    assert loaded(file).secrets == {"OPS_URL": str(file.parent / "secrets/ops"), "OPS_KEY": "/etc/ops"}


def test_handlers_are_read_with_quotes_and_without(tmp_path: Path) -> None:
    file = written(tmp_path, '[handlers]\n"a.b_errors" = "pipe.retries:b"\na.c_errors = "pipe:C.retry"\n')
    assert loaded(file).handlers == {"a.b_errors": "pipe.retries:b", "a.c_errors": "pipe:C.retry"}


def test_a_file_that_others_can_write_or_own_is_refused_and_a_link_is_not_followed(tmp_path: Path) -> None:
    file = written(tmp_path, 'actor = "me"')
    for mode in (0o664, 0o646):
        file.chmod(mode)
        with pytest.raises(SettingRefused, match="can be written by other users") as refused:
            loaded(file)
        assert (refused.value.code, "chmod go-w" in refused.value.next_step) == ("project_open_to_others", True)
    file.chmod(0o644)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    with pytest.raises(SettingRefused, match="symbolic link"):
        loaded(link)
    with pytest.raises(SettingRefused, match="No such file"):
        loaded(tmp_path / "missing.toml")
    if os.geteuid() == 0:
        os.chown(file, 12_345, 12_345)
        with pytest.raises(SettingRefused, match="belongs to the user 12345"):
            loaded(file)


def test_init_writes_what_can_be_read_and_replaces_nothing(tmp_path: Path) -> None:
    file, policy = new_project.create(tmp_path, ["billing.invoice_errors"])
    assert (loaded(file).project, loaded(file).handlers) == (file, {})
    assert '[errors.tables."billing.invoice_errors"]' in policy.read_text()
    uncommented = file.read_text().replace('# "billing', '"billing')
    assert loaded(written(tmp_path, uncommented)).handlers == {
        "billing.invoice_errors": "pipeline.retries:invoice_errors"
    }
    with pytest.raises(InputRefused) as refused:
        new_project.create(tmp_path)
    assert refused.value.code == "file_exists"
    assert "pipeline.retries" in file.read_text()
    assert new_project.create(tmp_path, force=True) == [file]
    assert "invoice_errors" not in policy.read_text().replace("billing.invoice_errors", "")
    with pytest.raises(InputRefused):
        new_project.create(tmp_path / "other", ["Not A Table"])


def test_every_command_takes_the_options_that_choose_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anywhere but behind -- or exec: there they are another program's."""
    given: dict[str, str] = {}
    monkeypatch.setattr(settings, "OPTIONS", given)
    left = main._without_options(["--home", "/h", "errors", "list", "--dsn=postgresql://x/y", "--json"])
    assert (left, given) == (["errors", "list", "--json"], {"home": "/h", "dsn": "postgresql://x/y"})
    given.clear()
    for line in (["exec", "psql", "--dsn", "x"], ["errors", "record", "--", "--home", "x"]):
        assert (main._without_options(line), given) == (line, {})
    assert main._without_options(["--project", "p.toml", "exec", "--", "make"]) == ["exec", "--", "make"]
    with pytest.raises(InputRefused, match="--home needs a value"):
        main._without_options(["doctor", "--home"])


def test_the_command_init_says_what_to_do_next(tmp_path: Path) -> None:
    init = run_in({}, "init")
    said = init(tmp_path, "--table", "billing.invoice_errors").stdout
    assert f"written  {tmp_path / 'recoup.toml'}" in said
    assert f"recoup policy apply {tmp_path / 'policy.toml'}" in said
    assert "refused: file_exists" in init(tmp_path, fails=True).stderr
