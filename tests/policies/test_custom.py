"""Custom index functions and metrics are compiled and work wherever a built-in one does."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies import registration
from structuredbandits.policies.batch import probabilities_many, pull_many
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.custom import index_policy
from structuredbandits.policies.informative import Informative
from structuredbandits.policies.policy import Policy
from structuredbandits.policies.registration import registered
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.policies.ties import share_of_ties
from structuredbandits.simulation import simulate
from structuredbandits.structure import Structure
from structuredbandits.testing import check_policy
from tests.plain import classical, run
from tests.plain.random_problems import compare, worlds
from tests.plain.run import PlainRun, Rule
from tests.policies.custom_policies import own_greedy, own_ucb, span

TWO = Structure.from_table([[1.0, 0.0, 0.3], [0.0, 2.0, 0.3]], sigma=0.5)
BOTH = [own_ucb(alpha=2.0), Competitive(own_ucb(), informative=Informative(span, gamma=5.0))]


def plain_span(values: list[float], weights: list[float], tolerance: float) -> float:
    return values[-1] - values[0]


@settings(max_examples=30)
@given(worlds(), st.sampled_from([0.3, 3.0]))
def test_inside_algorithm_c_with_a_metric_of_one_s_own(world: Any, alpha: float) -> None:
    step = Informative(span, gamma=5.0, d=0.7)
    policy = Competitive(own_ucb(alpha=alpha), informative=step).start(world.structure, seed=4)
    plain_step = run.Informative(plain_span, gamma=5.0, d=0.7)
    rule = Rule("c", classical.ucb(alpha), informative=plain_step)
    compare(policy, PlainRun(rule, world.facts, 4), world, rounds=40)


def test_it_is_a_value_like_any_other() -> None:
    assert repr(own_ucb(alpha=2.0)) == "own_ucb(alpha=2.0)"
    assert own_ucb(alpha=2.0) == own_ucb(alpha=2) != own_ucb()
    assert hash(own_ucb(alpha=2.0)) == hash(own_ucb(alpha=2))
    assert own_ucb(alpha=2.0).label == "own-ucb(alpha=2)"
    assert make_algorithm("own-ucb-c(alpha=2)") == Competitive(own_ucb(alpha=2), alpha=2)
    assert make_algorithm("own-greedy") == own_greedy()
    assert own_ucb.__doc__ == "UCB again, so that its decisions are known."
    for clone in (copy.deepcopy(BOTH[1]), pickle.loads(pickle.dumps(BOTH[1]))):
        assert clone == BOTH[1]


def test_a_run_of_it_is_stored_as_json() -> None:
    policy = own_greedy().start(TWO, seed=0)
    for arm in range(3):
        policy.update(arm, float(arm))
    clone = Policy.from_state(TWO, json.loads(json.dumps(policy.state_dict())))
    assert clone.algorithm == own_greedy()
    assert clone.pull() == policy.pull() == "3"


def test_a_run_with_one_s_own_metric_cannot_be_stored() -> None:
    policy = Competitive(own_ucb(), informative=Informative(span)).start(TWO, seed=0)
    with pytest.raises(
        InvalidPolicy, match="the metric span cannot be stored as JSON; use a built-in"
    ):
        policy.state_dict()


def test_the_same_in_other_processes() -> None:
    # One task for each worker: a worker compiles what is not the library's by itself.
    settings: dict[str, Any] = {"theta": 1, "horizon": 40, "runs": 3, "progress": "off"}
    here = simulate(TWO, BOTH, **settings)
    with joblib.parallel_config(backend="loky"):
        there = simulate(TWO, BOTH, **settings, n_jobs=2)
    assert here.policies == ("own-ucb(alpha=2)", "own-ucb-c-span(gamma=5)")
    assert (here.reward == there.reward).all()
    assert (here.pulls == there.pulls).all()


SCRIPT = """
import math
import joblib
import structuredbandits as sb

@sb.index_policy
def mine(arm, moment, width=1.0):
    return arm.mean + width * arm.sigma * math.sqrt(moment.log_t / arm.pulls)

if __name__ == "__main__":
    structure = sb.Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=0.5)
    policies = [mine(width=0.5), mine(width=2)]
    here = sb.simulate(structure, policies, theta=0, horizon=40, runs=3)
    with joblib.parallel_config(backend="loky"):
        there = sb.simulate(structure, policies[1:], theta=0, horizon=40, runs=3, n_jobs=2)
    assert (here.reward[1:] == there.reward).all()
    print(*here.policies)
"""


def test_defined_in_a_script_and_sent_to_other_processes(tmp_path: Path) -> None:
    """There the class arrives without its module, and was never registered."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=1800)
    assert done.stderr == ""
    assert done.stdout == "mine(width=0.5) mine(width=2)\n"


def test_a_new_definition_replaces_the_old_one() -> None:
    """As in a notebook, where a cell is edited and run again."""

    def make(sign: float) -> Any:
        @index_policy
        def edited(arm: Any, moment: Any) -> float:
            return float(sign * arm.mean)

        return edited

    history = [(0, 1.0), (1, 2.0), (2, 3.0)]
    largest, smallest = make(1.0), make(-1.0)
    assert largest().start(TWO, seed=0, history=history).pull() == "3"
    assert smallest().start(TWO, seed=0, history=history).pull() == "1"
    assert make_algorithm("edited") == smallest()


def no_arm() -> float:
    return 0.0


def no_default(arm: Any, moment: Any, width: float) -> float:
    return width


def taken_parameter(arm: Any, moment: Any, label: float = 1.0) -> float:
    return label


def ucb(arm: Any, moment: Any) -> float:
    return math.inf


def ts_c(arm: Any, moment: Any) -> float:
    return math.inf


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (
            no_arm,
            "no_arm must take (arm, moment) and then parameters with defaults, for example def "
            "cautious(arm, moment, width=1.0).",
        ),
        (
            no_default,
            "no_default must take (arm, moment) and then parameters with defaults, for example "
            "def cautious(arm, moment, width=1.0).",
        ),
        (
            taken_parameter,
            "taken_parameter has a parameter 'label', which every algorithm uses "
            "already; rename it.",
        ),
        (ucb, "'ucb' is the name of a built-in policy; give yours another name."),
        (ts_c, "'ts-c' is the name of a built-in policy; give yours another name."),
    ],
)
def test_refused_functions(function: Any, sentence: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        index_policy(function)
    assert str(caught.value) == sentence
    assert make_algorithm("ucb") == UCB()


def test_refused_settings() -> None:
    with pytest.raises(InvalidPolicy) as caught:
        make_algorithm("own-ucb(alpha='wide')")
    assert str(caught.value) == (
        "own_ucb needs a finite number as alpha, not 'wide'; give for example alpha=3.0."
    )


def test_the_contract_holds_with_a_metric_of_one_s_own() -> None:
    check_policy(Competitive(own_ucb(), informative=Informative(span, gamma=5.0)))


NO_ROOT = own_ucb(alpha=-1.0)  # the square root of a negative number
NO_ROOT_SAYS = (
    "own-ucb(alpha=-1) cannot choose, since own_ucb returned NaN for arm '2'; let it return a "
    "number whatever the rewards, for example by keeping divisors and logarithms above 0."
)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: NO_ROOT.start(TWO, seed=0, history=[("2", 0.5)]).pull(),
        lambda: NO_ROOT.start(TWO, seed=0, history=[("2", 0.5)]).probabilities(),
        lambda: pull_many(NO_ROOT, TWO, [[0, 1, 0]], [[0.0, 0.5, 0.0]], seed=0),
        lambda: probabilities_many(NO_ROOT, TWO, [[0, 1, 0]], [[0.0, 0.5, 0.0]]),
    ],
    ids=["pull", "probabilities", "pull_many", "probabilities_many"],
)
def test_an_index_that_is_no_number(ask: Any) -> None:
    """Arms 1 and 3 were never seen, so arm 2 is the one that has an index."""
    with pytest.raises(InvalidPolicy) as caught:
        ask()
    assert str(caught.value) == NO_ROOT_SAYS


def test_a_pull_without_a_number_is_not_counted() -> None:
    policy = NO_ROOT.start(TWO, seed=0, history=[("2", 0.5)])
    before = policy.state_dict()
    with pytest.raises(InvalidPolicy):
        policy.pull()
    assert policy.state_dict() == before


def test_a_simulation_ends_where_an_index_is_no_number() -> None:
    with pytest.raises(InvalidPolicy, match=r"since own_ucb returned NaN for arm '[123]'; let it"):
        simulate(TWO, [UCB(), NO_ROOT], theta=0, horizon=20, runs=2, progress="off")


def test_a_metric_that_is_no_number() -> None:
    structure = Structure.from_table([[1.0, 2e95, 0.0], [0.0, 3e95, 0.0]], sigma=1.0)
    algorithm = Competitive(own_ucb(), informative=Informative(span, gamma=5.0))
    says = "own-ucb-c-span(gamma=5) cannot choose, since span returned NaN for arm '2'; let it"
    with pytest.raises(InvalidPolicy, match=re.escape(says)):
        algorithm.start(structure, seed=0).pull()
    with pytest.raises(InvalidPolicy, match=re.escape(says)):
        algorithm.start(structure, seed=0).probabilities()
    with pytest.raises(InvalidPolicy, match=re.escape(says)):
        simulate(structure, algorithm, theta=0, horizon=20, runs=1, progress="off")


def test_equal_indices_share_whatever_is_pending() -> None:
    """Only arms that were never seen wait for their pending rewards."""
    lowest = np.array([-math.inf, -math.inf])
    assert share_of_ties(lowest, np.array([0.0, 1.0])).tolist() == [0.5, 0.5]
    assert share_of_ties(-lowest, np.array([0.0, 1.0])).tolist() == [1.0, 0.0]


def no_such_field(arm: Any, moment: Any) -> float:
    return float(arm.weight)


def imports(arm: Any, moment: Any) -> float:
    import decimal

    return float(decimal.Decimal(arm.mean))


def sometimes(arm: Any, moment: Any) -> Any:
    return 1.0 if arm.mean > 0 else None


def several(arm: Any, moment: Any) -> Any:
    return arm.mean, arm.pulls


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (no_such_field, "no_such_field cannot be compiled: Unknown attribute 'weight' of type Arm"),
        (imports, "imports cannot be compiled: Use of unsupported opcode (IMPORT_NAME) found"),
        (sometimes, "sometimes returns OptionalType(float64); let it return one number in every"),
        (several, "several returns UniTuple(float64 x 2); let it return one number in every case."),
    ],
)
def test_an_index_that_cannot_be_compiled(
    function: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Forgotten afterwards: other tests ask for all policies that there are.
    monkeypatch.setattr(registration, "_classes", registered())
    made = index_policy(function)
    for _ in range(2):  # it fails the second time, too
        refused(lambda: made().start(TWO, seed=0), says)
    refused(lambda: simulate(TWO, made(), theta=0, horizon=5, runs=1, progress="off"), says)


def two_arguments(values: np.ndarray, weights: np.ndarray) -> Any:
    return values[0]


def several_values(values: np.ndarray, weights: np.ndarray, tolerance: float) -> Any:
    return values


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (two_arguments, "two_arguments cannot be compiled: Cannot bind"),
        (several_values, "several_values returns array(float64, 1d, C); let it return one number"),
    ],
)
def test_a_metric_that_cannot_be_compiled(metric: Any, says: str) -> None:
    refused(lambda: Competitive(UCB(), informative=Informative(metric)).start(TWO, seed=0), says)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: index_policy(lambda arm, moment: arm.mean),
            "a lambda does not have a name for the policy; write for example def cautious(",
        ),
        (
            lambda: Informative(lambda values, weights, tolerance: values[0]),
            "a lambda does not have a name for the policy; write for example def span(",
        ),
        (lambda: index_policy(3), "3 is not a function; give one, for example def cautious(arm,"),
        (
            lambda: Informative(math.fsum),
            "<built-in function fsum> is not a function; give",
        ),
        (lambda: Informative(["kl"]), "there is no informativeness metric ['kl']; use one of kl,"),
    ],
)
def test_what_is_no_function_with_a_name(make: Any, says: str) -> None:
    refused(make, says)


def refused(action: Any, says: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        action()
    sentence = str(caught.value)
    assert sentence.startswith(says)
    assert "\n" not in sentence
    assert "\x1b" not in sentence
    assert len(sentence) < 400
