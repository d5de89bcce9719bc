"""All experiments by ID, in the order of the paper; then three beyond it."""

from __future__ import annotations

from structuredbandits.errors import InvalidInput, suggestion
from structuredbandits.experiments import _first_interactions as first
from structuredbandits.experiments import _illustrations as illustrations
from structuredbandits.experiments import _movielens_all as movielens_all
from structuredbandits.experiments import _movielens_segments as movielens
from structuredbandits.experiments import _people as people
from structuredbandits.experiments import _robustness as robustness
from structuredbandits.experiments import _simulated_figures as figures
from structuredbandits.experiments.experiment import PaperExperiment

_ALL = (
    PaperExperiment(
        "setup",
        "Reward functions of the running example",
        "Three arms whose mean rewards depend on one hidden θ, shaded by the best arm.",
        0,
        0,
        illustrations.setup,
    ),
    PaperExperiment(
        "steps",
        "The three steps of Algorithm-C in one round of a real run",
        "The interval around an arm's mean (its colour, dotted line) allows some θ (grey). The θ "
        "that all arms allow are green; an arm that is best at one of them is competitive.",
        0,
        0,
        illustrations.steps,
    ),
    PaperExperiment(
        "c-of-theta",
        "The number of competitive arms depends on θ*",
        "Regions shaded by the number C(θ*) of competitive arms: grey 1, yellow 2, white 3.",
        0,
        0,
        illustrations.c_of_theta,
    ),
    PaperExperiment(
        "three-arms",
        "Algorithm-C against its base, for three families",
        "Regret at θ* = 0.5, 1.5 and 2.6, where one, two and three arms compete. Dashed lines do "
        "not use the structure.",
        100,
        50_000 * 3 * 7,
        figures.three_arms,
    ),
    PaperExperiment(
        "two-arms",
        "Regret against θ*",
        "Final regret for 21 values of θ*; UCB-S depends strongly on it.",
        100,
        50_000 * 21 * 4,
        figures.two_arms,
    ),
    PaperExperiment(
        "linear",
        "Linear rewards",
        "UCB-C and TS-C compared with two algorithms for linear rewards, GLM-UCB and OFUL.",
        100,
        50_000 * 2 * 5,
        figures.linear,
        weight=4.0,
    ),
    PaperExperiment(
        "plane",
        "A vector θ with rewards that are not linear",
        "Two values of θ*, with one and three competitive arms. Where all compete there is little "
        "to gain; a few runs in which Thompson sampling errs for long make its band wide.",
        100,
        50_000 * 2 * 4,
        figures.plane,
    ),
    PaperExperiment(
        "corner",
        "A corner case",
        "Arm 2 competes although bounded regret is possible.",
        0,
        0,
        illustrations.corner,
    ),
    PaperExperiment(
        "informative",
        "Pulling an arm for information",
        "Arm 3 is never best, but its mean shows on which side of 3 θ* lies. With a probability "
        "that decreases with t the policies -kl, -entropy and -random pull an arm for information.",
        100,
        50_000 * 11 * 2,
        figures.informative,
    ),
    PaperExperiment(
        "bernoulli",
        "Beta Thompson sampling on two arms",
        "Rewards of 0 and 1, with one and two competitive arms.",
        100,
        50_000 * 2 * 4,
        figures.bernoulli,
        weight=3.0,
    ),
    PaperExperiment(
        "movielens",
        "Ratings of anonymous users",
        "The four segments of the paper, and all segments, one dot per segment. Means are learned "
        "from one half of the ratings, and rewards are drawn from the other half.",
        100,
        5_000 * 5 * (4 + 22),
        movielens.movielens,
        weight=2.0,
    ),
    PaperExperiment(
        "movielens-c",
        "The number of competitive genres per segment",
        "Exact C, and C_ε: arms that are best somewhere within ε of the best arm's mean.",
        0,
        0,
        illustrations.movielens_c,
    ),
    PaperExperiment(
        "movielens-functions",
        "The learned map from segments to mean ratings",
        "One column per segment, one row per genre, and a dot on the best genre of each segment.",
        0,
        0,
        illustrations.movielens_functions,
    ),
    PaperExperiment(
        "movielens-informative",
        "Informative pulls on the learned map",
        "They change little here.",
        100,
        5_000 * 4 * 4,
        movielens.movielens_informative,
        weight=2.0,
    ),
    PaperExperiment(
        "movielens-all",
        "All segments, five splits of the ratings, and policies that allow for errors of the map",
        "Beyond the paper: regret divided by that of Thompson sampling, one dot per segment. The "
        "hierarchical policies use the standard error of each learned mean.",
        2,
        5 * 108 * 5_000 * 14,
        movielens_all.movielens_all,
        weight=24.0,
    ),
    PaperExperiment(
        "robustness",
        "The cost of a wrong map",
        "Beyond the paper: every mean of the map is off by 0 to 4 standard errors, or the map "
        "hides the best arm (adversarial).",
        10,
        6 * 30 * 5_000 * 9,
        robustness.robustness,
        weight=14.0,
    ),
    PaperExperiment(
        "first-interactions",
        "The first 50 interactions of a visitor, and 5,000",
        "Beyond the paper: what each policy loses per interaction, segments weighted by their "
        "shares. One genre for everybody (always) is hard to beat in a short visit.",
        2,
        108 * 5 * (5_000 + 50 * 50),
        first.first_interactions,
        weight=20.0,
    ),
)
# They need data that are not part of the library, so `all` leaves them out.
_WITH_DATA = (
    PaperExperiment(
        "people",
        "Persons, not segments: kinds and factors learned from some persons, tried on others",
        "Beyond the paper: each person's own rewards; lift of learned models over the most popular "
        "arms in the first 1 to 20 choices. Needs structuredbandits[data].",
        0,
        0,
        people.people,
    ),
)
_BY_ID = {experiment.id: experiment for experiment in (*_ALL, *_WITH_DATA)}


def experiment_ids() -> tuple[str, ...]:
    """Return the IDs of all experiments, in the order of the paper; then those beyond it.

    Examples
    --------
    >>> experiment_ids()[:3]
    ('setup', 'steps', 'c-of-theta')
    """
    return tuple(experiment.id for experiment in _ALL)


def experiments_with_data() -> tuple[str, ...]:
    """Return the IDs of the experiments that need data of other packages or of the user's own.

    Examples
    --------
    >>> experiments_with_data()
    ('people',)
    """
    return tuple(experiment.id for experiment in _WITH_DATA)


def load_experiment(id: str) -> PaperExperiment:
    """Return the experiment with an ID.

    Examples
    --------
    >>> load_experiment("three-arms").runs
    100
    """
    name = str(id).strip().lower()
    if name not in _BY_ID:
        raise InvalidInput(f"there is no experiment {id!r}; {suggestion(name, _BY_ID)}")
    return _BY_ID[name]
