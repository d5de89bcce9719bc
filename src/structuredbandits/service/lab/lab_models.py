"""The models of the lab's requests and responses, with limits that keep a request small."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

MOST_ARMS = 12
MOST_BREAKPOINTS = 60
MOST_POINTS = 601
MOST_POLICIES = 6
MOST_ROUNDS = 2000
LARGEST = 1e6

Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
ArmName = Annotated[str, Field(min_length=1, max_length=40)]
PolicyName = Annotated[str, Field(min_length=1, max_length=80)]
Breakpoints = Annotated[
    list[tuple[Number, Number]], Field(min_length=2, max_length=MOST_BREAKPOINTS)
]


_LOOK: dict[str, Any] = {"colour": "#0072B2", "dash": [], "marker": "o"}
_ARM: dict[str, Any] = {
    "name": "1",
    "look": _LOOK,
    "sigma": 2.0,
    "means": [3.0, 6.5],
}


def _shown(example: dict[str, Any]) -> ConfigDict:
    """What the documentation shows of a body or an answer."""
    return ConfigDict(json_schema_extra={"examples": [example]})


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NamedStructure(_Request):
    """An embedded problem, with its own environment."""

    problem: Annotated[str, Field(min_length=1, max_length=60, examples=["three-arms"])]


class DrawnStructure(_Request):
    """Functions drawn as breakpoints (θ, mean), linear between them; rewards are Gaussian."""

    breakpoints: Annotated[
        dict[ArmName, Breakpoints],
        Field(
            min_length=2,
            max_length=MOST_ARMS,
            description="Arm name → pairs (θ, mean); all arms have the same first and last θ.",
            examples=[{"low": [[0, 3], [6, 1]], "high": [[0, 0], [6, 5]]}],
        ),
    ]
    sigma: Annotated[float, Field(gt=1e-6, le=LARGEST, description="Standard deviation.")] = 2.0
    points: Annotated[int, Field(ge=2, le=MOST_POINTS, description="Even grid points.")] = 301


def _form(given: Any) -> str:
    """Tell which of the two forms was meant, so that a mistake is explained in that form."""
    if isinstance(given, DrawnStructure) or (isinstance(given, dict) and "breakpoints" in given):
        return "drawn"
    return "named"


StructureChoice = Annotated[
    Annotated[NamedStructure, Tag("named")] | Annotated[DrawnStructure, Tag("drawn")],
    Discriminator(_form),
]
ThetaChoice = int | float | str | list[int | float | str]


class StructureRequest(_Request):
    """Which structure to show."""

    model_config = _shown({"structure": {"problem": "three-arms"}})

    structure: StructureChoice


class RunRequest(_Request):
    """What to run: all policies face identical simulated rewards."""

    model_config = _shown(
        {
            "structure": {"problem": "three-arms"},
            "theta": 0.5,
            "policies": ["ucb", "ucb-c"],
            "rounds": 500,
            "seed": 7,
        }
    )

    structure: StructureChoice
    theta: Annotated[
        ThetaChoice,
        Field(description="The hidden θ*: a number, a label, or one for each side of a box."),
    ]
    policies: Annotated[
        list[PolicyName],
        Field(min_length=1, max_length=MOST_POLICIES, examples=[["ucb", "ucb-c", "ts-c"]]),
    ]
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = 500
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0


class Look(BaseModel):
    """How a policy or an arm is drawn, the same as in the library's figures."""

    colour: str
    dash: list[float] = Field(description="Lengths of strokes and gaps; empty for a solid line.")
    marker: str


class Looks(BaseModel):
    """Looks of arms by position, and of policies by name."""

    model_config = _shown({"arms": [_LOOK], "policies": {"ucb-c": _LOOK}})

    arms: list[Look]
    policies: dict[str, Look]


class LabProblem(BaseModel):
    """An embedded problem."""

    name: str
    title: str
    description: str
    arms: int
    parameters: int


class Problems(BaseModel):
    """All embedded problems."""

    model_config = _shown(
        {
            "problems": [
                {
                    "name": "three-arms",
                    "title": "Three arms",
                    "description": "Three arms on one hidden number.",
                    "arms": 3,
                    "parameters": 601,
                }
            ]
        }
    )

    problems: list[LabProblem]


class OfferedPolicy(BaseModel):
    """A policy, and whether it can run on a structure."""

    name: str
    look: Look
    applies: bool
    reason: str | None = Field(default=None, description="Why it cannot run.")


class ArmRow(BaseModel):
    """An arm: its mean at every θ, for drawing."""

    name: str
    look: Look
    sigma: float
    means: list[float]
    lower: list[float] | None = Field(
        default=None, description="Bounds, where the means are not exact."
    )
    upper: list[float] | None = None


class LabStructureAnswer(BaseModel):
    """A structure, ready to be drawn."""

    model_config = _shown(
        {
            "name": "three-arms",
            "title": "Three arms",
            "description": "Three arms on one hidden number.",
            "kind": "interval",
            "sides": ["theta"],
            "axes": [[0.0, 6.0]],
            "arms": [_ARM],
            "best": [0, 0],
            "minimize": False,
            "thetas": [0.5],
            "policies": [{"name": "ucb-c", "look": _LOOK, "applies": True}],
            "names": ["ucb", "ucb-c"],
        }
    )

    name: str | None
    title: str
    description: str
    kind: Literal["interval", "box", "labels"]
    sides: list[str] = Field(description="The names of θ's parts.")
    axes: list[list[float]] | None = Field(
        default=None, description="Grid values of each side; None for labels."
    )
    labels: list[list[str]] | None = Field(
        default=None, description="The parts of each θ; None on a grid."
    )
    arms: list[ArmRow]
    best: list[int] = Field(description="The best arm at every θ, the first on a tie.")
    minimize: bool
    thetas: list[Any] = Field(description="θ worth trying.")
    policies: list[OfferedPolicy]
    names: list[str] = Field(description="Every policy name that applies.")


class PlausibleSet(BaseModel):
    """The plausible θ from one round on, until the next entry."""

    round: int
    plausible: list[tuple[int, int]] = Field(
        description="Runs of positions in Θ: from the first number up to, not with, the second."
    )
    share: float = Field(description="Share of Θ that is plausible.")
    competitive: list[int] = Field(description="Positions of the competitive arms.")


class PolicyRun(BaseModel):
    """One policy's run, round by round."""

    policy: str
    look: Look
    arms: list[int] = Field(description="Position of the arm of each round.")
    rewards: list[float]
    means: list[float] = Field(description="Mean reward of that arm, after the round.")
    regret: list[float] = Field(description="Cumulative, in expectation of the arms chosen.")
    sets: list[PlausibleSet] | None = Field(description="None for policies that keep no set.")
    widths: list[float] | None = Field(
        description="After each round: the radius of an arm's interval is width · sigma / √pulls."
    )


class RunAnswer(BaseModel):
    """Runs of all policies at one θ*."""

    model_config = _shown(
        {
            "theta": 0.5,
            "label": "0.5",
            "position": 50,
            "true_means": [3.0, 5.25],
            "best_arm": 1,
            "rounds": 2,
            "seed": 7,
            "policies": [
                {
                    "policy": "ucb-c",
                    "look": _LOOK,
                    "arms": [0, 1],
                    "rewards": [2.7, 5.9],
                    "means": [2.7, 5.9],
                    "regret": [2.25, 2.25],
                    "sets": [
                        {"round": 0, "plausible": [[0, 601]], "share": 1.0, "competitive": [0, 1]}
                    ],
                    "widths": [1.7, 2.1],
                }
            ],
        }
    )

    theta: Any
    label: str
    position: int = Field(description="Position in Θ of the grid point next to θ*.")
    true_means: list[float]
    best_arm: int
    rounds: int
    seed: int
    policies: list[PolicyRun]
