"""Signatures and categories: is it the same failure, and of what category? Pure functions, no database.

Stateless and deterministic: the same text has the same key on every worker, for ever, under one version.
"""

from recoup.signatures.judging import OwnRule, category, judge, own_rule
from recoup.signatures.keys import VERSION, Signature, signature
from recoup.signatures.rules import Judgement
from recoup.signatures.shapes import Reading, read

__all__ = [
    "VERSION",
    "Judgement",
    "OwnRule",
    "Reading",
    "Signature",
    "category",
    "judge",
    "own_rule",
    "read",
    "signature",
]
