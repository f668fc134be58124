"""The raw sink: published runs of partitions as plain files, each in a folder of its own, never changed again.

A run is written aside, synced, and published by one rename, with a manifest that has the digest of every file. A folder
without a valid manifest is not a run. Nothing published is ever overwritten or deleted.
"""

from recoup.partitions.sink.availability import Cause, SinkRefused, SinkUnavailable
from recoup.partitions.sink.manifest import DataFile, Manifest
from recoup.partitions.sink.opening import Sink
from recoup.partitions.sink.publishing import Published
from recoup.partitions.sink.verifying import Difference, Kind
from recoup.partitions.sink.writing import RunWriter

__all__ = [
    "Cause", "DataFile", "Difference", "Kind", "Manifest", "Published", "RunWriter", "Sink", "SinkRefused",
    "SinkUnavailable",
]  # fmt: skip
