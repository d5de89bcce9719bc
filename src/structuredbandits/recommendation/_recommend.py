"""`recommend`: choose a policy for a structure by simulating candidates on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structuredbandits.errors import InvalidInput
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.progress import Mode
from structuredbandits.recommendation._comparison import (
    BASELINE,
    CANDIDATES,
    RIVALS,
    Candidate,
    applicable_policies,
    compare,
    rank,
    uses_types,
)
from structuredbandits.recommendation._gain_by_length import LENGTHS, NORMAL_95, first_paying
from structuredbandits.recommendation.numbers import significant
from structuredbandits.simulation.arguments import check_memory, read_count, read_seed
from structuredbandits.structure import Structure

# Where `always` wins, this many of the best others are simulated for longer, in at most 100 runs.
_LOOK_AHEAD, _LOOK_AHEAD_RUNS = 3, 100


@dataclass(frozen=True)
class Recommendation:
    """The recommended policy, and the comparison that it is based on.

    Attributes
    ----------
    policy
        The label of the recommended policy: the one of the smallest mean regret, or `always` if no
        policy is better by more than chance.
    candidates
        All simulated policies, the best first, including `always` and `prior-index`.
    left_out
        Candidates that do not apply to the structure, with the reason.
    horizon, runs, delay, seed
        The settings that reproduce the comparison.
    arm
        The arm that `always` shows.
    pays_from
        If `always` is recommended: the number of interactions from which on another policy earns
        more, None if none does up to 5,000.
    exact
        Whether the means were treated as exact, because the structure has no standard errors.
    """

    policy: str
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]
    horizon: int
    runs: int
    delay: int
    seed: int
    arm: str
    pays_from: int | None
    exact: bool

    @property
    def chosen(self) -> Candidate:
        """The simulated performance of the recommended policy."""
        return next(one for one in self.candidates if one.policy == self.policy)

    def __str__(self) -> str:
        lines = self._always() if self.policy == BASELINE else self._better()
        if self.exact:
            lines.append(
                "The structure has no standard errors, so its means were treated as exact: if they "
                "were learned, give standard_errors= and repeat the comparison."
            )
        return "\n".join(lines)

    def _always(self) -> list[str]:
        first = f"Show {self.arm} to everybody: no policy compared here earns more"
        if self.pays_from is not None:
            first += f" below about {self.pays_from:,} interactions per visitor."
        else:
            longest = max(self.horizon, LENGTHS[-1])
            first += f" within {longest:,} interactions per visitor."
        rest = f"It earns {significant(self.chosen.reward)} per interaction"
        best = max((one for one in self.candidates if one.policy != BASELINE), key=_gain)
        interval = f"{_signed(best.gain)} ± {significant(NORMAL_95 * best.gain_error, 2)}"
        return [
            first,
            f"{rest}; with {self._settings()} the best other policy, {best.policy}, changes that "
            f"by {interval}.",
        ]

    def _better(self) -> list[str]:
        first, half = self.chosen, NORMAL_95 * self.chosen.gain_error
        share = "" if first.percent != first.percent else f", {first.percent:+.3g} %"
        lines = [
            f"Use {first.policy}.",
            f"With {self._settings()} it earns {significant(first.reward)} per interaction, "
            f"{significant(first.gain)} more than showing {self.arm} to everybody{share} (95 % "
            f"interval {significant(first.gain - half)} to {significant(first.gain + half)}). It "
            f"did better in {first.wins:.0%} of the runs, and is the best candidate with "
            f"probability {first.best:.2f}.",
        ]
        rival = next(one for one in self.candidates if one.policy == "prior-index")
        if uses_types(first.policy) and rival.gain > 0:
            share = f"{min(rival.gain / first.gain, 1.0):.0%}"
            lines.append(
                f"prior-index, which knows no visitor types, earns {significant(rival.gain)} more "
                f"than always: {share} of this gain needs no visitor types."
            )
        elif not uses_types(first.policy):
            lines.append("No policy that uses visitor types earns more here.")
        return lines

    def _settings(self) -> str:
        late = f", rewards {self.delay:,} interactions late" if self.delay else ""
        return f"{self.horizon:,} interactions in {self.runs:,} simulated runs{late}"


def _gain(candidate: Candidate) -> float:
    return candidate.gain


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + significant(value)


def recommend(
    structure: Structure,
    horizon: int,
    *,
    candidates: Sequence[str | Algorithm] = CANDIDATES,
    runs: int = 200,
    delay: int = 0,
    seed: int = 0,
    progress: Mode = "auto",
) -> Recommendation:
    """Simulate candidate policies on the structure itself, and recommend one.

    Each run draws θ from the structure's prior and true means from their posterior, with rewards of
    the structure's family. Every policy uses the same σ, the standard deviation of one reward.

    Parameters
    ----------
    structure
        The structure; its prior, standard errors or bounds describe its uncertainty.
    horizon
        The number of interactions per subject.
    candidates
        Policies to compare with `always`, the best arm for everybody, and with `prior-index`, which
        knows each arm's average and no θ; those that do not apply are left out and named.
    runs
        The number of simulated runs. All policies face identical simulated rewards.
    delay
        The number of interactions after which a reward arrives; 0 for at once.
    seed
        Equal seeds give equal results.
    progress
        "auto" (a bar on a terminal), "lines" (also plain lines elsewhere) or "off".

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=1.0)
    >>> recommend(known, horizon=200, candidates=["posterior"], runs=20).policy
    'posterior'
    """
    if not isinstance(structure, Structure):
        raise InvalidInput(f"{structure!r} is not a structure; load or learn one first.")
    horizon, runs, seed = (
        read_count("horizon", horizon),
        read_count("runs", runs, 2),
        read_seed(seed),
    )
    delay = read_count("delay", delay, 0)
    algorithms, left_out = applicable_policies(structure, candidates)
    check_memory(len(algorithms), runs, 1, horizon, structure.n_arms)
    found = compare(
        structure, algorithms, [horizon], runs=runs, delay=delay, seed=seed, progress=progress
    )
    rows = rank(found, 0, seed)
    best = rows[0]
    paying = best.gain > NORMAL_95 * best.gain_error
    pays_from = None
    if not paying:
        near = [row.policy for row in rows if row.policy not in RIVALS][:_LOOK_AHEAD]
        few = [one for one in algorithms if one.label in (*RIVALS, *near)]
        longer = [length for length in LENGTHS if length > horizon]
        pays_from = first_paying(structure, few, longer, min(runs, _LOOK_AHEAD_RUNS), delay, seed)
    exact = structure.exact and structure.standard_errors is None
    return Recommendation(
        best.policy if paying else BASELINE,
        tuple(rows),
        left_out,
        horizon,
        runs,
        delay,
        seed,
        found.arm,
        pays_from,
        exact,
    )
