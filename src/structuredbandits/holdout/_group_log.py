"""Read a log of two groups: subject, group, reward and time of each decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.evaluation.shared_parts import latest_rows, read_rewards
from structuredbandits.learning.log_reader import (
    check_columns,
    column_names,
    read_frame,
    read_numbers,
)
from structuredbandits.structure import FloatArray

if TYPE_CHECKING:
    import pandas as pd

_GROUPS = ("group", "holdout")
_TIMES = ("time", "timestamp", "rewarded", "created")
_EXPORT = ("id", "settled")
#: What a holdout group may be called, if no name is given.
HOLDOUT_NAMES = ("holdout", "control", "baseline", "true", "1")


class GroupLog(NamedTuple):
    """Decisions in the order of time."""

    rewards: FloatArray
    """(decisions,)."""
    subjects: np.ndarray
    """(decisions,): numbered in the order of their first decision."""
    groups: np.ndarray
    """(decisions,) int8: 0 for the holdout group, 1 for the policy's."""
    times: pd.Series[Any] | None
    """(decisions,): timestamps, or numbers; None without a column of times."""
    has_subjects: bool
    frame: pd.DataFrame
    """All columns that were read, in the same order."""

    @property
    def n_subjects(self) -> int:
        """The number of subjects of both groups."""
        return int(self.subjects.max()) + 1

    @property
    def subject_groups(self) -> np.ndarray:
        """(subjects,): the group of each subject."""
        found = np.empty(self.n_subjects, dtype=np.int8)
        found[self.subjects] = self.groups
        return found


def read_groups(
    log: Any,
    *,
    group: str | None,
    holdout: str | None,
    reward: str,
    subject: str | None,
    time: str | None,
    further: tuple[str, ...] = (),
) -> GroupLog:
    """Read and check a log of two groups; names that are None are looked for."""
    import pandas as pd

    present = column_names(log)
    chosen = group or next((name for name in _GROUPS if name in present), None)
    if chosen is None:
        raise InvalidInput(
            "the log has no column 'group' that tells the holdout group from the policy's; name "
            f"it by group=, one of {', '.join(present)}."
        )
    who = subject or ("subject" if "subject" in present else None)
    clock = time or next((name for name in _TIMES if name in present), None)
    export = _EXPORT if set(_EXPORT) <= set(present) else ()
    spare = ("created",) if clock == "rewarded" and "created" in present else ()
    asked = [chosen, reward, *(name for name in (who, clock) if name is not None), *further]
    check_columns(asked, present)
    frame = read_frame(log, list(dict.fromkeys([*asked, *export, *spare])))
    if not len(frame):
        raise InvalidInput("the log has no rows; give one with decisions of both groups.")
    frame = latest_rows(frame) if export else frame
    if clock is not None:
        dated = frame[clock] if not spare else frame[clock].fillna(frame[spare[0]])
        values = _times(dated)
        order = np.argsort(values.to_numpy(), kind="stable")
        frame = frame.iloc[order].reset_index(drop=True)
        values = values.iloc[order].reset_index(drop=True)
    if who is None:
        codes = np.arange(len(frame))
    else:
        if frame[who].isna().any():
            raise InvalidInput(f"column {who!r} is empty in some rows; fill it in every row.")
        codes, _ = pd.factorize(frame[who])
    decisions = GroupLog(
        read_rewards(frame[reward]),
        np.asarray(codes, dtype=np.int64),
        _group_numbers(frame[chosen], holdout),
        None if clock is None else values,
        who is not None,
        frame,
    )
    _check_one_group(decisions, frame if who is None else frame[who])
    return decisions


def _group_numbers(column: pd.Series[Any], holdout: str | None) -> np.ndarray:
    import pandas as pd

    codes, names = pd.factorize(column)
    texts = [str(name).strip() for name in names]
    if (codes < 0).any():
        raise InvalidInput(f"column {column.name!r} is empty in some rows; fill it in every row.")
    if holdout is not None:
        held = [text == holdout.strip() for text in texts]
    else:
        held = [text.lower() in HOLDOUT_NAMES or text == "1.0" for text in texts]
    if len(texts) != 2 or sum(held) != 1:
        listed = ", ".join(sorted(texts)[:8])
        raise InvalidInput(
            f"column {column.name!r} holds the groups {listed}; give a log of two groups, and name "
            "the holdout group by holdout=."
        )
    return np.where(np.array(held)[codes], 0, 1).astype(np.int8)


def _times(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return times as UTC timestamps, or as numbers where they are numbers."""
    import pandas as pd

    if column.isna().any():
        raise InvalidInput(
            f"column {column.name!r} is empty in some rows; fill it in every row, or name another "
            "column by time=."
        )
    numbers = read_numbers(column)
    if not numbers.unreadable.any():
        return pd.Series(numbers.values)
    try:
        found: pd.Series[Any] = pd.to_datetime(column, utc=True, format="ISO8601")
    except (TypeError, ValueError):
        try:
            found = pd.to_datetime(column, utc=True)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"column {column.name!r} holds values that are not times, such as "
                f"{str(column.iloc[0])!r}; write them as 2026-03-01T12:00:00Z."
            ) from None
    return found.reset_index(drop=True)


def _check_one_group(log: GroupLog, names: Any) -> None:
    """Raise if a subject is in both groups."""
    wrong = log.subject_groups[log.subjects] != log.groups
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            f"subject {names.iloc[row]!r} has decisions in both groups; assign every subject to "
            "one group permanently, and remove those that changed."
        )
