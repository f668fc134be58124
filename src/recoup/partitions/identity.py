"""What a partition is: a day of one query for one customer of a source, extracted and validated as a whole."""

from datetime import date
from typing import NamedTuple


class Partition(NamedTuple):
    """The key of a partition. The day is a calendar day in the time zone of its source."""

    source: str
    customer_id: str
    query_name: str
    logical_date: date

    def __str__(self) -> str:
        return f"{self.source}/{self.customer_id}/{self.query_name}/{self.logical_date.isoformat()}"
