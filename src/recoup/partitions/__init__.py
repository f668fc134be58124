"""Partitions of data: extracted as a whole into a raw sink that is never overwritten, validated, and retried by the
control plane alone. A partition has succeeded when a validator accepted one of its runs; that run is its current one.
"""

from recoup.partitions.identity import Partition
from recoup.partitions.selecting import Selection, select

__all__ = ["Partition", "Selection", "select"]
