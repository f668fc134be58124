"""A worker as one release of parcels has it, in its own process: ``python -m domains.working URI RELEASE FOLDER``."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from domains.releases import extended
from recoup.database.connection import Database
from recoup.domain import releases
from recoup.settings import Settings
from recoup.worker.loop import WorkerLoop

if __name__ == "__main__":
    uri, release, folder = sys.argv[1:]
    domains = extended(int(release), Path(folder))
    duty, *_ = domains[-1].duties
    with Database(uri, Settings(home=Path("nowhere"), actor="tester")) as database:
        worker = WorkerLoop(database, [duty], name=f"release-{release}", releases=releases(domains))
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        print("working", flush=True)
        worker.run()
        sys.exit(0 if worker.refusal is None else 1)
