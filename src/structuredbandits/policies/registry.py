"""Algorithms by name: ``ucb``, ``ts-c``, ``ucb-c-kl``, ``ucb-c(alpha=2)``.

A name is a base (a classical algorithm) with ``-c`` for Algorithm-C around it (``-cj`` with the
joint confidence set) and ``-kl``, ``-entropy`` or ``-random`` for an informative step; or the whole
name of a structured algorithm. Parameters in parentheses go to every part that has one of that
name. Case does not matter.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.classical.bayes_ucb import BayesUCB
from structuredbandits.policies.classical.epsilon_greedy import EpsilonGreedy
from structuredbandits.policies.classical.imed import IMED
from structuredbandits.policies.classical.kl_ucb import KLUCB, KLUCBBernoulli
from structuredbandits.policies.classical.moss import MOSS
from structuredbandits.policies.classical.thompson import ThompsonSampling
from structuredbandits.policies.classical.thompson_beta import ThompsonBeta
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.classical.ucb_tuned import UCBTuned
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.floor import ExplorationFloor
from structuredbandits.policies.informative import Informative
from structuredbandits.policies.robust import Robust
from structuredbandits.policies.structured.glm_ucb import GLMUCB
from structuredbandits.policies.structured.hierarchical import Hierarchical
from structuredbandits.policies.structured.hierarchical_competitive import HierarchicalCompetitive
from structuredbandits.policies.structured.hierarchical_index import HierarchicalIndex
from structuredbandits.policies.structured.ids import IDS
from structuredbandits.policies.structured.linear_greedy import LinearGreedy
from structuredbandits.policies.structured.oful import OFUL
from structuredbandits.policies.structured.ossb import OSSB
from structuredbandits.policies.structured.posterior import PosteriorSampling
from structuredbandits.policies.structured.ucb_g import UCBG
from structuredbandits.policies.structured.ucb_s import UCBS
from structuredbandits.policies.structured.wagp import WAGP

if TYPE_CHECKING:
    from structuredbandits.policies.policy import Policy
    from structuredbandits.structure import Structure

_INFORMATIVE = {
    "kl": "kl",
    "entropy": "entropy",
    "differential": "differential-entropy",
    "random": "random",
}
_CONFIDENCE = {"c": "box", "cj": "joint"}
# A base name, the confidence set of Algorithm-C, the informative step.
_AROUND = re.compile(r"^(.+)-(cj?)(?:-([a-z]+))?$")
_BY_NAME: dict[str, type[Algorithm]] = {}
# "ucb(alpha=1)-c(alpha=3)": the inner algorithm has parameters of its own.
_EXPLICIT = re.compile(
    r"^\s*([a-z0-9-]+)\(([^()]*)\)-(cj?)(-[a-z]+)?\s*(?:\(([^()]*)\))?\s*$", re.IGNORECASE
)
_NAME = re.compile(r"^\s*([a-z0-9-]+)\s*(?:\((.*)\))?\s*$", re.IGNORECASE)


def _built_in(algorithm: type[Algorithm]) -> bool:
    return algorithm.__module__.partition(".")[0] == __name__.partition(".")[0]


def register(algorithm: type[Algorithm]) -> type[Algorithm]:
    """Make an algorithm known by its name, here and in stored states.

    A user's own may replace an earlier one of hers, and never a built-in one.
    """
    known = _BY_NAME.get(algorithm.name)
    replaces_own = known is not None and not _built_in(known)
    if not _built_in(algorithm) and algorithm.name in policy_names() and not replaces_own:
        raise InvalidPolicy(
            f"{algorithm.name!r} is the name of a built-in policy; call yours otherwise."
        )
    _BY_NAME[algorithm.name] = algorithm
    return algorithm


for _algorithm in (
    UCB,
    KLUCB,
    KLUCBBernoulli,
    ThompsonSampling,
    ThompsonBeta,
    MOSS,
    IMED,
    BayesUCB,
    UCBTuned,
    EpsilonGreedy,
    UCBS,
    Hierarchical,
    HierarchicalIndex,
    HierarchicalCompetitive,
    PosteriorSampling,
    IDS,
    LinearGreedy,
    OFUL,
    GLMUCB,
    WAGP,
    UCBG,
    OSSB,
):
    register(_algorithm)


def policy_names() -> list[str]:
    """All names that `make_algorithm` knows, without parameters.

    Examples
    --------
    >>> "ucb-c-kl" in policy_names(), "ucb-s" in policy_names()
    (True, True)
    """
    names = []
    for name, algorithm in _BY_NAME.items():
        names.append(name)
        if algorithm.classical:
            names.append(f"{name}-c")
            names += [f"{name}-c-{suffix}" for suffix in _INFORMATIVE]
            names.append(f"{name}-cj")
    return names


def make_algorithm(policy: str | Algorithm) -> Algorithm:
    """The algorithm that a name describes; an algorithm stays what it is.

    Examples
    --------
    >>> make_algorithm("UCB-C(alpha=2)")
    Competitive(UCB(alpha=2.0), alpha=2.0)
    >>> make_algorithm("ts-c-kl(gamma=10)")
    Competitive(ThompsonSampling(), informative=Informative(metric='kl', gamma=10.0, d=1.1))
    """
    if isinstance(policy, Algorithm):
        return policy
    if not isinstance(policy, str):
        raise InvalidPolicy(f"{policy!r} is no policy; give a name such as 'ucb-c', or UCB().")
    match = _EXPLICIT.match(policy)
    if match is not None:
        return _make_explicit(policy, match)
    match = _NAME.match(policy)
    name = match.group(1).lower() if match else policy.lower()
    if match is None or not _is_known(name):
        near = difflib.get_close_matches(name, policy_names(), n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else f"known are {_listing()}."
        raise InvalidPolicy(f"there is no policy {policy!r}; {hint}")
    settings = _read_settings(policy, match.group(2) or "")
    outside = _take_outside(settings)
    used: set[str] = set()
    algorithm = _assemble(name, settings, used)
    unknown = sorted(set(settings) - used)
    if unknown:
        raise InvalidPolicy(
            f"policy {policy!r} has no parameter {unknown[0]!r}; it has "
            f"{', '.join(sorted(_settings_of(name))) or 'none'}."
        )
    return _put_outside(algorithm, outside)


def _take_outside(settings: dict[str, Any]) -> dict[str, Any]:
    """The parameters of what goes around a whole algorithm."""
    return {key: settings.pop(key) for key in ("floor", "robust") if key in settings}


def _put_outside(algorithm: Algorithm, outside: dict[str, Any]) -> Algorithm:
    if "robust" in outside:
        algorithm = Robust(algorithm, pulls=outside["robust"])
    return ExplorationFloor(algorithm, floor=outside["floor"]) if "floor" in outside else algorithm


def _make_explicit(policy: str, match: re.Match[str]) -> Algorithm:
    base, inner, confidence, suffix, outer = match.groups(default="")
    algorithm = make_algorithm(f"{base}({inner})")
    settings = _read_settings(policy, outer)
    outside = _take_outside(settings)
    informative = None
    if suffix:
        taken = {key: settings.pop(key) for key in ("gamma", "d") if key in settings}
        metric = suffix.removeprefix("-").lower()
        informative = Informative(_INFORMATIVE.get(metric, metric), **taken)
    unknown = sorted(set(settings) - {"alpha", "pull_each_arm_first"})
    if unknown:
        raise InvalidPolicy(f"policy {policy!r} has no parameter {unknown[0]!r}.")
    competitive = Competitive(
        algorithm,
        informative=informative,
        confidence=_CONFIDENCE[confidence.lower()],
        **settings,
    )
    return _put_outside(competitive, outside)


def _listing() -> str:
    return ", ".join(_BY_NAME) + ", each classical one also with -c"


def _read_settings(policy: str, text: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key in settings:
            raise InvalidPolicy(f"policy {policy!r} gives {key} twice; give it once.")
        try:
            if not equals:
                raise ValueError
            settings[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise InvalidPolicy(
                f"{part!r} in policy {policy!r} is no parameter; write name=value, for example "
                "ucb-c(alpha=2)."
            ) from None
        if isinstance(settings[key], int) and not isinstance(settings[key], bool):
            try:
                settings[key] = float(settings[key])
            except OverflowError:
                raise InvalidPolicy(
                    f"{key} in policy {policy[:40]!r} is larger than any number a computer reckons "
                    "with; give a smaller one."
                ) from None
    return settings


def _parts(name: str) -> tuple[type[Algorithm], str | None, str | None]:
    """Base algorithm, the confidence set of Algorithm-C if it is around it, informative suffix."""
    if name in _BY_NAME:
        return _BY_NAME[name], None, None
    match = _AROUND.match(name)
    if match is None or match.group(1) not in _BY_NAME:
        raise InvalidPolicy(f"there is no policy {name!r}.")
    base, confidence, suffix = match.groups()
    return _BY_NAME[base], _CONFIDENCE[confidence], suffix


def _is_known(name: str) -> bool:
    try:
        base, confidence, suffix = _parts(name)
    except InvalidPolicy:
        return False
    return confidence is None or (base.classical and (suffix is None or suffix in _INFORMATIVE))


def _settings_of(name: str) -> set[str]:
    base, confidence, suffix = _parts(name)
    known = {field.name for field in dataclasses.fields(base)} | {"floor"}
    if confidence is not None or not base.classical:
        known.add("robust")
    if confidence is not None:
        known |= {"alpha", "pull_each_arm_first"}
    if suffix is not None:
        known |= {"gamma", "d"}
    return known


def _assemble(name: str, settings: dict[str, Any], used: set[str]) -> Algorithm:
    base, confidence, suffix = _parts(name)

    def take(names: Iterable[str]) -> dict[str, Any]:
        taken = {key: settings[key] for key in names if key in settings}
        used.update(taken)
        return taken

    algorithm = base(**take(field.name for field in dataclasses.fields(base)))
    if confidence is None:
        return algorithm
    informative = None
    if suffix is not None:
        informative = Informative(_INFORMATIVE[suffix], **take(("gamma", "d")))
    own = take(("alpha", "pull_each_arm_first"))
    whole: Algorithm = Competitive(algorithm, informative=informative, confidence=confidence, **own)
    return whole


def make_policy(
    policy: str | Algorithm,
    structure: Structure,
    *,
    seed: int | None = None,
    horizon: int | None = None,
    history: Iterable[tuple[str | int, float]] = (),
    exploration_floor: float | None = None,
) -> Policy:
    """Begin a run of an algorithm given by name.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> structure = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)
    >>> make_policy("ts-c", structure, seed=7)
    <Policy ts-c on 2 arms after 0 decisions, 0 rewards>
    """
    algorithm = make_algorithm(policy)
    if exploration_floor is not None:
        algorithm = ExplorationFloor(algorithm, floor=exploration_floor)
    return algorithm.start(structure, seed=seed, horizon=horizon, history=history)


def applicable(structure: Structure, policies: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Which of some named policies fit a structure, and why the others do not."""
    fitting, reasons = [], {}
    for name in policies:
        try:
            make_algorithm(name).check(structure)
            fitting.append(name)
        except InvalidPolicy as problem:
            reasons[name] = str(problem)
    return fitting, reasons


def algorithm_to_dict(algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm as JSON."""
    settings: dict[str, Any] = {}
    for field in dataclasses.fields(algorithm):
        value = getattr(algorithm, field.name)
        if isinstance(value, Algorithm):
            value = algorithm_to_dict(value)
        elif isinstance(value, Informative):
            if not isinstance(value.metric, str):
                raise InvalidPolicy("a policy with a metric of your own cannot be stored as JSON.")
            value = dataclasses.asdict(value)
        elif isinstance(value, tuple):
            value = [list(group) for group in value]  # UCB-g's groups of arm names
        elif not isinstance(value, (bool, int, float, str, type(None))):
            raise InvalidPolicy(
                f"{type(value).__name__} objects cannot be stored as JSON; only built-in "
                "algorithms and index policies can."
            )
        settings[field.name] = value
    return {"algorithm": algorithm.name, "settings": settings}


def algorithm_from_dict(stored: dict[str, Any]) -> Algorithm:
    """The algorithm that `algorithm_to_dict` wrote."""
    name, settings = stored["algorithm"], dict(stored["settings"])
    for key, value in settings.items():
        if isinstance(value, list):
            settings[key] = tuple(tuple(group) for group in value)
        if isinstance(value, dict):
            settings[key] = (
                algorithm_from_dict(value) if "algorithm" in value else Informative(**value)
            )
    around = (Competitive, ExplorationFloor, Robust)
    known = {**_BY_NAME, **{algorithm.name: algorithm for algorithm in around}}
    if name not in known:
        raise InvalidPolicy(
            f"the stored policy is {name!r}, which is not known here; import the module that "
            "defines it first."
        )
    algorithm: Algorithm = known[name](**settings)
    return algorithm
