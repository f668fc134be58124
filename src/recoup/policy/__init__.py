"""Policy: the figures that decisions go by, as one validated document, versioned in the database.

What a policy decided carries its version. A change applies to what is decided from then on.
"""

from recoup.policy.document import Parts, Policy, default, default_document, read
from recoup.policy.section import Part, Section
from recoup.policy.versions import Change, Version, apply, changes, effects, find, history, in_force

__all__ = [
    "Change",
    "Part",
    "Parts",
    "Policy",
    "Section",
    "Version",
    "apply",
    "changes",
    "default",
    "default_document",
    "effects",
    "find",
    "history",
    "in_force",
    "read",
]
