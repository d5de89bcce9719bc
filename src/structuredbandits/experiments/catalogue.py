"""All experiments by id, in the order of the paper; then two beyond it."""

from __future__ import annotations

from structuredbandits.errors import InvalidInput, suggestion
from structuredbandits.experiments import (
    figures,
    illustrations,
    movielens,
    movielens_all,
    robustness,
)
from structuredbandits.experiments.experiment import Experiment

_ALL = (
    Experiment(
        "setup",
        "Reward functions of the running example",
        "Three arms whose mean rewards depend on one hidden θ, over the colour of the best arm.",
        0,
        0,
        illustrations.setup,
    ),
    Experiment(
        "steps",
        "The three steps of Algorithm-C in one round of a real run",
        "The interval around an arm's mean (its colour, dotted line) allows some θ (grey). Those "
        "that all arms allow are green; only arms that are the best for one of them compete.",
        0,
        0,
        illustrations.steps,
    ),
    Experiment(
        "c-of-theta",
        "How many arms compete depends on θ*",
        "Regions shaded by the number C(θ*) of competitive arms: grey 1, yellow 2, white 3.",
        0,
        0,
        illustrations.c_of_theta,
    ),
    Experiment(
        "three-arms",
        "Algorithm-C against its base, for three families",
        "Regret at θ* = 0.5, 1.5 and 2.6, where one, two and three arms compete. Dashed lines know "
        "nothing of the structure.",
        100,
        50_000 * 3 * 7,
        figures.three_arms,
    ),
    Experiment(
        "two-arms",
        "Regret against θ*",
        "Final regret for 21 values of θ*; UCB-S depends strongly on it.",
        100,
        50_000 * 21 * 4,
        figures.two_arms,
    ),
    Experiment(
        "linear",
        "Linear rewards",
        "UCB-C and TS-C beside two algorithms that are made for linear rewards, GLM-UCB and OFUL.",
        100,
        50_000 * 2 * 5,
        figures.linear,
        weight=4.0,
    ),
    Experiment(
        "plane",
        "A vector θ with rewards that are not linear",
        "Two values of θ*, with one and three competitive arms. Where all compete there is little "
        "to gain; single runs in which Thompson sampling is misled for long make its band wide.",
        100,
        50_000 * 2 * 4,
        figures.plane,
    ),
    Experiment(
        "corner",
        "A corner case",
        "Arm 2 competes although bounded regret is possible.",
        0,
        0,
        illustrations.corner,
    ),
    Experiment(
        "informative",
        "Pulling an arm for what it tells",
        "Arm 3 is never the best, but its mean tells on which side of 3 θ* lies. With a chance "
        "that falls with t the policies -kl, -entropy and -random pull an arm for what it tells.",
        100,
        50_000 * 11 * 2,
        figures.informative,
    ),
    Experiment(
        "bernoulli",
        "Beta Thompson sampling on two arms",
        "Rewards of 0 and 1, with one and two competitive arms.",
        100,
        50_000 * 2 * 4,
        figures.bernoulli,
        weight=3.0,
    ),
    Experiment(
        "movielens",
        "Ratings of anonymous users",
        "Four kinds of visitors that the paper shows, and all of them: a dot is a kind. Means are "
        "learned from one half of the ratings, rewards come from the other.",
        100,
        5_000 * 5 * (4 + 22),
        movielens.movielens,
        weight=2.0,
    ),
    Experiment(
        "movielens-c",
        "How many genres compete for each segment",
        "C exactly, and C_ε: arms that are the best somewhere within ε of the best arm's mean.",
        0,
        0,
        illustrations.movielens_c,
    ),
    Experiment(
        "movielens-functions",
        "The learned map from segments to mean ratings",
        "A column a kind of visitors, a row a genre, a dot on the best genre of each.",
        0,
        0,
        illustrations.movielens_functions,
    ),
    Experiment(
        "movielens-informative",
        "Informative pulls on the learned map",
        "They change little here.",
        100,
        5_000 * 4 * 4,
        movielens.movielens_informative,
        weight=2.0,
    ),
    Experiment(
        "movielens-all",
        "All kinds of visitors, five splits of the ratings, and policies that doubt the map",
        "Beyond the paper: regret as a share of Thompson sampling's, a dot a kind of visitors. The "
        "hierarchical policies know how uncertain each learned mean is.",
        2,
        5 * 108 * 5_000 * 14,
        movielens_all.movielens_all,
        weight=24.0,
    ),
    Experiment(
        "robustness",
        "What a wrong map costs",
        "Beyond the paper: every mean of the map is off by 0 to 4 standard errors, or the map "
        "hides the best arm (adversarial).",
        10,
        6 * 30 * 5_000 * 9,
        robustness.robustness,
        weight=14.0,
    ),
)
_BY_ID = {experiment.id: experiment for experiment in _ALL}


def experiment_ids() -> tuple[str, ...]:
    """The ids of all experiments, in the order of the paper; then those beyond it.

    Examples
    --------
    >>> experiment_ids()[:3]
    ('setup', 'steps', 'c-of-theta')
    """
    return tuple(_BY_ID)


def load_experiment(id: str) -> Experiment:
    """The experiment with an id.

    Examples
    --------
    >>> load_experiment("three-arms").runs
    100
    """
    name = str(id).strip().lower()
    if name not in _BY_ID:
        raise InvalidInput(f"there is no experiment {id!r}; {suggestion(name, _BY_ID)}")
    return _BY_ID[name]
