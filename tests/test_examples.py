"""The scripts in examples/ run, and print what they promise."""

import re
from pathlib import Path

import pytest

from tests.documents import run_code

FOLDER = Path(__file__).parents[1] / "examples"
PROMISES = {
    "serve_visitors.py": [
        r"after    1 visits: 108 kinds of people plausible",
        r"after 1000 visits: +\d{1,2} kinds of people plausible, [1-9] genres left",
        r"the state is [\d,]+ bytes of JSON",
        r"if only two are on offer: (Comedy|War)",
    ],
    "own_structure.py": [
        r"demand 1: the best price is low",
        r"demand 3.5: the best price is middle",
        r"demand 6: the best price is high",
        r"(<Structure shop: 3 arms, 601 θ in \[0, 6\], sigma 2>[\s\S]*){2}",
    ],
    "own_policy.py": [r"ucb +\d+\nbold +\d+\nbold-c +\d+\nbold-c\(alpha=2\) +\d+\n"],
    "late_rewards.py": [
        r"worth trying in the end: .*10 mg",
        r"  10 mg  0\.\d\d",
        r"best in truth: 10 mg",
    ],
    "river_inside.py": [r"River's UCB alone: \d+\ninside Algorithm-C: \d+"],
    "river_evaluate.py": [r"ucb    \d\.\d\d a round\nucb-c  \d\.\d\d a round"],
    "mabwiser_inside.py": [r"pulls: \{'1': \d+, '2': \d{3}, '3': \d+\}", r"worth pulling: \(.*'2'"],
    "smpybandits_inside.py": [
        r"pulls: \{'1': \d+, '2': \d{3}, '3': \d+\}",
        r"worth pulling: \(.*'2'",
    ],
    "gymnasium_episodes.py": [r"ucb    \d+ regret in .*\nucb-c  \d+ regret in"],
    "find_the_best.py": [r"track    names arm 3 after +\d+ rewards\nlucb     names arm 3 after"],
}


def own_policy_story(printed: str) -> None:
    """Knowing the structure helps a policy of one's own."""
    regret = {name: int(value) for name, value in re.findall(r"(\S+) +(\d+)\n", printed)}
    assert regret["bold-c"] < regret["bold"]


def own_structure_story(printed: str) -> None:
    """It helps at every demand."""
    rows = re.findall(r"^[\d.]+ +(\d+) +(\d+)$", printed, flags=re.MULTILINE)
    assert len(rows) == 3
    assert all(int(structured) < int(plain) for plain, structured in rows)


def gymnasium_story(printed: str) -> None:
    """It helps whatever θ is drawn, on average."""
    plain, structured = map(int, re.findall(r"^\S+ +(\d+) regret", printed, flags=re.MULTILINE))
    assert structured < plain


STORIES = {
    "own_policy.py": own_policy_story,
    "own_structure.py": own_structure_story,
    "gymnasium_episodes.py": gymnasium_story,
}


def test_every_promise_is_of_an_example() -> None:
    assert set(PROMISES) <= {path.name for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.py")))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    code = (FOLDER / name).read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 45
    printed = run_code(code, tmp_path)
    assert printed
    for promise in PROMISES.get(name, []):
        assert re.search(promise, printed), printed
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]
    if name in STORIES:
        STORIES[name](printed)
