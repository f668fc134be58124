"""Declarations: which authority may give a row which status, what runs after each step, and which tables are logs.

Lifecycles and logs are declared once, in the ``lifecycle.py`` of their domain. ``recoup migrate`` writes both to tables
(``recoup.lifecycle``, ``recoup.lifecycle_step``, ``recoup.follower``, ``recoup.log``). Seals and audit read them there;
guards are generated from them (``routines/written.sql``) and installed with their followers. The documentation and the
invariants of a declaration are made from the same objects.
"""

from recoup.lifecycles.declaration import Authority, Birth, Exit, Lifecycle, Move, MoveRule, On, Queue, Story
from recoup.lifecycles.logs import Log

__all__ = ["Authority", "Birth", "Exit", "Lifecycle", "Log", "Move", "MoveRule", "On", "Queue", "Story"]
