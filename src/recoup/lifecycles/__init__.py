"""Lifecycles declared as data: who may give a row which status, and what never changes.

A lifecycle is declared once, in the ``lifecycle.py`` of its domain. ``recoup migrate`` writes the declaration into
``recoup.lifecycle`` and ``recoup.lifecycle_step``, where the guard (``guard.sql``) consults it on every insert, update
and delete; ``docs/lifecycles.md`` is rendered from it. Nothing else is made from it.
"""

from recoup.lifecycles.declaration import Authority, Birth, Exit, Lifecycle, Move

__all__ = ["Authority", "Birth", "Exit", "Lifecycle", "Move"]
