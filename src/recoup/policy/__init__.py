"""Policy: the settings that drive decisions, as one validated document, versioned in the database.

What a policy decided carries its version. A change applies to what is decided from then on.
"""

from recoup.policy.document import Policy, default, default_document, read
from recoup.policy.proposals import Proposal, apply, merge, next_steps, put, set_value, unset
from recoup.policy.rendering import rendered
from recoup.policy.section import Part, Parts, Section
from recoup.policy.versions import Change, Version, active, changes, find, history, in_force

__all__ = [
    "Change",
    "Part",
    "Parts",
    "Policy",
    "Proposal",
    "Section",
    "Version",
    "active",
    "apply",
    "changes",
    "default",
    "default_document",
    "find",
    "history",
    "in_force",
    "merge",
    "next_steps",
    "put",
    "read",
    "rendered",
    "set_value",
    "unset",
]
