"""Bulk operations: one decision over many rows of a domain.

What a person may do is declared once, as the verbs of a subject; the command line and every other interface are
made from the declaration. Over many rows a verb has a preview, a fixed set of rows, and runs in batches with
a result for each row: it can be paused, interrupted and resumed, and nothing is done twice. With a canary it goes in
steps, and a background task watches the outcomes of each.
"""

from recoup.operations.many import Operation, Preview, begin, carry_on, find, operations, preview
from recoup.operations.verbs import Act, Answer, Argument, Group, Outcomes, Step, Subject, Verb, Why

__all__ = [
    "Act", "Answer", "Argument", "Group", "Operation", "Outcomes", "Preview", "Step", "Subject", "Verb", "Why", "begin",
    "carry_on", "find", "operations", "preview",
]  # fmt: skip
