"""Why Gate Zero rejects a company. Verification determines the reason, the gate stores it."""

from enum import StrEnum


class ReasonCode(StrEnum):
    """Why a verification failed. A closed list."""

    DOMAIN_NOT_FOUND = "DOMAIN_NOT_FOUND"  # domain DNS lookup failed
    DOMAIN_NO_IMPRINT = "DOMAIN_NO_IMPRINT"  # domain resolves but shows no company presence
    NO_LINKEDIN_COMPANY = "NO_LINKEDIN_COMPANY"  # no entry in the company directory
    STATE_MISMATCH = "STATE_MISMATCH"  # the directory's state differs from the intake's
    STATE_AMBIGUOUS = "STATE_AMBIGUOUS"  # the directory lists several states, or says global
    STATE_MISSING = "STATE_MISSING"  # the directory has no location
    API_UNAVAILABLE = "API_UNAVAILABLE"  # an external service is temporarily unavailable
    TIMEOUT = "TIMEOUT"  # the verification timed out, or its worker died
