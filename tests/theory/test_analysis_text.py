"""How an analysis is printed."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from structuredbandits.problems import load_structure
from structuredbandits.structure import Structure
from structuredbandits.theory import analyze


def test_one_theta_as_text() -> None:
    text = str(analyze(load_structure("three-arms"), 2.6, horizon=50_000, epsilon=0.3))
    assert text.splitlines()[0] == "three-arms, θ = 2.6: the best arm is 1"
    assert "C = 3 of 3 arms compete, C̃ = 3, C_ε = 3 for ε = 0.3." in text
    assert "80 · log T" in text
    assert "pulls in 50,000 ≤" in text
    assert "Theorem 3" in text


@pytest.mark.parametrize(
    ("name", "theta", "sentence"),
    [
        ("three-arms", 0.5, "Bounded regret is possible"),
        ("corner", 3.0, "not excluded"),
        ("three-arms", 1.5, "grows without bound"),
    ],
)
def test_what_regret_to_expect_is_said_in_words(name: str, theta: float, sentence: str) -> None:
    report = analyze(load_structure(name), theta)
    assert sentence in str(report)
    assert sentence in report._repr_html_()


def test_markup_in_names_is_escaped() -> None:
    structure = Structure.from_table([[1, 0]], arms=["<b>", "&"], sigma=1, name="<i>")
    shown = analyze(structure, 0)._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<i>" not in shown


def test_one_theta_as_plain_data() -> None:
    report = analyze(load_structure("informative"), 3.1, horizon=1000)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["epsilon"] == {"1": 0.0, "2": 0.0, "3": None}
    assert data["C"] == 2
    assert set(data["pulls_bound"]) == {"1", "3"}
    assert analyze(load_structure("plane"), (0.9, 0.2)).to_dict()["theta"] == [0.9, 0.2]


def test_all_theta_as_a_frame() -> None:
    table = analyze(load_structure("three-arms"), horizon=1000, epsilon=[0.2])
    frame = table.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(table) == 601
    assert frame.index.name == "theta"
    row = frame.loc[2.6]
    assert (row["optimal_arm"], row["C"], row["competitive_arms"]) == ("1", 3, "1, 2, 3")
    assert np.isinf(row["least_epsilon"])
    assert row["least_gap"] == pytest.approx(0.1)
    assert row["regret_bound"] == table.at(2.6).regret_bound(1000).regret
    labels = analyze(load_structure("movielens")).to_frame()
    assert labels.index.names == ["age", "occupation"]


def test_all_theta_as_text() -> None:
    text = str(analyze(load_structure("three-arms")))
    assert "[1, 2.5]" in text
    assert "C = 3" in text
    long = str(analyze(load_structure("movielens"), epsilon=[0.1]))
    assert "Documentary" in long
    assert "C_ε for ε = 0.1" in long
    assert "C is exact" in analyze(load_structure("movielens"))._repr_html_()


def test_short_forms() -> None:
    table = analyze(load_structure("three-arms"))
    assert repr(table.at(2.6)) == "<Analysis of θ = 2.6: best arm '1', C = 3>"
    assert "C from 1 to 3" in repr(table)


def test_an_analysis_cannot_be_changed() -> None:
    table = analyze(load_structure("three-arms"))
    with pytest.raises(AttributeError):
        table.at(2.6).C = 1  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        table.C[0] = 5


@pytest.mark.parametrize("name", ["three-arms", "linear", "movielens"])
def test_results_can_be_sent_to_other_processes(name: str) -> None:
    table = analyze(load_structure(name), horizon=100, epsilon=[0.1])
    again = pickle.loads(pickle.dumps(table))
    assert (again.epsilon == table.epsilon).all()
    assert again.radii == table.radii
    report = table.at(table.structure.parameters[3])
    assert pickle.loads(pickle.dumps(report)) == report


def test_regions_are_for_numbers_only() -> None:
    assert analyze(load_structure("movielens")).regions == ()
    assert analyze(load_structure("linear")).regions == ()
