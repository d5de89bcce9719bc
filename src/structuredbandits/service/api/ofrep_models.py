"""The models of the OpenFeature Remote Evaluation Protocol (OFREP).

Names are those of the protocol, in camelCase; it allows additional fields in a context.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from structuredbandits.service.api.models import Name, SubjectName
from structuredbandits.service.api.openapi_examples import Documented


class EvaluationContext(Documented):
    """For whom a flag is evaluated."""

    model_config = ConfigDict(extra="allow")

    targetingKey: SubjectName = Field(description="The subject.")
    arms: Annotated[list[Name], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="The arms that may be shown; all if left out."
    )


class EvaluationRequest(Documented):
    """The evaluation of one flag or of all flags."""

    model_config = ConfigDict(extra="allow")

    context: EvaluationContext


class EvaluationMetadata(Documented):
    """Facts about the decision, for hooks and for the reward."""

    decision: str | None = Field(
        default=None, description="The decision's ID; left out if it was not stored."
    )
    probability: float
    structure_version: int
    stored: bool


class EvaluationSuccess(Documented):
    """A decision as the evaluation of a flag."""

    key: str = Field(description="The flag: the experiment's ID.")
    reason: Literal["SPLIT"]
    variant: str = Field(description="The arm.")
    value: JsonValue = Field(description="The arm's payload, or its name.")
    metadata: EvaluationMetadata


class EvaluationFailure(Documented):
    """Why a flag was not evaluated."""

    key: str | None = None
    errorCode: Literal[
        "PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"
    ]
    errorDetails: str


class BulkEvaluation(Documented):
    """All running experiments that the key can access."""

    flags: list[EvaluationSuccess | EvaluationFailure]
