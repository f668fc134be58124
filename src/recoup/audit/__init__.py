"""The audit: checks every rule of the requirement documents against the rows themselves.

An invariant names the document and the section it comes from, describes the rule, and finds the rows that break
it. It relies on no constraint, index or trigger, because it searches for what was written while those were off.
Domains keep their invariants as data (``invariants.py``, ``queries/invariants.sql``); those that follow
from a declaration are generated (``recoup.schema.laws``).
"""

from recoup.audit.examine import InvariantResult, audit, examine
from recoup.audit.invariant import Invariant
from recoup.audit.results import AuditResult
from recoup.audit.selection import chosen

__all__ = ["AuditResult", "Invariant", "InvariantResult", "audit", "chosen", "examine"]
