"""Algorithms by name: ``ucb``, ``ts-c``, ``ucb-c-kl``, ``ucb-c(alpha=2)``.

A name is a base (a classical algorithm) with ``-c`` for Algorithm-C around it (``-cj`` with the
joint confidence set) and ``-kl``, ``-entropy``, ``-differential`` or ``-random`` for an informative
step; or the whole name of a structured algorithm. Parameters in parentheses go to every part that
has one of that name; ``floor``, ``robust``, ``refute`` and ``fallback`` go to what is around it.
Case does not matter. `labels` is about the text, `registration` about which algorithms there are.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.labels import (
    FLOOR,
    ROBUST,
    Label,
    plain,
    read_label,
    shorten,
)
from structuredbandits.policies.registration import METRICS, find, names_of, registered

if TYPE_CHECKING:
    from structuredbandits.policies.policy import Policy
    from structuredbandits.structure import Structure
    from structuredbandits.structure.interaction_length import Length

#: Names that stand for a policy; labels and files have the policy's own name.
ALIASES = {
    "default": "value-of-information",
    "mts": "posterior",  # Hong et al., "Latent bandits revisited", NeurIPS 2020
    "mmts": "hierarchical",  # their version for uncertain models
}
_CONFIDENCE = {"c": "box", "cj": "joint"}
# A base name, the confidence set of Algorithm-C, the informative step.
_AROUND = re.compile(r"^(.+)-(cj?)(?:-([a-z]+))?$", re.IGNORECASE)
_OF_COMPETITIVE = ("alpha", "pull_each_arm_first")
_OF_INFORMATIVE = ("gamma", "d")


def policy_names() -> list[str]:
    """All names that `make_algorithm` knows, without parameters.

    Examples
    --------
    >>> "ucb-c-kl" in policy_names(), "ucb-s" in policy_names()
    (True, True)
    """
    return [name for base, kind in registered().items() for name in names_of(base, kind)]


def make_algorithm(policy: str | Algorithm) -> Algorithm:
    """The algorithm that a name describes; an algorithm stays what it is.

    Examples
    --------
    >>> make_algorithm("UCB-C(alpha=2)")
    Competitive(UCB(alpha=2.0), alpha=2.0)
    >>> make_algorithm("ts-c-kl(gamma=10)")
    Competitive(ThompsonSampling(), informative=Informative(metric='kl', gamma=10.0, d=1.1))
    >>> make_algorithm("default").label
    'value-of-information'
    """
    if isinstance(policy, Algorithm):
        return policy
    if not isinstance(policy, str):
        raise InvalidPolicy(
            f"{policy!r} is not a policy; give a name such as 'ucb-c', or an algorithm such as "
            "UCB()."
        )
    return _build(read_label(policy), policy)


class _Head(NamedTuple):
    """What a name stands for, without parameters."""

    base: type[Algorithm]
    confidence: str | None
    """The confidence set of Algorithm-C, or None if it is not around the base."""
    metric: str | None
    """The informative step, as the end of a name has it."""


def _build(label: Label, text: str) -> Algorithm:
    """The algorithm that a label describes; ``text`` is what messages show."""
    head = _head_of(label, text)
    outer = (*_OF_COMPETITIVE, *_OF_INFORMATIVE * (head.metric is not None))
    own = _fields(head.base)
    names = {*(own if label.own is None else ()), *(outer if head.confidence else ())}
    first, *others = label.groups or ({},)
    given, wrappers = _take_wrappers(first, names if others else frozenset())
    _check_known(text, given, names, head)
    if label.own is not None:
        _check_known(text, label.own, set(own), None)
    inside = label.own
    if inside is None:
        inside = {key: given[key] for key in own if key in given}
    algorithm = head.base(**_values(text, inside))
    if head.confidence is not None:
        algorithm = _put_competitive(algorithm, head, _values(text, given))
    algorithm = _put_wrappers(algorithm, wrappers, text)
    for group in others:
        given, wrappers = _take_wrappers(group, frozenset())
        _check_known(text, given, set(), None)
        algorithm = _put_wrappers(algorithm, wrappers, text)
    return algorithm


def _head_of(label: Label, text: str) -> _Head:
    """The class and what is around it; an unknown name is refused with the nearest ones."""
    name = label.name + label.suffix
    base = _class_of(label.name)
    if base is not None and not label.suffix:
        return _Head(base, None, None)
    found = _AROUND.match(name)
    if found is not None and (label.own is None or found[1] == label.name):
        base, metric = _class_of(found[1]), found[3] and found[3].lower()
        # In the explicit form Competitive and Informative say what is wrong with their parts.
        explicit = label.own is not None
        if base is not None and (
            explicit or (base.classical and (metric is None or metric in METRICS))
        ):
            return _Head(base, _CONFIDENCE[found[2].lower()], metric)
    near = difflib.get_close_matches(name.lower(), policy_names(), n=3, cutoff=0.4)
    listing = f"known are {', '.join(registered())}, each classical one also with -c."
    hint = f"did you mean {', '.join(near)}?" if near else listing
    raise InvalidPolicy(f"there is no policy {shorten(text.strip())}; {hint}")


def _class_of(name: str) -> type[Algorithm] | None:
    name = ALIASES.get(name.lower(), name)
    exact = find(name) or find(name.lower())
    if exact is not None:
        return exact
    folded = {key.lower(): algorithm for key, algorithm in registered().items()}
    return folded.get(name.lower())


def _fields(base: type[Algorithm]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(base))


def _take_wrappers(
    group: Mapping[str, Any], names: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of the head, and those of wrappers; ``names`` are the head's in any case."""
    words = {*FLOOR, *(ROBUST if "robust" in group else ())} - set(names)
    given = {key: value for key, value in group.items() if key not in words}
    return given, {key: value for key, value in group.items() if key in words}


def _check_known(text: str, given: Mapping[str, Any], names: set[str], head: _Head | None) -> None:
    unknown = sorted(set(given) - names)
    if not unknown:
        return
    key = unknown[0]
    if key in ROBUST:
        raise InvalidPolicy(
            f"policy {shorten(text)} has {key} without robust; write for example "
            f"ucb-c(robust=1,{key}={'ts' if key == 'fallback' else 2})."
        )
    listed = set(names)
    if head is not None or not names:
        listed.add("floor")
        if head is None or head.confidence is not None or not head.base.classical:
            listed.add("robust")
    raise InvalidPolicy(
        f"policy {shorten(text)} has no parameter {key!r}; it has "
        f"{', '.join(sorted(listed)) or 'none'}."
    )


def _values(text: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of one part; a bare word is a value of ``fallback`` only."""
    for key, value in settings.items():
        if isinstance(value, Label):
            raise InvalidPolicy(
                f"{f'{key}={value.name}'!r} in policy {shorten(text)} is not a value; give a "
                "number, True, False, None, or a string in quotes."
            )
    return dict(settings)


def _put_competitive(algorithm: Algorithm, head: _Head, given: Mapping[str, Any]) -> Algorithm:
    from structuredbandits.policies.competitive import Competitive
    from structuredbandits.policies.informative import Informative

    informative = None
    if head.metric is not None:
        step = {key: given[key] for key in _OF_INFORMATIVE if key in given}
        informative = Informative(METRICS.get(head.metric, head.metric), **step)
    own = {key: given[key] for key in _OF_COMPETITIVE if key in given}
    whole: Algorithm = Competitive(
        algorithm, informative=informative, confidence=head.confidence or "box", **own
    )
    return whole


def _put_wrappers(algorithm: Algorithm, given: Mapping[str, Any], text: str) -> Algorithm:
    if "robust" in given:
        from structuredbandits.policies.robust import Robust

        settings = {"pulls": given["robust"]}
        if "refute" in given:
            settings["alpha"] = given["refute"]
        _values(text, settings)
        if "fallback" in given:
            fallback = given["fallback"]
            settings["fallback"] = (
                _build(fallback, text) if isinstance(fallback, Label) else make_algorithm(fallback)
            )
        algorithm = Robust(algorithm, **settings)
    if "floor" in given:
        from structuredbandits.policies.exploration_floor import ExplorationFloor

        algorithm = ExplorationFloor(algorithm, **_values(text, {"floor": given["floor"]}))
    return algorithm


def make_policy(
    policy: str | Algorithm,
    structure: Structure,
    *,
    seed: int | None = None,
    horizon: int | None = None,
    length: Length | None = None,
    history: Iterable[tuple[str | int, float]] = (),
    exploration_floor: float | None = None,
) -> Policy:
    """Start a run of an algorithm given by name.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> structure = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)
    >>> make_policy("ts-c", structure, seed=7)
    <Policy ts-c on 2 arms after 0 decisions, 0 rewards>
    """
    algorithm = make_algorithm(policy)
    if exploration_floor is not None:
        from structuredbandits.policies.exploration_floor import ExplorationFloor

        algorithm = ExplorationFloor(algorithm, floor=exploration_floor)
    return algorithm.start(structure, seed=seed, horizon=horizon, length=length, history=history)


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
    from structuredbandits.policies.informative import Informative

    settings: dict[str, Any] = {}
    for field in dataclasses.fields(algorithm):
        value = plain(getattr(algorithm, field.name))
        if isinstance(value, Algorithm):
            value = algorithm_to_dict(value)
        elif isinstance(value, Informative):
            if not isinstance(value.metric, str):
                raise InvalidPolicy(
                    f"the metric {value.metric.__name__} cannot be stored as JSON; use a built-in "
                    "one such as 'kl'."
                )
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
    from structuredbandits.policies.competitive import Competitive
    from structuredbandits.policies.exploration_floor import ExplorationFloor
    from structuredbandits.policies.informative import Informative
    from structuredbandits.policies.robust import Robust

    name, settings = stored["algorithm"], dict(stored["settings"])
    for key, value in settings.items():
        if isinstance(value, list):
            settings[key] = tuple(tuple(group) for group in value)
        if isinstance(value, dict):
            settings[key] = (
                algorithm_from_dict(value) if "algorithm" in value else Informative(**value)
            )
    around = (Competitive, ExplorationFloor, Robust)
    known = {**registered(), **{algorithm.name: algorithm for algorithm in around}}
    if name not in known:
        raise InvalidPolicy(
            f"the stored policy is {name!r}, which is not known here; import the module that "
            "defines it first."
        )
    algorithm: Algorithm = known[name](**settings)
    return algorithm
