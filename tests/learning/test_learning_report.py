"""The report names the weak places of a learned structure."""

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.errors import InvalidInput, InvalidParameter, InvalidStructure
from structuredbandits.learning import RowCounts


def structure(minimize: bool = False) -> sb.Structure:
    """Segments a and b differ by 0.2 in all arms, c by 3; arm z is never the best."""
    return sb.Structure.from_table(
        [[5.0, 4.9, 1.0], [4.8, 5.1, 1.2], [2.0, 8.0, 1.0]],
        sb.Finite(["a", "b", "c"]),
        ["x", "y", "z"],
        sigma=1.0,
        counts=[[25, 25, 4], [25, 25, 100], [25, 1, 100]],
        standard_errors=[[0.2, 0.2, 0.5], [0.2, 0.2, 0.1], [0.2, 1.0, 0.1]],
        minimize=minimize,
    )


def test_thin_cells_come_with_the_least_certain_first() -> None:
    report = sb.learning_report(structure())
    assert [(c.segment, c.arm, c.rewards) for c in report.thin_cells] == [
        ("c", "y", 1.0),
        ("a", "z", 4.0),
    ]
    assert sb.learning_report(structure(), few=1).thin_cells == ()
    assert len(sb.learning_report(structure(), few=1000).thin_cells) == 9


def test_segments_that_no_arm_distinguishes() -> None:
    report = sb.learning_report(structure())
    assert report.lookalikes.tolist() == [1, 1, 0]
    assert report.confusable.tolist() == [1, 1, 0]
    assert report.lookalikes_of("a") == ("b",)
    assert report.lookalikes_of("c") == ()
    assert report.lost_lookalikes == ()
    with pytest.raises(InvalidParameter):
        report.lookalikes_of("d")


def test_one_clear_arm_is_enough_to_distinguish() -> None:
    """0.2 apart with standard errors of 0.2: chance. With 0.02 it is not."""
    exact = sb.Structure.from_table(
        structure().means,
        sb.Finite(["a", "b", "c"]),
        sigma=1.0,
        counts=np.full((3, 3), 2500),
        standard_errors=np.full((3, 3), 0.02),
    )
    assert sb.learning_report(exact).lookalikes.tolist() == [0, 0, 0]
    assert sb.learning_report(exact, level=1 - 1e-12).lookalikes.tolist() == [1, 1, 0]


def test_arms_that_are_never_best() -> None:
    assert sb.learning_report(structure()).never_best == ("z",)
    assert sb.learning_report(structure(minimize=True)).never_best == ("x", "y")


def test_the_text_says_all_of_it() -> None:
    rows = RowCounts(1000, 990, 7, 2, 1)
    text = str(sb.learning_report(structure(), rows=rows))
    assert text.splitlines() == [
        "990 rewards used of 1,000 rows.",
        "7 rows left out: no reward (or NaN).",
        "2 rows left out: no arm or no segment.",
        "1 row left out: weight 0.",
        "2 of 9 cells have fewer than 5 rewards; the least certain: c, y (1 reward, 8 ± 1).",
        "2 of 3 segments have a lookalike with another best arm: a policy that treats "
        "the means as exact may play the wrong one.",
        "Best in no segment: z.",
    ]


def test_the_table_has_a_row_for_each_cell() -> None:
    frame = sb.learning_report(structure()).to_frame()
    assert list(frame.columns) == ["segment", "arm", "mean", "count", "standard_error", "best"]
    assert frame.loc[7].tolist() == ["c", "y", 8.0, 1.0, 1.0, True]


def test_what_it_needs() -> None:
    bare = sb.Structure.from_table([[1.0, 2.0]], sigma=1.0)
    with pytest.raises(InvalidStructure, match="no counts or no standard errors"):
        sb.learning_report(bare)
    with pytest.raises(InvalidInput, match="few = -1"):
        sb.learning_report(structure(), few=-1)
    with pytest.raises(InvalidInput, match="level = 2"):
        sb.learning_report(structure(), level=2)


def test_a_single_segment_has_no_lookalike() -> None:
    one = sb.Structure.from_table([[1.0, 2.0]], sigma=1, counts=[[9, 9]], standard_errors=[[1, 1]])
    report = sb.learning_report(one)
    assert report.lost_lookalikes == ()
    assert repr(report) == f"<LearningReport of {one!r}>"
