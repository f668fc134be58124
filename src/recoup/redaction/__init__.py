"""Redaction of secrets. Pure functions, no database: they take what is to be stored and return it without secrets."""

from recoup.redaction.payloads import in_words, redacted, redacted_arguments
from recoup.redaction.texts import REDACTED, is_hinted

__all__ = ["REDACTED", "in_words", "is_hinted", "redacted", "redacted_arguments"]
