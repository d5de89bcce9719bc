"""Read logs of Vowpal Wabbit and of the Open Bandit Pipeline in the form that `evaluate` reads."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from structuredbandits.errors import FileError, InvalidInput

if TYPE_CHECKING:
    import pandas as pd

ForeignFormat = Literal["vw", "dsjson", "obp"]
# Columns of the Open Bandit Dataset, and what they are called here.
_OBP = {"item_id": "arm", "click": "reward", "propensity_score": "probability"}


class _Labelled(NamedTuple):
    """The label of a Vowpal Wabbit example."""

    arm: str
    cost: float
    probability: float
    allowed: list[str] | None


def read_log(
    source: str | PathLike[str] | Mapping[str, Any], format: ForeignFormat
) -> pd.DataFrame:
    """Read a log of another library as a DataFrame that `evaluate` reads.

    Parameters
    ----------
    source
        A file, also compressed with gzip; for "obp" also the dictionary that a dataset's
        ``obtain_batch_bandit_feedback`` returns.
    format
        "vw": Vowpal Wabbit's text with labels action:cost:probability, one line per decision
        (``--cb``) or one line per action and an empty line after each decision (``--cb_adf``).
        "dsjson": its JSON lines. "obp": the CSV files of the Open Bandit Dataset, with columns
        item_id, click and propensity_score, or a dictionary with action, reward and pscore.

    Returns
    -------
    DataFrame
        Columns arm, reward and probability; allowed where the log has the actions of a decision;
        position and time where it has them. Rewards are negative costs. Actions of ``--cb_adf``
        are named after their features.

    Examples
    --------
    >>> feedback = {"action": [1, 0], "reward": [0, 1], "pscore": [0.5, 0.25], "n_actions": 3}
    >>> read_log(feedback, "obp")
      arm  reward  probability    allowed
    0   1     0.0         0.50  [0, 1, 2]
    1   0     1.0         0.25  [0, 1, 2]
    """
    if format not in get_args(ForeignFormat):
        known = ", ".join(get_args(ForeignFormat))
        raise InvalidInput(f"format = {format!r} is unknown; choose one of {known}.")
    if format == "obp":
        return _read_obp(source)
    if isinstance(source, Mapping):
        raise InvalidInput(f"a log in format {format!r} is a file; give its path.")
    lines = _lines(Path(source))
    labels = list(_examples(lines, str(source)) if format == "vw" else _records(lines, str(source)))
    if not labels:
        raise InvalidInput(
            f"{source} has no decision with a label; labels are action:cost:probability."
        )
    return _frame(labels)


def _frame(labels: list[_Labelled]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "arm": [label.arm for label in labels],
            "reward": [0.0 - label.cost for label in labels],
            "probability": [label.probability for label in labels],
        }
    )
    if labels[0].allowed is not None:
        frame["allowed"] = pd.Series([label.allowed for label in labels])
    return frame


def _lines(path: Path) -> Iterator[str]:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            yield from stream
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read ({error}); give a text file in UTF-8.") from error


def _examples(lines: Iterable[str], name: str) -> Iterator[_Labelled]:
    """Read text: an example of several lines ends with an empty line."""
    pending: list[tuple[int, str]] = []
    several = False
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text:
            head = text.split("|", 1)[0].split()
            several = several or not head or head[0] == "shared"
            pending.append((number, text))
            if not several and len(pending) > 1:  # one line per decision
                yield from _single(pending[0], name)
                pending = pending[1:]
            continue
        together = several or len(pending) > 1
        yield from _several(pending, name) if together else _singles(pending, name)
        pending = []
    yield from _several(pending, name) if several and pending else _singles(pending, name)


def _singles(pending: list[tuple[int, str]], name: str) -> Iterator[_Labelled]:
    for entry in pending:
        yield from _single(entry, name)


def _single(entry: tuple[int, str], name: str) -> Iterator[_Labelled]:
    label = _label(*entry, name)
    if label is not None:
        yield label


def _several(block: list[tuple[int, str]], name: str) -> Iterator[_Labelled]:
    actions = [(number, text) for number, text in block if not text.startswith("shared")]
    features = [" ".join(text.split("|", 1)[-1].split()) for _, text in actions]
    for (number, text), own in zip(actions, features, strict=True):
        label = _label(number, text, name)
        if label is not None:
            yield label._replace(arm=own, allowed=list(dict.fromkeys(features)))


def _label(number: int, text: str, name: str) -> _Labelled | None:
    """Return the label action:cost:probability of a line, or None if it has none."""
    for part in text.split("|", 1)[0].split():
        if ":" not in part:
            continue
        try:
            action, cost, probability = part.split(":")
            return _Labelled(action, float(cost), float(probability), None)
        except ValueError:
            raise InvalidInput(
                f"{name}, line {number}: {part!r} is not a label; write action:cost:probability."
            ) from None
    return None


def _records(lines: Iterable[str], name: str) -> Iterator[_Labelled]:
    """Read JSON lines of decisions; other events are left out."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
            if "_label_cost" not in event:
                continue
            action = event["_label_Action"] if "_label_Action" in event else event["a"][0]
            yield _Labelled(
                str(action),
                float(event["_label_cost"]),
                float(event["_label_probability"]),
                [str(one) for one in sorted(event["a"])] if "a" in event else None,
            )
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InvalidInput(
                f"{name}, line {number} is not a decision in dsjson ({error}); it needs "
                "_label_cost, _label_probability and _label_Action."
            ) from None


def _read_obp(source: str | PathLike[str] | Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    from structuredbandits.learning.log_reader import read_frame

    if not isinstance(source, Mapping):
        frame = read_frame(str(source), list(_OBP), optional=("timestamp", "position"))
        return frame.rename(columns=_OBP | {"timestamp": "time"})
    missing = [name for name in ("action", "reward", "pscore") if source.get(name) is None]
    if missing:
        present = ", ".join(str(name) for name in source)
        raise InvalidInput(f"the feedback has no {missing[0]!r}, only {present}.")
    actions = np.asarray(source["action"])
    frame = pd.DataFrame(
        {
            "arm": [str(action) for action in actions.tolist()],
            "reward": np.asarray(source["reward"], dtype=float),
            "probability": np.asarray(source["pscore"], dtype=float),
        }
    )
    if source.get("n_actions") is not None:
        every = [str(action) for action in range(int(source["n_actions"]))]
        frame["allowed"] = [every] * len(frame)
    if source.get("position") is not None:
        frame["position"] = np.asarray(source["position"])
    return frame
