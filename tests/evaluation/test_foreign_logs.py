"""Logs of other libraries, and the values that their formulas give."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run


def feedback(rounds: int = 2000, seed: int = 1) -> dict[str, object]:
    """What `obtain_batch_bandit_feedback` returns, with three actions."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(rounds, 3))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    action = (generator.random((rounds, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    return {
        "n_rounds": rounds,
        "n_actions": 3,
        "action": action,
        "reward": (generator.random(rounds) < np.array([0.2, 0.5, 0.3])[action]).astype(int),
        "pscore": shares[np.arange(rounds), action],
        "position": None,
    }


def test_values_equal_the_formulas_of_obp_to_1e_9() -> None:
    """IPS: mean(w r). SNIPS: mean(w r) / mean(w). DR: mean(Σ π q + w (r − q))."""
    data = feedback()
    action, r, p = (np.asarray(data[name]) for name in ("action", "reward", "pscore"))
    policy = np.array([0.1, 0.6, 0.3])
    means = np.array([[0.25, 0.4, 0.35], [0.15, 0.5, 0.2]])
    q = means.mean(axis=0)
    w = policy[action] / p
    expected = {
        "ips": np.mean(w * r),
        "snips": np.mean(w * r) / np.mean(w),
        "dr": np.mean(policy @ q + w * (r - q[action])),
    }
    log = sb.read_log(data, "obp")
    structure = sb.Structure.from_table(means, arms=["0", "1", "2"], sigma=0.5)
    for method, value in expected.items():
        found = sb.evaluate(
            log,
            dict(zip("012", policy.tolist(), strict=True)),
            method=method,  # type: ignore[arg-type]
            structure=structure,
            model="prior",
        )
        assert found.value == pytest.approx(value, abs=1e-9)


def test_the_open_bandit_dataset(tmp_path: Path) -> None:
    data = feedback(50)
    table = pd.DataFrame(
        {
            "timestamp": "2019-11-24 00:00:00+00:00",
            "item_id": data["action"],
            "position": 1,
            "click": data["reward"],
            "propensity_score": data["pscore"],
            "user_feature_0": "x",
        }
    )
    path = tmp_path / "all.csv"
    table.to_csv(path)  # with the index, as the dataset has it
    found = sb.evaluate(sb.read_log(path, "obp"), "uniform")
    assert found.value == pytest.approx(sb.evaluate(sb.read_log(data, "obp"), "uniform").value)
    assert list(sb.read_log(path, "obp").columns)[:3] == ["arm", "reward", "probability"]


CB = """1:2:0.4 | a c
3:0.5:0.2 | b d

4:1.2:0.5 | a b c
"""
ADF = """shared | user=x
| sport
0:-1.0:0.8 | music

shared | user=y
0:0.5:0.25 'tag | sport
| music
| news
"""


def test_text_of_vowpal_wabbit(tmp_path: Path) -> None:
    path = tmp_path / "train.dat"
    path.write_text(CB)
    log = sb.read_log(path, "vw")
    assert log["arm"].tolist() == ["1", "3", "4"]
    assert log["reward"].tolist() == [-2.0, -0.5, -1.2]
    assert log["probability"].tolist() == [0.4, 0.2, 0.5]
    assert "allowed" not in log


def test_actions_with_features(tmp_path: Path) -> None:
    path = tmp_path / "train.dat.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(ADF)
    log = sb.read_log(path, "vw")
    assert log["arm"].tolist() == ["music", "sport"]
    assert log["reward"].tolist() == [1.0, -0.5]
    assert log["allowed"].tolist() == [["sport", "music"], ["sport", "music", "news"]]


def test_json_lines_of_vowpal_wabbit(tmp_path: Path) -> None:
    path = tmp_path / "log.dsjson"
    events = [
        {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "a": [2, 1], "p": []},
        {"EventId": "without a label"},
        {"_label_cost": 0, "_label_probability": 0.2, "a": [1, 2]},
    ]
    path.write_text("\n".join(map(json.dumps, events)))
    log = sb.read_log(path, "dsjson")
    assert log["arm"].tolist() == ["2", "1"]
    assert log["reward"].tolist() == [1.0, 0.0]
    assert log["allowed"].tolist() == [["1", "2"]] * 2
    assert sb.evaluate(log, "always 2", method="ips").value == pytest.approx(0.5 / 0.8)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.dat"
    path.write_text(CB)
    assert run(["evaluate", str(path), "--format", "vw", "--policy", "uniform", "--json"]) == 0
    _, uniform = json.loads(capsys.readouterr().out)
    expected = sb.evaluate(sb.read_log(path, "vw"), "uniform")
    assert uniform["value"] == pytest.approx(expected.value)
    options = ["--format", "vw", "--policy", "uniform"]
    assert run(["evaluate", str(path), str(path), *options]) == 2


def test_mistakes_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "train.dat"
    path.write_text("1:2 | a\n")
    with pytest.raises(sb.InvalidInput, match="line 1: '1:2' is not a label"):
        sb.read_log(path, "vw")
    path.write_text("| a\n")
    with pytest.raises(sb.InvalidInput, match="no decision with a label"):
        sb.read_log(path, "vw")
    path.write_text('{"_label_cost": 1}')
    with pytest.raises(sb.InvalidInput, match="line 1 is not a decision in dsjson"):
        sb.read_log(path, "dsjson")
    with pytest.raises(sb.InvalidInput, match="format = 'csv' is unknown"):
        sb.read_log(path, "csv")  # type: ignore[arg-type]
    with pytest.raises(sb.InvalidInput, match="the feedback has no 'pscore'"):
        sb.read_log({"action": [1], "reward": [1]}, "obp")
    with pytest.raises(sb.InvalidInput, match="is a file"):
        sb.read_log({"action": [1]}, "vw")
    with pytest.raises(sb.FileError, match="cannot be read"):
        sb.read_log(tmp_path / "none", "vw")
