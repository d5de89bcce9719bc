"""How much policies gain over one arm for everybody, by the number of interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.progress import Mode
from structuredbandits.recommendation._comparison import (
    BASELINE,
    CANDIDATES,
    RIVALS,
    applicable_policies,
    compare,
    percent_of,
    uses_types,
)
from structuredbandits.recommendation.numbers import significant
from structuredbandits.simulation.arguments import check_memory, read_count, read_seed
from structuredbandits.structure import FloatArray, Structure

LENGTHS = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class GainByLength:
    """Gains over `always` for several numbers of interactions per subject.

    Attributes
    ----------
    lengths
        (lengths,) numbers of interactions.
    policies
        `always`, `prior-index` and the candidates.
    gain, error
        (policies, lengths): additional reward per interaction, and its standard error.
    lead_error
        (policies, lengths): standard error of the lead over the better of `always` and
        `prior-index`, paired by run.
    always
        What `always` earns per interaction.
    arm
        The arm that `always` shows.
    left_out
        Candidates that do not apply, with the reason.
    runs, delay, seed
        The settings that reproduce the comparison.
    """

    lengths: tuple[int, ...]
    policies: tuple[str, ...]
    gain: FloatArray
    error: FloatArray
    lead_error: FloatArray
    always: float
    arm: str
    left_out: dict[str, str]
    runs: int
    delay: int
    seed: int

    def best(self, place: int, *, types: bool | None = None) -> int:
        """Return the row of the policy of the largest gain at a length.

        ``types``: True for policies that use visitor types only, False for others only.
        """
        rows = [
            row
            for row, policy in enumerate(self.policies)
            if types is None or uses_types(policy) == types
        ]
        return max(rows, key=lambda row: float(self.gain[row, place]))

    @property
    def pays_from(self) -> int | None:
        """The length from which on some policy earns significantly more than `always`."""
        paying = [
            self.gain[row, place] > NORMAL_95 * self.error[row, place]
            for place in range(len(self.lengths))
            for row in [self.best(place)]
        ]
        return _from(self.lengths, paying)

    @property
    def structure_pays_from(self) -> int | None:
        """The length from which on visitor types earn more than `always` and `prior-index`."""
        if not any(map(uses_types, self.policies)):
            return None
        paying = []
        for place in range(len(self.lengths)):
            row = self.best(place, types=True)
            rival = max(float(self.gain[self.policies.index(name), place]) for name in RIVALS)
            lead = float(self.gain[row, place]) - rival
            paying.append(lead > NORMAL_95 * float(self.lead_error[row, place]))
        return _from(self.lengths, paying)

    def percent(self, row: int, place: int) -> float:
        """Return a gain in per cent of what `always` earns."""
        return percent_of(float(self.gain[row, place]), self.always)

    def __str__(self) -> str:
        longest, start, structure = self.lengths[-1], self.pays_from, self.structure_pays_from
        lines = []
        if start is None:
            lines.append(
                f"Show {self.arm} to everybody: no policy compared here earns more within "
                f"{longest:,} interactions per visitor."
            )
        elif start > self.lengths[0]:
            lines.append(
                f"Show {self.arm} to everybody: no policy compared here earns more below about "
                f"{start:,} interactions per visitor."
            )
        if start is not None:
            place = self.lengths.index(start)
            row = self.best(place)
            lines.append(
                f"From {start:,} interactions on a policy pays: {self.policies[row]} then earns "
                f"{significant(float(self.gain[row, place]))} more per interaction "
                f"({self.percent(row, place):+.3g} %)."
            )
        if structure is None:
            lines.append(
                "Visitor types do not pay here: prior-index or always earns as much at every "
                "length."
            )
        else:
            lines.append(
                f"Visitor types start to pay at about {structure:,} interactions per visitor."
            )
        return "\n".join(lines)


def _from(lengths: Sequence[int], paying: Sequence[bool]) -> int | None:
    """Return the first length from which on all are paying."""
    found = None
    for length, yes in zip(reversed(lengths), reversed(paying), strict=True):
        if not yes:
            break
        found = length
    return found


def gain_by_length(
    structure: Structure,
    lengths: Sequence[int] = LENGTHS,
    *,
    candidates: Sequence[str | Algorithm] = CANDIDATES,
    runs: int = 100,
    delay: int = 0,
    seed: int = 0,
    progress: Mode = "auto",
) -> GainByLength:
    """Simulate policies for several numbers of interactions, and compare them with `always`.

    Parameters
    ----------
    structure, candidates, runs, delay, seed, progress
        As in `recommend`.
    lengths
        Numbers of interactions per subject, ascending.

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=1.0)
    >>> found = gain_by_length(known, [5, 50], candidates=["posterior"], runs=30)
    >>> found.structure_pays_from, found.gain.shape
    (50, (3, 2))
    """
    if not isinstance(structure, Structure):
        raise InvalidInput(f"{structure!r} is not a structure; load or learn one first.")
    marks = tuple(read_count("length", length) for length in lengths)
    if not marks or list(marks) != sorted(set(marks)):
        raise InvalidInput(f"lengths = {list(lengths)} do not ascend; give for example 10, 100.")
    runs, delay, seed = read_count("runs", runs, 2), read_count("delay", delay, 0), read_seed(seed)
    algorithms, left_out = applicable_policies(structure, candidates)
    check_memory(len(algorithms), runs, len(marks), marks[-1], structure.n_arms)
    found = compare(
        structure, algorithms, marks, runs=runs, delay=delay, seed=seed, progress=progress
    )
    gains = np.stack([found.gains(place) for place in range(len(marks))], axis=1)
    rivals = gains[: len(RIVALS)]
    best = rivals.mean(axis=2).argmax(axis=0)
    rival = np.stack([rivals[row, place] for place, row in enumerate(best)])
    return GainByLength(
        marks,
        found.labels,
        gains.mean(axis=2),
        gains.std(axis=2, ddof=1) / np.sqrt(runs),
        (gains - rival).std(axis=2, ddof=1) / np.sqrt(runs),
        found.always,
        found.arm,
        left_out,
        runs,
        delay,
        seed,
    )


def first_paying(
    structure: Structure,
    algorithms: Sequence[Algorithm],
    lengths: Sequence[int],
    runs: int,
    delay: int,
    seed: int,
) -> int | None:
    """Return the first of some lengths at which a policy earns significantly more than `always`."""
    for length in lengths:
        found = compare(
            structure, algorithms, [length], runs=runs, delay=delay, seed=seed, progress="off"
        )
        gains = found.gains(0)
        row = int(gains.mean(axis=1).argmax())
        error = float(gains[row].std(ddof=1)) / np.sqrt(runs)
        if found.labels[row] != BASELINE and gains[row].mean() > NORMAL_95 * error:
            return length
    return None
