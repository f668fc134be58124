"""Declarations: who may give a row which status, what runs behind each step, and which tables are logs.

A lifecycle is declared once, in the ``lifecycle.py`` of its domain, and a log beside it. ``recoup migrate`` writes both
into tables of their own (``recoup.lifecycle``, ``recoup.lifecycle_step``, ``recoup.follower``, ``recoup.log``), where
seals and audit read them and from which guards are written out (``routines/written.sql``) and put on with all that
follows them; the documentation and the invariants that follow from a declaration are made from the same objects.
"""

from recoup.lifecycles.declaration import Authority, Birth, Exit, Lifecycle, Move, MoveRule, On, Queue, Story
from recoup.lifecycles.logs import Log

__all__ = ["Authority", "Birth", "Exit", "Lifecycle", "Log", "Move", "MoveRule", "On", "Queue", "Story"]
