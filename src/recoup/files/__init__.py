"""Files of rows: CSV, JSONL and Parquet, compressed or not, through one reader.

A file comes from outside and may hold anything. A row that cannot be read is yielded with its problem, and
reading continues after it; only a file of which nothing can be read is refused. Memory per row is bounded.
"""

from recoup.files.opening import STDIN, Format, format_named, opened
from recoup.files.report import Refused, RefusedRow, reporting
from recoup.files.rows import Row, Source, Unread, Wanted

__all__ = [
    "STDIN", "Format", "Refused", "RefusedRow", "Row", "Source", "Unread", "Wanted", "format_named", "opened",
    "reporting",
]  # fmt: skip
