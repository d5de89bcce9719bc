"""docs/architecture.md and CONTRIBUTING.md name existing files, and the journeys are as traced."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import structuredbandits as sb
from tests.journeys import files_entered
from tests.service.test_journey import decision_files

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "structuredbandits"
TOPS = (ROOT, ROOT / "src", PACKAGE)
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
#: The most files on a journey, so that none grows unnoticed.
LIMITS = {"Simulate": 20, "A decision over HTTP": 15}


def section(title: str) -> str:
    """The text below a heading of the third level."""
    found = re.search(rf"^### {re.escape(title)}\n(.*?)^##", PAGE, flags=re.M | re.S)
    assert found, title
    return found[1]


def listed(title: str) -> list[str]:
    """The files of the numbered list of a journey."""
    rows = re.findall(r"^(\d+)\. `([^`]+)`", section(title), flags=re.M)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    return [path for _, path in rows]


def simulate(_folder: Path) -> list[str]:
    stars = {"action": [4.4, 2.9, 2.6], "drama": [3.1, 4.2, 3.3]}
    visitors = sb.Finite(["student", "parent", "retired"])
    structure = sb.Structure.from_table(stars, visitors, sigma=1.0)

    def work() -> object:
        return sb.simulate(structure, ["ucb", "ucb-c"], theta="parent", horizon=200, runs=2)

    work()
    return files_entered(work)


def pull_and_update(_folder: Path) -> list[str]:
    policy = sb.make_policy("ucb-c", sb.load_structure("three-arms"), seed=1)

    def work() -> None:
        policy.update(policy.pull(), 1.0)

    work()
    return files_entered(work)


def decide_over_http(folder: Path) -> list[str]:
    return decision_files(folder / "service.db")


def learn(folder: Path) -> list[str]:
    log = folder / "log.csv"
    sb.simulate_survey("movielens", rows=2_000, seed=1).to_csv(log, index=False)

    def work() -> object:
        return sb.learn_structure(log, arm="arm", segment="age", reward="reward")

    work()
    return files_entered(work)


JOURNEYS: dict[str, Callable[[Path], list[str]]] = {
    "Simulate": simulate,
    "Pull and update": pull_and_update,
    "A decision over HTTP": decide_over_http,
    "Learn a structure": learn,
}


@pytest.mark.parametrize("title", JOURNEYS)
def test_a_journey_enters_exactly_the_listed_files(title: str, tmp_path: Path) -> None:
    assert sorted(listed(title)) == sorted(JOURNEYS[title](tmp_path))


@pytest.mark.parametrize("title", LIMITS)
def test_a_journey_is_short(title: str) -> None:
    assert len(listed(title)) <= LIMITS[title]


def named_paths(page: str) -> list[str]:
    """Everything in backticks that looks like a file or a folder of the repository."""
    return re.findall(r"`([\w./-]+(?:\.(?:py|pyi|md|toml|txt|yml)|/))`", page)


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_named_file_exists(name: str) -> None:
    found = named_paths((ROOT / name).read_text(encoding="utf-8"))
    assert len(found) > 5
    missing = [path for path in found if not any((top / path).exists() for top in TOPS)]
    assert missing == []


def test_the_map_has_every_package() -> None:
    packages = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= set(named_paths(PAGE))
