"""PgBouncer before a server, for tests. Needs the program pgbouncer (Debian: apt-get install pgbouncer)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from recoup.database import embedded
from recoup.database.failures import options_of
from recoup.service.logins import of_embedded

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
NO_PGBOUNCER = "pgbouncer is not installed: apt-get install pgbouncer"
CONF = """
[databases]
* = host={server} port={port}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
unix_socket_mode = 0777
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = 3
logfile = {folder}/log
{more}
"""


@contextlib.contextmanager
def bouncing(server: embedded.Server, mode: str, more: str) -> Iterator[str]:
    """A pooler before the server: the folder of its socket."""
    assert PGBOUNCER is not None
    owner = server.data.stat()  # the pooler may reach what the server's user may, and refuses to run as root
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        users = {server.app: server.app_password, server.admin: server.admin_password}
        apis = [options_of(one) for one in of_embedded(server.uri("")).values()]
        users |= {str(one["user"]): str(one["password"]) for one in apis}
        (folder / "users").write_text("".join(f'"{user}" "{password}"\n' for user, password in users.items()))
        text = CONF.format(server=server.socket_folder, port=server.port, folder=folder, mode=mode, more=more)
        (folder / "conf").write_text(text)
        if os.geteuid() == 0:
            for path in (folder, folder / "users", folder / "conf"):
                os.chown(path, owner.st_uid, owner.st_gid)
        user = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
        running = subprocess.Popen([PGBOUNCER, "-q", folder / "conf"], **user)  # type: ignore[call-overload]
        try:
            deadline = time.monotonic() + 20
            while not (folder / ".s.PGSQL.6432").exists():
                assert running.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, "it does not answer"
                time.sleep(0.02)
            yield name
        finally:
            running.terminate()
            running.wait(20)
