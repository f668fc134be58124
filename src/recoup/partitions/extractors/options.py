"""Options of shipped extractors: validated, and refused by name."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from recoup.partitions.contracts.declaration import refused_values
from recoup.partitions.interfaces import Extraction
from recoup.policy.section import Section
from recoup.refusals import InputRefused

S = TypeVar("S", bound=Section)


def options_of(extraction: Extraction, model: type[S]) -> S:
    """The options of an extraction, with what a fallback does differently."""
    given: dict[str, Any] = {**extraction.options, **(extraction.alternative or {})}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        wrong, where = refused_values(error), f"{extraction.partition.source}/{extraction.partition.query_name}"
        # A run keeps what happened, and no next step.
        said = "; ".join(f"{one['key']}: {one['value']} ({one['allowed']})" for one in wrong[:10])
        raise InputRefused(
            "extractor_options_invalid",
            f"The options of the extractor of {where} are not valid: {said}.",
            f"Its options: {', '.join(model.model_fields)}. Correct extract_with: recoup policy edit",
            wrong=wrong,
        ) from error
