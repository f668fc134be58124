"""The policy's section on Gate Zero: attempts, waits, windows, and how a company is verified."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from recoup.policy.section import Part, wrong_value
from recoup.verification.rules import Verification

LEASE_SPARE_S = 10  # to write the results of the checks


Hours = Annotated[int, Field(ge=1, le=8760)]


class GatePolicy(Part):
    """Gate Zero."""

    section: ClassVar[str] = "gate"
    package: ClassVar[str] = "recoup.gate"
    decides: ClassVar[tuple[str, ...]] = (
        "max_attempts", "wait_hours.0", "wait_hours.1", "recovery_window_days", "attempt_lease_s",
    )  # fmt: skip

    max_attempts: Literal[3]  # a hard limit of the documents, enforced by the tables
    wait_hours: Annotated[list[Hours], Field(min_length=2, max_length=2)]
    recovery_window_days: Annotated[int, Field(ge=1, le=365)]
    attempt_lease_s: Annotated[int, Field(ge=1, le=86_400)]
    batch_open_alert_days: Annotated[int, Field(ge=1, le=365)]
    verification: Verification

    @model_validator(mode="after")
    def _lease_outlasts_the_checks(self) -> GatePolicy:
        least = math.ceil(self.verification.longest_s) + LEASE_SPARE_S
        if self.attempt_lease_s < least:
            raise wrong_value(
                "attempt_lease_s",
                self.attempt_lease_s,
                f"at least {least}: the timeouts of the checks and {LEASE_SPARE_S} to spare",
            )
        return self
