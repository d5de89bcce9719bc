"""Parameters of every algorithm: refused at construction, or they work and are plain values."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.confidence.sorted_tables import SortedTables
from structuredbandits.policies.parameter_checks import number, positive
from structuredbandits.policies.registration import registered
from structuredbandits.policies.registry import algorithm_to_dict

LINES = sb.Structure.from_functions(
    {"a": lambda x: 1 + 2 * x, "b": lambda x: 3 - x},
    sb.Interval(0, 1, points=5),
    sigma=1.0,
    standard_errors=np.full((5, 2), 0.2),
)
#: What each wrapper goes around; all other parameters have defaults.
WRAPPERS: dict[type, dict[str, Any]] = {
    sb.Competitive: {"policy": sb.UCB()},
    sb.Robust: {"algorithm": sb.PosteriorSampling()},
    sb.ExplorationFloor: {"algorithm": sb.UCB()},
    sb.Informative: {},
}
ALL: dict[type, dict[str, Any]] = {
    **{algorithm: {} for algorithm in registered(built_in=True).values()},
    **WRAPPERS,
}
FIELDS = [
    pytest.param(kind, field, id=f"{kind.__name__}.{field.name}")
    for kind in ALL
    for field in dataclasses.fields(kind)
]
RUBBISH = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    -1,
    0,
    1e308,
    10**400,
    "no",
    "1.0",
    "",
    b"1",
    True,
    False,
    1j,
    [],
    [1.0],
    {},
    (),
    object(),
    np.array([1.0]),
    np.array(1.0),
    np.float32(math.nan),
    np.float64(0.5),
    np.int64(1),
    np.bool_(True),
    np.str_("no"),
    sb.UCB,
]


def make(kind: type, name: str, value: Any) -> Any:
    return kind(**{**ALL[kind], name: value})


def leaves(agent: Any) -> list[Any]:
    if isinstance(agent, SortedTables):
        assert agent.limits is None  # LINES has Gaussian rewards
        agent = agent._replace(limits=())
    if isinstance(agent, tuple):
        return [leaf for part in agent for leaf in leaves(part)]
    return [agent]


@pytest.mark.parametrize(
    "value", RUBBISH, ids=[f"{place}-{type(value).__name__}" for place, value in enumerate(RUBBISH)]
)
@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_rubbish_is_refused_at_once_or_works(
    kind: type, field: dataclasses.Field[Any], value: Any
) -> None:
    try:
        made = make(kind, field.name, value)
    except sb.InvalidPolicy:
        return
    kept = getattr(made, field.name)
    assert not isinstance(kept, np.generic)
    if isinstance(made, sb.Informative):
        made = sb.Competitive(sb.UCB(), informative=made)
    try:
        made.check(LINES)
    except sb.StructuredBanditsError:
        assert field.name in (
            "groups",
            "arm",
        )  # whether these are the arms depends on the structure
        return
    made.memory(LINES)
    for leaf in leaves(made.agent(LINES, 16, 0)):
        assert isinstance(leaf, (np.ndarray, np.floating, float, int, np.integer))
        assert not isinstance(leaf, (float, np.floating)) or not math.isnan(leaf)
    json.dumps(algorithm_to_dict(made))
    assert sb.make_algorithm(made.label) == made


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_numpy_scalars_become_plain_values(kind: type, field: dataclasses.Field[Any]) -> None:
    pairs: list[tuple[Any, Any]] = []
    if field.type in ("float", "float | None"):
        pairs = [(np.float32(0.1), float(np.float32(0.1))), (np.float64(0.5), 0.5)]
        pairs += [(np.int64(1), 1)] if field.name != "delta" else []
    elif field.type == "bool":
        pairs = [(np.bool_(True), True), (np.bool_(False), False)]
    if kind is sb.UCBG and field.name.startswith("gamma"):
        pairs = [(np.float32(1.0), 1.0)]
    for given, plain in pairs:
        made, expected = make(kind, field.name, given), make(kind, field.name, plain)
        assert made == expected
        assert repr(made) == repr(expected)
        assert type(getattr(made, field.name)) is type(plain)
        if isinstance(made, sb.Algorithm):
            assert made.label == expected.label


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_every_number_declares_its_range(kind: type, field: dataclasses.Field[Any]) -> None:
    if field.type in ("float", "float | None"):
        for value in (math.nan, math.inf, -math.inf, "1", True, -1.0):
            with pytest.raises(sb.InvalidPolicy, match=field.name):
                make(kind, field.name, value)


@pytest.mark.parametrize(
    ("make_it", "says"),
    [
        (
            lambda: sb.Hierarchical(spread=None),  # type: ignore[arg-type]
            "Hierarchical needs a positive finite spread, not None; give for example spread=1.0.",
        ),
        (
            lambda: sb.Competitive(sb.UCB(), pull_each_arm_first="no"),  # type: ignore[arg-type]
            "Competitive needs True or False as pull_each_arm_first, not 'no'; give for example "
            "pull_each_arm_first=False.",
        ),
        (
            lambda: sb.make_algorithm("posterior(uniform_prior='no')"),
            "PosteriorSampling needs True or False as uniform_prior, not 'no'; give for example "
            "uniform_prior=False.",
        ),
        (
            lambda: sb.EpsilonGreedy(epsilon=1.5),
            "EpsilonGreedy needs a value between 0 and 1 as epsilon, not 1.5; give for example "
            "epsilon=0.1.",
        ),
        (
            lambda: sb.EpsilonGreedy(decay=-1.0),
            "EpsilonGreedy needs a positive finite decay, not -1.0; leave it out.",
        ),
        (
            lambda: sb.HierarchicalIndex(doubt=1e200),
            "HierarchicalIndex needs a doubt of at most 1e+100, not 1e+200; give for example "
            "doubt=2.0.",
        ),
        (
            lambda: sb.BayesUCB(c=-1.0),
            "BayesUCB needs a finite c of at least 0, not -1.0; give for example c=0.0.",
        ),
    ],
)
def test_what_is_refused_and_why(make_it: Any, says: str) -> None:
    with pytest.raises(sb.InvalidPolicy) as refused:
        make_it()
    assert str(refused.value) == says


def test_numpy_numbers_are_taken_by_the_hierarchical_policies() -> None:
    assert sb.Hierarchical(noise=np.float32(0.5)).label == "hierarchical(noise=0.5)"
    assert sb.HierarchicalIndex(doubt=np.int64(3)) == sb.HierarchicalIndex(doubt=3)


def test_names_that_give_0_or_1_for_a_flag_are_still_read() -> None:
    made = sb.make_algorithm("hierarchical(use_prior=0)")
    assert made == sb.Hierarchical(use_prior=False)
    assert made.label == "hierarchical(use_prior=0)"


def test_an_algorithm_of_one_s_own_is_checked_by_its_annotations() -> None:
    @dataclasses.dataclass(frozen=True, repr=False)
    class Own(sb.Algorithm):
        width: float = positive(2.0)
        bound: float = math.inf
        shift: float = number(0.0)
        fast: bool = False
        mode: str = "slow"
        anything: Any = None

    own = Own(width=np.float32(1.0), bound=math.inf, anything=[1])  # type: ignore[arg-type]
    assert (own.width, own.bound, own.anything) == (1.0, math.inf, [1])
    for wrong in (
        {"width": 0},
        {"bound": "far"},
        {"shift": math.inf},
        {"fast": "no"},
        {"mode": 3},
    ):
        with pytest.raises(sb.InvalidPolicy, match=next(iter(wrong))):
            Own(**wrong)  # type: ignore[arg-type]
