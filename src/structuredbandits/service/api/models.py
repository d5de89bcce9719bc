"""The models of requests and responses; FastAPI validates and documents them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from structuredbandits.service.api.openapi_examples import Documented

# Any visible text, without control characters, which databases and terminals cannot handle.
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
# A subject's id is a part of paths, where dots alone would be folders.
SubjectName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f.][^\x00-\x1f\x7f]*$",
    ),
]
ExperimentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", max_length=64)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
PerMinute = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
RewardValue = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e100, le=1e100)]


class Strict(Documented):
    """A request: unknown fields are rejected, so that a misspelt one is found."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Documented):
    """Why a request was rejected."""

    code: str = Field(examples=["unknown_experiment"])
    message: str = Field(examples=["there is no experiment 'shop' that this key can access."])
    remedy: str | None = None
    status: int | None = Field(
        default=None, description="In a batch: the status that this one would have had alone."
    )


class ErrorAnswer(Documented):
    """The body of every error."""

    error: ErrorDetail


class EmbeddedStructure(Strict):
    """A structure that comes with the library."""

    problem: Annotated[str, Field(max_length=200)] = Field(examples=["three-arms"])


class StructureFile(Strict):
    """A structure file, as `Structure.save` writes it."""

    file: Annotated[str, Field(max_length=12_000_000)] = Field(
        description="The file's bytes in base64."
    )


StructureSource = EmbeddedStructure | StructureFile


# By arm.
Payloads = Annotated[dict[Name, JsonValue], Field(max_length=1_000)]


_Rounds = Annotated[float, Field(strict=True, ge=1, le=1e15, allow_inf_nan=False)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1e15, allow_inf_nan=False)]
Length = _Rounds | Annotated[list[tuple[_Rounds, _Share]], Field(min_length=1, max_length=1_000)]


class Settings(Strict):
    """The settings of an experiment."""

    horizon: Annotated[int, Field(strict=True, ge=1, le=10**9)] | None = Field(
        default=None,
        description="Rounds that every subject will have, for policies that use it.",
    )
    length: Length | None = Field(
        default=None,
        description="How many rounds each subject has, for policies that use it: the mean, or "
        "pairs of a number and its share. By default that of the structure.",
        examples=[30, [[10, 0.75], [100, 0.25]]],
    )
    floor: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        default=0.0, description="With this probability a uniformly random allowed arm is shown."
    )
    reward_deadline_seconds: (
        Annotated[float, Field(strict=True, gt=0, le=1e9, allow_inf_nan=False)] | None
    ) = Field(default=None, description="How long to wait for a reward.")
    default_reward: RewardValue | None = Field(
        default=None, description="What counts when the deadline passes; without it nothing counts."
    )
    retention_days: (
        Annotated[float, Field(strict=True, gt=0, le=36_500, allow_inf_nan=False)] | None
    ) = Field(
        default=None, description="Subjects are deleted this long after they were first seen."
    )
    on_database_failure: Literal["refuse", "prior"] = Field(
        default="refuse",
        description="Whether to answer 503, or from the prior, flagged and not stored.",
    )
    sticky_seconds: Annotated[float, Field(strict=True, ge=0, le=1e9, allow_inf_nan=False)] = Field(
        default=1800.0,
        description="How long an evaluation over OpenFeature repeats the subject's last decision "
        "while its reward is pending.",
    )
    payloads: Payloads | None = Field(
        default=None, description="What a decision returns with each arm: any JSON."
    )


class NewExperiment(Strict):
    """An experiment to be created."""

    id: ExperimentName | None = Field(default=None, examples=["shop-window"])
    structure: StructureSource = Field(examples=[{"problem": "three-arms"}])
    policy: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        default="default",
        examples=["ts-c"],
        description="A policy by name; `default` is stored under its own name.",
    )
    settings: Settings = Field(default_factory=Settings, examples=[{"floor": 0.02}])


class ExperimentChange(Strict):
    """A change of an experiment; what is left out stays."""

    state: Literal["running", "paused"] | None = None
    payloads: Payloads | None = Field(default=None, description="Null removes all payloads.")


class NewStructure(Strict):
    """A new version of an experiment's structure."""

    structure: StructureSource = Field(examples=[{"problem": "three-arms"}])


class ExperimentAnswer(Documented):
    """An experiment."""

    id: str
    state: Literal["running", "paused", "unusable"]
    reason: str | None = Field(
        default=None,
        description="Why this version of the library cannot serve it, if it is unusable.",
    )
    policy: str
    settings: Settings = Field(description="Empty if they cannot be read.")
    arms: list[str]
    retired_arms: list[str]
    structure_version: int
    parameters: int
    created: str


class ExperimentList(Documented):
    """All experiments that a key can access."""

    experiments: list[ExperimentAnswer]


class StructureAnswer(Documented):
    """A version of a structure, with means for drawing."""

    experiment: str
    version: int
    digest: str
    name: str | None
    minimize: bool
    arms: list[str]
    sigma: list[float]
    kind: str
    parameters: list[str]
    values: list[list[float]] | None
    lower: list[list[float]]
    upper: list[list[float]]
    prior: list[float] | None
    positions: list[int] = Field(description="Which θ these are, if not all are listed.")


class NewSubject(Strict):
    """A subject to be created; without an ID it gets one."""

    subject: SubjectName | None = None


class ArmState(Documented):
    """A subject's rewards of an arm."""

    count: int = Field(description="Rewards received.")
    pending: int = Field(description="Decisions whose reward is still to come.")
    mean: float | None
    low: float | None = Field(description="Ends of the interval of its mean; null before a reward.")
    high: float | None
    retired: bool


class PlausibleThetas(Documented):
    """The θ that the rewards do not contradict."""

    count: int
    of: int
    runs: list[list[int]] = Field(description="Positions in Θ: first and last of each run.")
    labels: list[str] = Field(description="The first ones by name.")


class Fit(Documented):
    """How well the structure explains a subject's rewards."""

    rewards: int
    best_fit: str | None
    surprise: float
    worst_arm: str | None
    worst_distance: float
    empty_rounds: int
    empty_share: float
    refuted: bool
    verdict: str


class SubjectAnswer(Documented):
    """A subject, with what is known of it."""

    experiment: str
    subject: str
    structure_version: int
    created: str
    decided: int
    received: int
    arms: dict[str, ArmState]
    probabilities: dict[str, float]
    competitive_arms: list[str]
    plausible: PlausibleThetas
    diagnostics: Fit


class SubjectBrief(Documented):
    """A subject in a list."""

    subject: str
    structure_version: int
    decided: int
    received: int
    created: str


class SubjectList(Documented):
    """A page of subjects."""

    subjects: list[SubjectBrief]
    next: str | None


class ArmEvidence(Documented):
    """Rewards of an arm so far."""

    count: int
    mean: float


class PlausibleRuns(Documented):
    """A set of θ."""

    count: int
    runs: list[list[int]] = Field(description="Positions in Θ: first and last of each run.")


class Step(Documented):
    """A decision, with what was known when it was made."""

    round: int
    decision: str
    arm: str
    probability: float
    reward: float | None
    state: Literal["pending", "rewarded", "default", "expired"]
    competitive_arms: list[str]
    arms: dict[str, ArmEvidence] = Field(description="Of the arms that had rewards by then.")
    plausible: PlausibleRuns
    created: str
    rewarded: str | None


class StepsAnswer(Documented):
    """A subject's decisions one by one, with what was plausible at each."""

    experiment: str
    subject: str
    structure_version: int
    steps: list[Step]
    next: int | None


class DecisionRequest(Strict):
    """A subject for which an arm is to be chosen."""

    subject: SubjectName = Field(examples=["visitor-7"])
    arms: Annotated[list[Name], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="The arms that may be shown; all if left out."
    )


class KeyedDecisionRequest(DecisionRequest):
    """A decision of a batch, with its own idempotency key."""

    key: Name | None = Field(default=None, examples=["order-4711"])


class DecisionBatch(Strict):
    """Decisions for many subjects."""

    decisions: Annotated[list[KeyedDecisionRequest], Field(min_length=1, max_length=1000)]


class DecisionAnswer(Documented):
    """A decision: the arm to show, and why."""

    id: str | None = Field(examples=["1f-3-9c0ffee5"])
    experiment: str
    subject: str
    round: int | None
    arm: str
    probability: float
    probabilities: dict[str, float]
    competitive_arms: list[str]
    why: str
    structure_version: int
    created: str
    stored: bool = Field(description="False: from the prior, while the database was unavailable.")
    expires: str | None = None
    payload: JsonValue = Field(
        default=None, description="Of the arm, if the experiment defines payloads."
    )


class DecisionBatchAnswer(Documented):
    """An answer or an error for each decision, in the order of the request."""

    decisions: list[DecisionAnswer | ErrorAnswer]


class RewardRequest(Strict):
    """The reward of a decision."""

    reward: RewardValue = Field(examples=[4.0])


class CorrectionRequest(Strict):
    """Another value for a reward, and why."""

    reward: RewardValue = Field(examples=[3.0])
    reason: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")] = Field(
        examples=["counted twice in the shop"]
    )


class DecisionReward(RewardRequest):
    """A reward of a batch."""

    decision: Annotated[str, Field(max_length=64)] = Field(examples=["1f-3-9c0ffee5"])


class RewardBatch(Strict):
    """Rewards of many decisions."""

    rewards: Annotated[list[DecisionReward], Field(min_length=1, max_length=1000)]


class RewardAnswer(Documented):
    """How a reward was counted."""

    decision: str
    reward: float
    counted: bool
    status: Literal["counted", "late"]
    repeated: bool


class RewardBatchAnswer(Documented):
    """An answer or an error for each reward, in the order of the request."""

    rewards: list[RewardAnswer | ErrorAnswer]


class CorrectionAnswer(Documented):
    """A corrected reward."""

    decision: str
    before: float | None
    reward: float
    reason: str


class PublishableTerms(Strict):
    """How a publishable key may be used."""

    origins: Annotated[
        list[Annotated[str, Field(max_length=300)]], Field(min_length=1, max_length=100)
    ] = Field(description="Origins of web pages, such as https://shop.example; * for all.")
    per_address: PerMinute = Field(
        default=600, description="Requests per minute from one address, in each process."
    )
    per_subject: PerMinute = Field(
        default=60, description="Decisions per minute for one subject, in each process."
    )
    signed: bool = Field(default=False, description="Whether requests need a subject token.")


class NewKey(Strict):
    """A key to be created."""

    scopes: Annotated[list[Literal["decide", "reward", "read", "admin"]], Field(min_length=1)]
    experiment: ExperimentName | None = None
    label: Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    publishable: PublishableTerms | None = Field(
        default=None, description="Makes a key that may be part of a web page."
    )
    expires_days: Annotated[float, Field(strict=True, gt=0, le=36_500)] | None = Field(
        default=None, description="After this many days the key no longer works."
    )
    requests_per_minute: PerMinute | None = Field(
        default=None, description="In each process of the service; each item of a batch counts."
    )


class KeyRotation(Strict):
    """How a key is replaced."""

    overlap_hours: Annotated[float, Field(strict=True, ge=0, le=8_760)] = Field(
        default=24.0, description="How long both keys work."
    )


class KeyAnswer(Documented):
    """A key, without its secret."""

    id: str | None
    scopes: list[str]
    experiment: str | None
    label: str
    created: str | None
    revoked: str | None
    publishable: PublishableTerms | None
    expires: str | None
    last_used: str | None = Field(description="To about a minute.")
    requests_per_minute: int | None


class NewKeyAnswer(KeyAnswer):
    """A new key; it is shown only here."""

    key: str
    token_secret: str | None = Field(
        default=None, description="Signs subject tokens, if the key needs them; keep it secret."
    )


class KeyList(Documented):
    """All keys."""

    keys: list[KeyAnswer]


class AuditLine(Documented):
    """What was done, by whom and when."""

    number: int
    created: str
    action: str
    experiment: str | None
    subject: str | None = Field(description="Of a correction, unless it was deleted since.")
    key: str | None = Field(description="The key that did it; null: the service or the command.")
    detail: dict[str, Any]


class AuditLines(Documented):
    """A page of the audit log."""

    lines: list[AuditLine]
    next: int | None = Field(description="The value of `after` for the next page; null at the end.")
