"""The policy's section on runs."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from recoup.policy.section import Part, wrong_value


class RunPolicy(Part):
    """Runs."""

    section: ClassVar[str] = "runs"
    package: ClassVar[str] = "recoup.runs"
    decides: ClassVar[tuple[str, ...]] = ("queued_within_hours",)

    orphan_threshold_minutes: Annotated[int, Field(ge=1, le=10_080)]
    queued_within_hours: Annotated[int, Field(ge=1, le=8_760)]
    heartbeat_s: Annotated[int, Field(ge=1, le=600)]

    @model_validator(mode="after")
    def _silence_is_several_beats(self) -> RunPolicy:
        if self.orphan_threshold_minutes * 60 < 3 * self.heartbeat_s:
            least = -(-3 * self.heartbeat_s // 60)
            raise wrong_value(
                "orphan_threshold_minutes", self.orphan_threshold_minutes, f"at least three heartbeats, {least}"
            )
        return self
