"""Importing: the companies of a CSV, JSONL or Parquet file into a batch.

What makes no sense is refused row by row, with a reason; the rest comes in, in one transaction. So an import that was
killed left nothing behind, and can be run again.
"""

from recoup.gate.importing.checks import Reason
from recoup.gate.importing.loading import Imported, Progress, import_file

__all__ = ["Imported", "Progress", "Reason", "import_file"]
