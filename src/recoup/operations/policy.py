"""The policy's section on bulk operations."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from recoup.policy.section import Part


class OperationPolicy(Part):
    """Bulk operations."""

    section: ClassVar[str] = "operations"
    package: ClassVar[str] = "recoup.operations"

    canary_growth: Annotated[float, Field(ge=1, le=100, strict=False)]
    canary_failed_share: Annotated[float, Field(ge=0, le=1, strict=False)]
    canary_wait_minutes: Annotated[int, Field(ge=1, le=10_080)]
    canary_rate_per_minute: Annotated[int, Field(ge=0, le=1_000_000)]
