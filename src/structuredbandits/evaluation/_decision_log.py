"""Read and check a decision log: subject, arm, probability and reward of each decision."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput, InvalidReward, UnknownArm, suggestion
from structuredbandits.evaluation._estimated_probabilities import (
    ESTIMATE,
    estimated_probabilities,
)
from structuredbandits.learning.log_reader import column_names, read_frame, read_numbers
from structuredbandits.structure import FloatArray

if TYPE_CHECKING:
    import pandas as pd

_SUBJECT, _ORDERS, _ALLOWED = "subject", ("decision", "round"), "allowed"
# A service exports a decision again when its reward is corrected, with a later position.
_ID, _PLACE, _VERSION = "id", "settled", "structure_version"
# A probability may exceed 1 by this much, through rounding in the program that wrote it.
_ROUNDING = 1e-9


class LogColumns(NamedTuple):
    """The columns of a log by their role; None where there is none."""

    arm: str
    reward: str
    probability: str | None
    """None if probabilities are to be estimated."""
    subject: str | None
    order: str | None
    allowed: str | None
    context: tuple[str, ...]
    export: tuple[str, ...] = ()
    """Further columns of a service's export."""

    @property
    def used(self) -> list[str]:
        """All columns that are present."""
        given = (self.probability, self.subject, self.order, self.allowed)
        optional = [name for name in (*given, *self.context) if name is not None]
        return [self.arm, self.reward, *optional]


@dataclass(frozen=True, eq=False)
class DecisionLog:
    """Decisions of every subject in the order in which they were made.

    Attributes
    ----------
    arms
        Names of all arms.
    chosen : (decisions,) int
        The arm that was shown, as a position in `arms`.
    rewards, probabilities : (decisions,)
        The reward, and the probability with which the arm was chosen.
    subjects : (decisions,) int
        The subject; the decisions of one subject are contiguous. Without a column of subjects,
        every row is its own subject.
    has_subjects
        Whether the log has such a column.
    allowed : (decisions, arms) bool or None
        The arms that could be shown; None if all could always be shown.
    context
        One column per further requested name: (decisions,).
    """

    arms: tuple[str, ...]
    chosen: np.ndarray
    rewards: FloatArray
    probabilities: FloatArray
    subjects: np.ndarray
    has_subjects: bool
    allowed: np.ndarray | None
    context: dict[str, np.ndarray]
    subject_names: np.ndarray
    estimated: bool = False
    """Whether the probabilities were estimated from the log."""

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def n_subjects(self) -> int:
        """The number of subjects."""
        return int(self.subjects[-1]) + 1

    @property
    def longest(self) -> int:
        """The largest number of decisions of one subject."""
        return int(np.bincount(self.subjects).max())

    def allowed_arms(self, row: int) -> np.ndarray:
        """Return the positions of the arms that could be shown in a decision."""
        if self.allowed is None:
            return np.arange(len(self.arms))
        return np.flatnonzero(self.allowed[row])


def find_columns(
    log: Any,
    *,
    arm: str,
    reward: str,
    probability: str,
    subject: str | None,
    order: str | None,
    allowed: str | None,
    context: Sequence[str],
) -> LogColumns:
    """Return the roles of the columns, with the default names where none are given."""
    present = column_names(log)
    if order is None:
        order = next((name for name in _ORDERS if name in present), None)
    columns = LogColumns(
        arm,
        reward,
        None if probability == ESTIMATE and ESTIMATE not in present else probability,
        subject or (_SUBJECT if _SUBJECT in present else None),
        order,
        allowed or (_ALLOWED if _ALLOWED in present else None),
        tuple(context),
    )
    export = tuple(name for name in (_ID, _PLACE, _VERSION) if name in present)
    return columns._replace(export=tuple(name for name in export if name not in columns.used))


def read_decisions(
    log: Any,
    columns: LogColumns,
    arms: Sequence[str] | None,
    more_arms: Iterable[str] = (),
    structure_version: int | None = None,
) -> DecisionLog:
    """Read and check a log.

    Parameters
    ----------
    log
        As in `learn_structure`.
    columns
        The roles of its columns.
    arms
        All arms, if a structure names them; otherwise those in the log.
    more_arms
        Arms to add if ``arms`` is None: those that the evaluated policy names.
    structure_version
        Leave out decisions of other versions.
    """
    wanted = columns.used
    if len(set(wanted)) < len(wanted):
        raise InvalidInput(f"a column is given twice in {wanted}; give every role its own column.")
    frame = read_frame(log, [*wanted, *columns.export])
    if not len(frame):
        raise InvalidInput("the log has no rows; give one with at least two decisions.")
    frame = _name_arms(frame, columns)
    if {_ID, _PLACE} <= set(columns.export):
        frame = latest_rows(frame)
    frame = _of_version(frame, columns, structure_version)
    frame, subjects, names = _in_order(frame, columns)
    codes, labels = _codes(frame[columns.arm], "arm")
    limits = None if columns.allowed is None else _allowed_lists(frame[columns.allowed])
    try:
        known = _all_arms(labels, limits, arms, more_arms)
    except UnknownArm as error:
        hint = _several_versions(frame, columns)
        raise UnknownArm(f"{error}{hint}") from None
    position = {name: k for k, name in enumerate(known)}
    chosen = np.array([position[name] for name in labels], dtype=np.int64)[codes]
    mask = None if limits is None else _mask(limits, position)
    context = {name: frame[name].to_numpy() for name in columns.context}
    if columns.probability is not None:
        probabilities = read_probabilities(frame[columns.probability])
    else:
        explaining = list(context.values())
        probabilities = estimated_probabilities(chosen, len(known), subjects, mask, explaining)
    decisions = DecisionLog(
        arms=known,
        chosen=chosen,
        rewards=read_rewards(frame[columns.reward]),
        probabilities=probabilities,
        subjects=subjects,
        has_subjects=columns.subject is not None,
        allowed=mask,
        context=context,
        subject_names=names,
        estimated=columns.probability is None,
    )
    _check_allowed(decisions)
    return decisions


def _name_arms(frame: pd.DataFrame, columns: LogColumns) -> pd.DataFrame:
    """Name the arms in every row of an export, which names all arms of a version only once."""
    import pandas as pd

    if columns.allowed is None or _VERSION not in columns.export:
        return frame
    lists, versions = _allowed_lists(frame[columns.allowed]), frame[_VERSION].tolist()
    named: dict[Any, dict[str, None]] = {version: {} for version in versions}
    for version, arm, names in zip(versions, frame[columns.arm].tolist(), lists, strict=True):
        if names:
            named[version].update(dict.fromkeys([*names, _text(arm)]))
    every = {version: list(names) for version, names in named.items()}
    filled = [names or every[version] for version, names in zip(versions, lists, strict=True)]
    return frame.assign(**{columns.allowed: pd.Series(filled, index=frame.index)})


def latest_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the latest row of each exported decision, which has the corrected reward."""
    places = read_numbers(frame[_PLACE])
    if frame[_ID].isna().any() or not np.isfinite(places.values).all():
        raise InvalidInput(
            f"columns {_ID!r} and {_PLACE!r} are not filled in every row; export the log again, or "
            "remove these columns if it is not an export of a service."
        )
    order = np.argsort(places.values, kind="stable")
    last = ~frame[_ID].iloc[order].duplicated(keep="last").to_numpy()
    return frame.iloc[np.sort(order[last])].reset_index(drop=True)


def _of_version(frame: pd.DataFrame, columns: LogColumns, version: int | None) -> pd.DataFrame:
    """Keep the decisions that were made on one version of the structure."""
    if version is None:
        return frame
    if _VERSION not in columns.export:
        raise InvalidInput(
            f"the log has no column {_VERSION!r} to select version {version} by; leave "
            "out structure_version."
        )
    versions = read_numbers(frame[_VERSION]).values
    kept: pd.DataFrame = frame.loc[versions == version].reset_index(drop=True)
    if not len(kept):
        known = ", ".join(f"{number:g}" for number in np.unique(versions))
        raise InvalidInput(
            f"the log has no decision of structure version {version}; choose one of {known}."
        )
    return kept


def _several_versions(frame: pd.DataFrame, columns: LogColumns) -> str:
    """Return a hint about arms that are unknown because the structure changed."""
    versions = frame[_VERSION].unique() if _VERSION in columns.export else ()
    if len(versions) < 2:
        return ""
    listed = ", ".join(sorted(str(version) for version in versions))
    return f"; it has decisions on structure versions {listed}; select one by structure_version."


def _in_order(
    frame: pd.DataFrame, columns: LogColumns
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Sort by subject and order; also return the subjects' numbers and names."""
    import pandas as pd

    for name in (columns.subject, columns.order):
        if name is not None and frame[name].isna().any():
            row = int(np.argmax(frame[name].isna().to_numpy(dtype=bool)))
            raise InvalidInput(f"column {name!r} is empty in row {row + 1}; fill it in every row.")
    if columns.order is not None:
        numbers = read_numbers(frame[columns.order])
        # Text that is not a number, such as an ISO date, is sorted as text.
        values = frame[columns.order] if numbers.unreadable.any() else pd.Series(numbers.values)
        order = np.argsort(values.to_numpy(), kind="stable")
        frame = frame.iloc[order].reset_index(drop=True)
    if columns.subject is None:
        return frame, np.arange(len(frame)), np.arange(len(frame))
    codes, names = pd.factorize(frame[columns.subject])
    by_subject = np.argsort(codes, kind="stable")
    return frame.iloc[by_subject].reset_index(drop=True), codes[by_subject], np.asarray(names)


def _codes(column: pd.Series[Any], what: str) -> tuple[np.ndarray, list[str]]:
    """Return (rows,) numbers of the different values, and these values as text."""
    import pandas as pd

    codes, values = pd.factorize(column)
    missing = codes < 0
    if missing.any():
        raise InvalidInput(
            f"column {column.name!r} is empty in {int(missing.sum()):,} rows; give every decision "
            f"its {what}."
        )
    return np.asarray(codes), [_text(value) for value in list(values)]


def _text(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole and isinstance(value, float) else str(value).strip()


def _allowed_lists(column: pd.Series[Any]) -> list[list[str]]:
    """Read allowed arms: lists, JSON lists in text, or names separated by |; empty means all."""
    found = []
    for value in column.tolist():
        if isinstance(value, list | tuple | np.ndarray):
            parts = list(value)
        elif value is None or value != value:
            parts = []
        else:
            text = str(value).strip()
            parts = _json_list(text) if text.startswith("[") else text.split("|")
        found.append([_text(part) for part in parts if str(part).strip()])
    return found


def _json_list(text: str) -> list[Any]:
    try:
        parts = json.loads(text)
    except ValueError:
        raise InvalidInput(
            f'allowed arms {text!r} are not a list; write them as ["a", "b"] or a|b.'
        ) from None
    return list(parts)


def _all_arms(
    labels: list[str],
    limits: list[list[str]] | None,
    arms: Sequence[str] | None,
    more: Iterable[str],
) -> tuple[str, ...]:
    seen = dict.fromkeys(labels)
    for limit in limits or ():
        seen.update(dict.fromkeys(limit))
    if arms is None:
        return tuple(sorted(seen | dict.fromkeys(more)))
    for name in seen:
        if name not in arms:
            raise UnknownArm(
                f"the log has an arm {name!r} that the structure does not have; "
                f"{suggestion(name, arms)}"
            )
    return tuple(arms)


def _mask(limits: list[list[str]], position: Mapping[str, int]) -> np.ndarray:
    mask = np.zeros((len(limits), len(position)), dtype=bool)
    for row, limit in enumerate(limits):
        mask[row, [position[name] for name in limit] if limit else slice(None)] = True
    return mask


def _check_allowed(log: DecisionLog) -> None:
    if log.allowed is None:
        return
    outside = ~log.allowed[np.arange(len(log)), log.chosen]
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidInput(
            f"a decision shows arm {log.arms[log.chosen[row]]!r}, which is not among its allowed "
            "arms; correct the log."
        )


def _first(column: pd.Series[Any], flags: np.ndarray) -> object:
    """Return the first flagged value as a plain Python object."""
    value = column.iloc[int(np.argmax(flags))]
    return value.item() if isinstance(value, np.generic) else value


def read_rewards(column: pd.Series[Any]) -> FloatArray:
    """Return a column of rewards as numbers, all finite."""
    numbers = read_numbers(column)
    bad = ~np.isfinite(numbers.values)
    if bad.any():
        raise InvalidReward(
            f"column {column.name!r} holds {int(bad.sum()):,} rewards that are missing or "
            f"not finite, such as {_first(column, bad)!r}; remove these "
            "decisions or wait for their rewards."
        )
    return numbers.values


def read_probabilities(column: pd.Series[Any]) -> FloatArray:
    """Return a column of probabilities, all above 0 and at most 1."""
    numbers = read_numbers(column)
    bad = ~((numbers.values > 0.0) & (numbers.values <= 1.0 + _ROUNDING))
    if bad.any():
        raise InvalidInput(
            f"column {column.name!r} holds {int(bad.sum()):,} probabilities that are not above 0 "
            f"and at most 1, such as {_first(column, bad)!r}; log the probability "
            "with which the shown arm was chosen."
        )
    return np.minimum(numbers.values, 1.0)
