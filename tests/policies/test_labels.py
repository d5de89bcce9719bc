"""Labels: their text never changes, and `make_algorithm` reads back what an algorithm prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.policies import registration
from structuredbandits.policies.labels import read_label, split_labels, split_settings
from structuredbandits.policies.parameter_checks import LARGEST
from structuredbandits.policies.registration import registered
from structuredbandits.simulation.seeds import policy_sequence

PINNED = [
    line.split("\t")
    for line in Path(__file__).with_name("labels.tsv").read_text(encoding="utf-8").splitlines()
]
#: Other ways to write a label.
SPELLINGS = {
    "UCB-C (alpha = 2)": "ucb-c(alpha=2)",
    " ucb ( alpha=2 ) ": "ucb(alpha=2)",
    "ucb(alpha=2,)": "ucb(alpha=2)",
    "ucb(,alpha=2)": "ucb(alpha=2)",
    "ucb(alpha=+2)": "ucb(alpha=2)",
    "ucb(alpha=(2))": "ucb(alpha=2)",
    "ucb(alpha=2.)": "ucb(alpha=2)",
    "ucb(alpha=.5)": "ucb(alpha=0.5)",
    "ucb(alpha=1_0)": "ucb(alpha=10)",
    "ucb(alpha=1e1)": "ucb(alpha=10)",
    "ucb(alpha=0x10)": "ucb(alpha=16)",
    "ucb()": "ucb",
    "ucb-c()": "ucb-c",
    "ucb()-c": "ucb-c",
    "ids\n": "ids",
    "TS-C-KL(gamma=10)": "ts-c-kl(gamma=10)",
    "ucb(alpha=1)-c(alpha=3)": "ucb(alpha=1)-c",
    "UCB(alpha=1)-C-KL(gamma=2)": "ucb(alpha=1)-c-kl(gamma=2)",
    "ucb(alpha=1)-cj (floor=0.1)": "ucb(alpha=1)-cj(floor=0.1)",
    "ts(beta=2)-c(alpha=3)": "ts-c(beta=2)",
    "ucb-c(floor=0.1,robust=1)": "ucb-c(robust=1,floor=0.1)",
    "epsilon-greedy(decay=None)": "epsilon-greedy",
    "ucb-g(groups=[['a', \"b\"], ('c',)])": "ucb-g(groups=(('a', 'b'), ('c',)))",
    "ucb-c(fallback='kl-ucb', robust=1)": "ucb-c(robust=1,fallback=kl-ucb)",
    "ucb-c(fallback=UCB( alpha=2 ), robust=1)": "ucb-c(robust=1,fallback=ucb(alpha=2))",
}


@sb.index_policy
def plain_bonus(arm: Any, moment: Any, width: float = 1.0, delay: float = 0.0) -> Any:
    return arm.mean + width / arm.pulls + delay


@sb.index_policy
def Shared_names(
    arm: Any, moment: Any, alpha: float = 1.0, gamma: float = 2.0, pull_each_arm_first: float = 0.0
) -> Any:
    """Its parameters have the names of Algorithm-C's and of an informative step's."""
    return arm.mean + alpha * gamma


@sb.index_policy
def wrapper_names(
    arm: Any,
    moment: Any,
    floor: float = 0.5,
    robust: float = 0.0,
    refute: float = 0.0,
    fallback: float = 0.0,
) -> Any:
    """Its parameters have the names of the wrappers'."""
    return arm.mean + floor


@sb.index_policy
def größe(arm: Any, moment: Any, näher: float = 1.0) -> Any:
    """Names need not be ASCII."""
    return arm.mean * näher


OWN = {kind.name: kind for kind in (plain_bonus, Shared_names, wrapper_names, größe)}
# Forgotten here and known in this file only: other tests ask for all policies that there are.
for _name in OWN:
    del registration._classes[_name]


@pytest.fixture(scope="module", autouse=True)
def _known() -> Iterator[None]:
    registration._classes.update(OWN)
    yield
    for name in OWN:
        del registration._classes[name]


@pytest.mark.parametrize(("label", "digest"), PINNED, ids=[label for label, _ in PINNED])
def test_the_text_and_the_seed_of_a_label_do_not_change(label: str, digest: str) -> None:
    """Written with the first version of the library: a change here changes every run."""
    algorithm = sb.make_algorithm(label)
    assert algorithm.label == label
    seed = policy_sequence(7, 3, algorithm.label, 0.5).generate_state(2, dtype="uint32")
    assert seed.tobytes().hex() == digest


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_label_can_be_spelt_in_several_ways(text: str) -> None:
    assert sb.make_algorithm(text).label == SPELLINGS[text]


@pytest.mark.parametrize(
    ("algorithm", "label"),
    [
        (sb.Robust(sb.Competitive(sb.UCB()), alpha=2), "ucb-c(robust=1,refute=2)"),
        (
            sb.Robust(sb.Hierarchical(), fallback=sb.UCB(alpha=2)),
            "hierarchical(robust=1,fallback=ucb(alpha=2))",
        ),
        (sb.UCBG(groups=(("a", "b"), ("c",))), "ucb-g(groups=(('a', 'b'), ('c',)))"),
        (sb.UCBG(groups=[["a(,='", 'b"\n']]), "ucb-g(groups=((\"a(,='\", 'b\"\\n'),))"),
        (
            sb.Robust(sb.ExplorationFloor(sb.UCBS(), floor=0.1)),
            "ucb-s(floor=0.1)(robust=1)",
        ),
        (
            sb.Competitive(Shared_names(gamma=5), alpha=1.0, informative=sb.Informative("kl")),
            "Shared-names(gamma=5)-c-kl(alpha=1)",
        ),
        (wrapper_names(floor=2), "wrapper-names(floor=2)()"),
        (
            sb.ExplorationFloor(sb.Competitive(wrapper_names(robust=2)), floor=0.1),
            "wrapper-names-c(robust=2)(floor=0.1)",
        ),
        (wrapper_names(refute=2), "wrapper-names(refute=2)"),
        (sb.Always(arm="Film-Noir"), "always(arm='Film-Noir')"),
        (sb.Always(arm=2), "always(arm='2')"),  # type: ignore[arg-type]
        (sb.UCB(alpha=2**53 + 1), "ucb(alpha=9007199254740993)"),
        (sb.UCB(alpha=np.float64(0.5)), "ucb(alpha=0.5)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_could_not_be_written_before(algorithm: sb.Algorithm, label: str) -> None:
    assert algorithm.label == label
    assert sb.make_algorithm(label) == algorithm


NUMBERS = st.one_of(
    st.integers(1, 5),
    st.floats(1e-300, 1e300, allow_nan=False),
    st.sampled_from([1 / 3, 1e-7, 2**60 + 1, 0.1 + 0.2]),
)
SHARES = st.floats(1e-9, 1.0, exclude_min=True)


def _value(name: str, default: Any) -> st.SearchStrategy[Any]:
    if isinstance(default, bool):
        return st.booleans()
    if name == "arm":
        return st.one_of(st.none(), st.text())
    if name in ("epsilon", "delta"):
        return st.floats(1e-9, 0.99)
    if name == "c":
        return st.floats(0.0, 1e9)
    if name == "length":
        means = st.floats(1.0, 1e12)
        return st.one_of(st.none(), means, st.lists(st.tuples(means, SHARES), min_size=1))
    if name in ("width", "delay", "näher"):
        return st.one_of(st.floats(-1e9, 1e9), st.integers(-9, 9))
    numbers = NUMBERS
    if name in ("noise", "doubt", "errors"):  # which are squared, or multiplied with means
        numbers = NUMBERS.filter(lambda value: value <= LARGEST)
    return numbers if default is not None else st.one_of(st.none(), numbers)


@st.composite
def bases(draw: st.DrawFn, classical: bool | None = None) -> sb.Algorithm:
    """Any registered algorithm, and some of a user's own, with random parameters."""
    kinds = [*registered(built_in=True).values(), *OWN.values()]
    if classical is not None:
        kinds = [kind for kind in kinds if kind.classical == classical]
    kind = draw(st.sampled_from(kinds))
    given: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if not draw(st.booleans()):
            continue
        if field.name == "groups":
            names = st.lists(st.text(), min_size=1, max_size=2).map(tuple)
            given["groups"] = tuple(draw(st.lists(names, min_size=1, max_size=2)))
        else:
            given[field.name] = draw(_value(field.name, field.default))
    if {"gamma1", "gamma2"} & given.keys():  # they need both constants
        given |= {"d1": draw(NUMBERS), "d2": draw(NUMBERS)}
    made: sb.Algorithm = kind(**given)
    return made


@st.composite
def wrapped(draw: st.DrawFn) -> sb.Algorithm:
    """An algorithm inside any of the wrappers, which may be inside one another."""
    algorithm = draw(bases())
    if algorithm.classical and draw(st.booleans()):
        metrics = ["kl", "entropy", "differential-entropy", "random"]
        step = st.builds(sb.Informative, st.sampled_from(metrics), NUMBERS, NUMBERS)
        algorithm = sb.Competitive(
            algorithm,
            alpha=draw(st.one_of(st.just(3.0), st.just(getattr(algorithm, "alpha", 3)), NUMBERS)),
            informative=draw(st.one_of(st.none(), st.just(sb.Informative()), step)),
            pull_each_arm_first=draw(st.booleans()),
            confidence=draw(st.sampled_from(["box", "joint"])),
        )
    for wrapper in draw(st.lists(st.sampled_from(["floor", "robust"]), max_size=4)):
        try:
            if wrapper == "floor":
                algorithm = sb.ExplorationFloor(algorithm, floor=draw(SHARES))
            else:
                fallback = draw(st.one_of(st.just(sb.ThompsonSampling()), bases(classical=True)))
                algorithm = sb.Robust(
                    algorithm,
                    pulls=draw(NUMBERS),
                    alpha=draw(st.one_of(st.just(1.0), NUMBERS)),
                    fallback=fallback,
                )
        except sb.InvalidPolicy:  # such as a floor around a floor
            continue
    return algorithm


@settings(max_examples=600, deadline=None)
@given(wrapped())
def test_every_algorithm_can_be_made_from_its_label(algorithm: sb.Algorithm) -> None:
    again = sb.make_algorithm(algorithm.label)
    assert again == algorithm
    assert again.label == algorithm.label
    assert split_labels(f"ucb,{algorithm.label}, ts") == ["ucb", algorithm.label, "ts"]
    name, _ = split_settings(algorithm.label)
    assert "(" not in name


@settings(max_examples=300, deadline=None)
@given(wrapped(), wrapped())
def test_different_algorithms_have_different_labels(
    first: sb.Algorithm, second: sb.Algorithm
) -> None:
    assert (first.label == second.label) == (first == second)


PIECES = st.one_of(
    st.sampled_from(
        [
            "ucb",
            "ts-c",
            "-c-kl",
            "ucb-g",
            "groups",
            "alpha",
            "floor",
            "robust",
            "fallback",
            "=",
            "None",
            "True",
        ]
    ),
    st.sampled_from([*"()[],='\"\\ -._e", "1", "2.5", "1e999", "\\U00110000", "\x00"]),
    st.text(max_size=3),
)


@settings(max_examples=1000, deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
@example("ucb(alpha=" + "(" * 500)
@example("ucb(alpha=" + "9" * 5000 + ")")
@example("ucb(alpha=1" + "0" * 400 + ")")
@example("ucb-c(robust=1,fallback=" * 30)
@example("ucb-g(groups=3)")
@example("ucb-g(groups=(1, 2))")
@example("ucb-g(groups=ucb)")
@example("ucb-c(robust=1,fallback=3)")
@example("ucb-c(robust=1,fallback=None)")
@example("ucb(alpha=1if 2else 3)")
@example("posterior(uniform_prior=[1])")
def test_any_text_is_an_algorithm_or_is_refused_in_one_sentence(text: str) -> None:
    sentence = ""
    try:
        algorithm = sb.make_algorithm(text)
    except sb.InvalidPolicy as error:
        sentence = str(error)
    if sentence:
        assert "\n" not in sentence
        assert sentence.endswith((".", "?"))
        assert len(sentence) < 1200
    else:
        assert sb.make_algorithm(algorithm.label) == algorithm


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "policy '' cannot be read: a name is expected at character 1; write for example"),
        ("ucb(", "policy 'ucb(' cannot be read: ')' is missing at character 5; write for example"),
        ("ucb)", "')' is not expected at character 4"),
        ("ucb ts", "'t' is not expected at character 5"),
        ("ucb(alpha)", "name=value is expected at character 5"),
        ("ucb(alpha=)", "a value is expected at character 11"),
        ("ucb(alpha=2;c=1)", "',' or ')' is expected, not ';' at character 12"),
        ("ucb(alpha=007)", "the number is not valid at character 11"),
        ("ucb-g(groups=('a'", "')' is expected at character 18"),
        ("ucb-g(groups=3)", "the groups are 3.0; give the names of each group's arms"),
        ("ucb(alpha=inf)", "'alpha=inf' in policy 'ucb(alpha=inf)' is not a value; give a number"),
        ("uccb", "there is no policy 'uccb'; did you mean ucb"),
        ("ucb-d", "there is no policy 'ucb-d'; did you mean ucb"),
        ("ucb-c-kll", "there is no policy 'ucb-c-kll'; did you mean ucb-c-kl"),
        ("ucb-c(beta=2)", "has no parameter 'beta'; it has alpha, floor, pull_each_arm_first, "),
        ("ucb(beta=2)-c", "has no parameter 'beta'; it has alpha."),
        ("ucb-s(floor=0.1)(alpha=2)", "has no parameter 'alpha'; it has floor, robust."),
        ("ucb-c(refute=2)", "has refute without robust; write for example ucb-c(robust=1,refute=2"),
        ("ucb(alpha=1)-c-kll", "there is no informativeness metric 'kll'"),
        ("hierarchical()-c", "Hierarchical() uses the structure already"),
        ("ucb-c(robust=1,fallback=ucb-c)", "cannot be the fallback; give a classical algorithm"),
        ("ucb-c(robust=1,fallback=3)", "3.0 is not a policy; give a name such as 'ucb-c'"),
    ],
)
def test_what_is_wrong_with_a_label(text: str, says: str) -> None:
    with pytest.raises(sb.InvalidPolicy) as caught:
        sb.make_algorithm(text)
    assert says in str(caught.value)


def test_a_label_that_could_mean_two_policies_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "_classes", registered())

    def twin_c(arm: Any, moment: Any) -> Any:
        return arm.mean

    def twin(arm: Any, moment: Any) -> Any:
        return arm.mean

    sb.index_policy(twin_c)
    with pytest.raises(sb.InvalidPolicy, match="'twin' inside Algorithm-C would be 'twin-c'"):
        sb.index_policy(twin)


def test_values_of_every_kind() -> None:
    text = "x(a=(1, -2.5, 'b,)', \"c'\", [True, None], (), (3,)), d=[], e=y(f=2)-c(g=1), h=True)"
    (group,) = read_label(text).groups
    assert group["a"] == (1, -2.5, "b,)", "c'", [True, None], (), (3,))
    assert (group["d"], group["h"]) == ([], True)
    assert group["e"] == read_label("y(f=2)-c(g=1)")
