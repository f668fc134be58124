"""Signatures and categories: is this the same failure, and of what kind is it? Pure functions, no database.

Stateless and deterministic: the same text has the same key on every worker, for ever, under one version.
"""

from recoup.signatures.category import category
from recoup.signatures.signature import VERSION, Signature, signature

__all__ = ["VERSION", "Signature", "category", "signature"]
