"""Settings that a name alone stands for: α = 3, β = 1 as in the figures, and papers' advice.

Published numbers and stored results depend on them, so that none may change by accident.
"""

from __future__ import annotations

import dataclasses
import math

import pytest

import structuredbandits as sb
from structuredbandits.policies.structured.hierarchical_index import gittins_bonus
from tests.built_in import built_in_names

DEFAULTS = {
    sb.UCB: {"alpha": 3.0},
    sb.KLUCB: {"c": 0.0},
    sb.KLUCBBernoulli: {"c": 0.0},
    sb.ThompsonSampling: {"beta": 1.0},
    sb.ThompsonBeta: {},
    sb.MOSS: {},
    sb.IMED: {},
    sb.BayesUCB: {"c": 0.0},
    sb.UCBTuned: {},
    sb.EpsilonGreedy: {"epsilon": 0.1, "decay": None},
    sb.Uniform: {},
    sb.Always: {"arm": None},
    sb.Greedy: {"noise": None},
    sb.PriorIndex: {"noise": None, "length": None},
    sb.Competitive: {
        "alpha": 3.0,
        "informative": None,
        "pull_each_arm_first": False,
        "confidence": "box",
    },
    sb.Informative: {"metric": "kl", "gamma": 30.0, "d": 1.1},
    sb.UCBS: {"alpha": 3.0},
    sb.PosteriorSampling: {"uniform_prior": False},
    sb.IDS: {"uniform_prior": False},
    sb.LinearGreedy: {},
    sb.OFUL: {"delta": 0.01, "ridge": 1.0},
    sb.GLMUCB: {"alpha": 3.0},
    sb.WAGP: {},
    sb.UCBG: {
        "alpha": 3.0,
        "groups": None,
        "d1": None,
        "d2": None,
        "gamma1": 1.0,
        "gamma2": 1.0,
    },
    sb.OSSB: {"gamma": 0.0, "epsilon": 0.01},
    sb.MUCB: {"delta": None},
    sb.FPUCB: {"alpha": 3.0},
    sb.CROP: {"alpha": 2.0, "z": None},
    sb.Hierarchical: {"noise": None, "use_prior": True, "spread": 1.0},
    sb.HierarchicalIndex: {"noise": None, "use_prior": False, "doubt": 2.0},
    sb.ValueOfInformation: {"length": None, "noise": None, "use_prior": True, "doubt": 1.0},
    sb.HierarchicalCompetitive: {
        "alpha": 3.0,
        "errors": 2.0,
        "noise": None,
        "use_prior": True,
        "spread": 1.0,
    },
    sb.Robust: {"pulls": 1.0, "alpha": 1.0, "fallback": sb.ThompsonSampling()},
    sb.ExplorationFloor: {"floor": 0.05},
}


@pytest.mark.parametrize("algorithm", DEFAULTS, ids=lambda algorithm: algorithm.__name__)
def test_defaults_are_the_published_ones(algorithm: type) -> None:
    found = {
        field.name: field.default
        for field in dataclasses.fields(algorithm)
        if field.default is not dataclasses.MISSING
    }
    assert found == DEFAULTS[algorithm]


def test_every_named_algorithm_is_there() -> None:
    made = {type(sb.make_algorithm(name)) for name in built_in_names()}
    assert made <= set(DEFAULTS)


@pytest.mark.parametrize(("power", "log_s"), [(8, 18.420680743952367), (12, 27.631021115928547)])
def test_far_ahead_doubt_is_worth_what_chernoff_and_ray_found(power: int, log_s: float) -> None:
    """√(2 log s − log log s − log 16π), with log 16π = 3.917318..."""
    expected = math.sqrt(2 * log_s - math.log(log_s) - 3.9173182)
    assert gittins_bonus.py_func(10.0**power) == pytest.approx(expected, rel=1e-6)
