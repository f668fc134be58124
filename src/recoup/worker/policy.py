"""The policy's section on workers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from recoup.policy.section import Part, wrong_value


class WorkerPolicy(Part):
    """Workers."""

    section: ClassVar[str] = "worker"
    package: ClassVar[str] = "recoup.worker"
    decides: ClassVar[tuple[str, ...]] = ("heartbeat_s", "lost_after_s")

    heartbeat_s: Annotated[int, Field(ge=1, le=60)]
    lost_after_s: Annotated[int, Field(ge=3, le=86_400)]

    @model_validator(mode="after")
    def _silence_is_several_beats(self) -> WorkerPolicy:
        if self.lost_after_s < 3 * self.heartbeat_s:
            raise wrong_value("lost_after_s", self.lost_after_s, f"at least three heartbeats, {3 * self.heartbeat_s}")
        return self
