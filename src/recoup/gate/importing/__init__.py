"""Importing: the companies of a CSV, JSONL or Parquet file into a batch.

What makes no sense is refused row by row, with a reason; the rest comes in, in one transaction. So an import that was
killed left nothing behind, and can be run again.
"""

from recoup.gate.importing.files import Format
from recoup.gate.importing.loading import Imported, Progress, import_file
from recoup.gate.importing.report import RefusedRow
from recoup.gate.importing.rows import Reason

__all__ = ["Format", "Imported", "Progress", "Reason", "RefusedRow", "import_file"]
