"""The audit: every promise of the requirement documents, asked of the rows themselves.

An invariant names the document and the section it comes from, says its promise in a sentence, and finds the rows that
break it. It trusts no constraint, index or trigger, because it looks for what was written while those were off. Domains
keep their invariants beside themselves, as data (``invariants.py``, ``queries/invariants.sql``); those that follow from
a declaration are made from it (``recoup.schema.laws``).
"""

from recoup.audit.examine import Verdict, audit, examine
from recoup.audit.invariant import Invariant
from recoup.audit.selection import chosen

__all__ = ["Invariant", "Verdict", "audit", "chosen", "examine"]
