"""Writes the schema under version control anew: what a freshly migrated database holds."""

from __future__ import annotations

from recoup.domains import DOMAINS
from recoup.schema.describe import write_schema
from recoup.settings import load

if __name__ == "__main__":
    write_schema(load(), DOMAINS)
