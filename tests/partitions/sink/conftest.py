from __future__ import annotations

from pathlib import Path

import pytest

from recoup.partitions.sink import Sink


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink.create(tmp_path / "sink")
