"""Persons with their own rewards: what they can be shown, how they are split and simulated."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.environments import Persons
from structuredbandits.errors import InvalidInput, InvalidStructure, UnknownArm
from structuredbandits.learning import learn_kinds
from structuredbandits.testing import check_environment

WHO = ["ann", "ann", "ann", "bob", "bob", "cleo"]
WHAT = ["art", "war", "art", "war", "zoo", "art"]
STARS = [5, 2, 4, 1, 3, 2]


def crowd(n_persons: int, seed: int = 0, *, repeat: bool = True) -> Persons:
    """Return persons who rated every one of three arms once or more."""
    random = np.random.default_rng(seed)
    who = np.concatenate([np.repeat(np.arange(n_persons), 3), random.integers(n_persons, size=40)])
    what = np.concatenate([np.tile([0, 1, 2], n_persons), random.integers(3, size=40)])
    return Persons(
        who, np.array(["a", "b", "c"])[what], random.normal(size=len(who)), repeat=repeat
    )


def test_means_counts_and_allowed_arms() -> None:
    people = Persons(WHO, WHAT, STARS)
    assert people.arms == ("art", "war", "zoo")
    np.testing.assert_array_equal(people.counts, [[2, 1, 0], [0, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(people.means_at("ann"), [4.5, 2.0, np.nan])
    assert people.allowed("bob") == ("war", "zoo")
    assert repr(people) == "<Persons: 3, 3 arms, drawn with replacement>"


def test_allowed_arms_shrink_if_arms_are_shown_once() -> None:
    stream = Persons(WHO, WHAT, STARS, repeat=False).rewards("ann", seed=1)
    assert stream.draw("art") in {4.0, 5.0}
    assert stream.allowed == ("war",)
    with pytest.raises(InvalidInput, match="'art' is not allowed"):
        stream.draw("art")
    assert stream.draw("war") == 2.0
    assert stream.allowed == ()
    again = Persons(WHO, WHAT, STARS).rewards("ann", seed=1)
    assert [again.draw("war") for _ in range(3)] == [2.0] * 3
    with pytest.raises(InvalidInput, match="'zoo' is not allowed"):
        again.draw("zoo")
    with pytest.raises(UnknownArm, match="cat"):
        again.draw("cat")


def test_nobody_is_both_learned_from_and_tried_on() -> None:
    people = crowd(23)
    tried = []
    for learn, test in people.split(3, seed=4):
        learners, testers = ({*part.parameters} for part in (learn, test))
        assert not learners & testers
        assert len(learners | testers) == 23
        assert learn.arms == test.arms == people.arms
        tried += sorted(testers)
        for person in (*learners, *testers):
            part = learn if person in learners else test
            np.testing.assert_array_equal(part.means_at(person), people.means_at(person))
    assert sorted(tried) == list(range(23))
    assert people.split(3, seed=4) == people.split(3, seed=4)


def test_draws_are_a_persons_own() -> None:
    people = Persons(WHO, WHAT, STARS)
    drawn = people.draws(400, seed=2)
    assert drawn.shape == (3, 3, 400)
    assert set(drawn[0, 0]) == {4.0, 5.0}
    assert set(drawn[1, 2]) == {3.0}
    assert np.isnan(drawn[2, 1:]).all()
    assert people.of([1, 2]).draws(5).shape == (2, 3, 5)
    assert Persons(WHO, WHAT, STARS, repeat=False).draws(5).shape == (3, 3, 1)


def test_the_contract_of_environments_holds_for_persons_who_know_all_arms() -> None:
    check_environment(crowd(5))


def test_a_structure_is_learned_from_some_and_simulated_on_others() -> None:
    people = crowd(90, seed=6)
    learn, test = people.split(3)[0]
    structure = learn_kinds(
        learn.to_frame(), arm="arm", reward="reward", subject="person", kinds=2
    ).structure
    persons = [test.parameters[i] for i in range(3)]
    results = sb.simulate(
        structure, ["ts"], persons, horizon=20, runs=2, environment=test, progress="off"
    )
    assert results.thetas == tuple(persons)
    missing = Persons(WHO, WHAT, STARS)
    with pytest.raises(InvalidInput, match="'ann' has no rewards of 'zoo'"):
        missing.quantile_table("ann")
    with pytest.raises(InvalidInput, match="sees every arm once"):
        crowd(5, repeat=False).quantile_table(1)


def test_persons_can_be_stored_and_not_changed() -> None:
    people = Persons(WHO, WHAT, STARS)
    assert pickle.loads(pickle.dumps(people)) == people
    assert hash(people) == hash(Persons(WHO, WHAT, STARS))
    assert people != Persons(WHO, WHAT, STARS, repeat=False)
    with pytest.raises(AttributeError, match="cannot be changed"):
        people.repeat = False


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((WHO, WHAT[:-1], STARS), InvalidStructure, "6, 5 and 6 entries"),
        ((WHO, WHAT, [*STARS[:-1], np.nan]), InvalidStructure, "finite numbers"),
        (([None, *WHO[1:]], WHAT, STARS), InvalidStructure, "a subject is missing"),
    ],
)
def test_bad_rows(arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Persons(*arguments)  # type: ignore[arg-type]  # by intention


def test_bad_splits_and_arms() -> None:
    with pytest.raises(UnknownArm, match="'zoo' is not one of all_arms"):
        Persons(WHO, WHAT, STARS, all_arms=["art", "war"])
    people = Persons(WHO, WHAT, STARS)
    with pytest.raises(InvalidInput, match="folds = 1"):
        people.split(1)
    with pytest.raises(InvalidInput, match="3 persons cannot be split into 4"):
        people.split(4)
