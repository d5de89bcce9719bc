"""All experiments by id, in the order of the paper."""

from __future__ import annotations

from structuredbandits.errors import InvalidInput, suggestion
from structuredbandits.experiments import figures, illustrations, movielens
from structuredbandits.experiments.experiment import Experiment

_ALL = (
    Experiment(
        "setup",
        "Reward functions of the running example",
        "Three arms whose mean rewards depend on one hidden θ.",
        0,
        0,
        illustrations.setup,
    ),
    Experiment(
        "steps",
        "The three steps of Algorithm-C in one round of a real run",
        "Each arm allows some θ (grey); all allow those in green; some arms are best there.",
        0,
        0,
        illustrations.steps,
    ),
    Experiment(
        "c-of-theta",
        "How many arms compete depends on θ*",
        "Regions shaded by C(θ*): grey 1, yellow 2, white 3.",
        0,
        0,
        illustrations.c_of_theta,
    ),
    Experiment(
        "three-arms",
        "Algorithm-C against its base, for three families",
        "Regret at θ* = 0.5, 1.5 and 2.6, where one, two and three arms compete.",
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
        "UCB-C and TS-C beside algorithms made for linear rewards.",
        100,
        50_000 * 2 * 5 * 4,
        figures.linear,
    ),
    Experiment(
        "plane",
        "A vector θ with rewards that are not linear",
        "Two values of θ*, with one and three competitive arms.",
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
        "Arm 3 is never the best, but tells on which side of 3 θ* lies.",
        100,
        50_000 * 11 * 2,
        figures.informative,
    ),
    Experiment(
        "bernoulli",
        "Beta Thompson sampling on two arms",
        "Rewards of 0 and 1, with one and two competitive arms.",
        100,
        50_000 * 2 * 4 * 3,
        figures.bernoulli,
    ),
    Experiment(
        "movielens",
        "Ratings of anonymous users",
        "The paper's four segments, and the spread over all of them.",
        100,
        5_000 * 5 * 10 * 2,
        movielens.movielens,
    ),
    Experiment(
        "movielens-c",
        "How many genres compete for each segment",
        "C exactly, and within some ε.",
        0,
        0,
        illustrations.movielens_c,
    ),
    Experiment(
        "movielens-functions",
        "The learned map from segments to mean ratings",
        "A column a segment, a row a genre.",
        0,
        0,
        illustrations.movielens_functions,
    ),
    Experiment(
        "movielens-informative",
        "Informative pulls on the learned map",
        "They change little here.",
        100,
        5_000 * 4 * 4 * 2,
        movielens.movielens_informative,
    ),
)
_BY_ID = {experiment.id: experiment for experiment in _ALL}


def experiment_ids() -> tuple[str, ...]:
    """The ids of all experiments, in the order of the paper.

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
