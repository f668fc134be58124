"""The policy's section on seals."""

from typing import Annotated, ClassVar

from pydantic import Field

from recoup.policy.section import Part


class SealPolicy(Part):
    """Seals."""

    section: ClassVar[str] = "seals"
    package: ClassVar[str] = "recoup.ledger"
    decides: ClassVar[tuple[str, ...]] = ("block_rows",)

    block_rows: Annotated[int, Field(ge=1, le=1_000_000)]
