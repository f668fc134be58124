"""Recoup: the recovery plane for failed work, on PostgreSQL."""

__version__ = "0.1.0"
