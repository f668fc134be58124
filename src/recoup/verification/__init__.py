"""Verification that really looks: DNS, the site, the company directory, the state. It knows nothing of the database.

Each check has its time, each answer its bound, and no request goes where the public internet does not reach. What is
found becomes one of the eight reason codes by one table, ``VERDICTS``.
"""

from recoup.verification.checks import CHECKS, Candidate, Check, Looking
from recoup.verification.domains import domain_of
from recoup.verification.findings import VERDICTS, Finding, NotPassed
from recoup.verification.states import normal_state
from recoup.verification.verifier import Verdict, Verifier, directory_missing

__all__ = [
    "CHECKS",
    "VERDICTS",
    "Candidate",
    "Check",
    "Finding",
    "Looking",
    "NotPassed",
    "Verdict",
    "Verifier",
    "directory_missing",
    "domain_of",
    "normal_state",
]
