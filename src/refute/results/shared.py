"""What the documents of several verbs hold."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Line = Annotated[int, Meta(ge=1)]
Confidence = Annotated[float, Meta(ge=0, le=1, description="Estimated probability.")]
Known = Annotated[
    Count,
    Meta(description="Functions with known problems alone (--baseline), which are left out."),
]


def rounded(confidence: float | None) -> float | None:
    """To four places."""
    return None if confidence is None else round(confidence, 4)
