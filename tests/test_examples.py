"""The scripts in examples/ run and print what is expected."""

import re
from pathlib import Path

import pytest

from tests.documents import run_code

FOLDER = Path(__file__).parents[1] / "examples"
EXPECTED = {
    "serve_visitors.py": [
        r"after    1 visits: 108 visitor types possible",
        r"after 1000 visits: +\d{1,2} visitor types possible, [1-9] genres left",
        r"the state is [\d,]+ bytes of JSON",
        r"if only two are available: (Comedy|War)",
    ],
    "own_structure.py": [
        r"demand 1: the best price is low",
        r"demand 3.5: the best price is middle",
        r"demand 6: the best price is high",
        r"(<Structure shop: 3 arms, 601 θ in \[0, 6\], sigma 2>[\s\S]*){2}",
    ],
    "own_policy.py": [r"ucb +\d+\nbold +\d+\nbold-c +\d+\nbold-c\(alpha=2\) +\d+\n"],
    "late_rewards.py": [
        r"possible at the end: .*10 mg",
        r"  10 mg  0\.\d\d",
        r"truly best: 10 mg",
    ],
    "river_inside.py": [r"River's UCB alone: \d+\ninside Algorithm-C: \d+"],
    "river_evaluate.py": [r"ucb    \d\.\d\d per round\nucb-c  \d\.\d\d per round"],
    "mabwiser_inside.py": [r"pulls: \{'1': \d+, '2': \d{3}, '3': \d+\}", r"competitive: \(.*'2'"],
    "smpybandits_inside.py": [
        r"pulls: \{'1': \d+, '2': \d{3}, '3': \d+\}",
        r"competitive: \(.*'2'",
    ],
    "gymnasium_episodes.py": [r"ucb    \d+ regret per episode .*\nucb-c  \d+ regret per"],
    "find_the_best.py": [r"track    finds arm 3 after +\d+ rewards\nlucb     finds arm 3 after"],
}


def own_policy_comparison(printed: str) -> None:
    """The structure reduces the regret of a custom policy."""
    regret = {name: int(value) for name, value in re.findall(r"(\S+) +(\d+)\n", printed)}
    assert regret["bold-c"] < regret["bold"]


def own_structure_comparison(printed: str) -> None:
    """The structure reduces the regret at every demand."""
    rows = re.findall(r"^[\d.]+ +(\d+) +(\d+)$", printed, flags=re.MULTILINE)
    assert len(rows) == 3
    assert all(int(structured) < int(plain) for plain, structured in rows)


def gymnasium_comparison(printed: str) -> None:
    """The structure reduces the mean regret over random θ."""
    plain, structured = map(int, re.findall(r"^\S+ +(\d+) regret", printed, flags=re.MULTILINE))
    assert structured < plain


COMPARISONS = {
    "own_policy.py": own_policy_comparison,
    "own_structure.py": own_structure_comparison,
    "gymnasium_episodes.py": gymnasium_comparison,
}


def test_every_expectation_is_of_an_example() -> None:
    assert set(EXPECTED) <= {path.name for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.py")))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    code = (FOLDER / name).read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 45
    printed = run_code(code, tmp_path)
    assert printed
    for pattern in EXPECTED.get(name, []):
        assert re.search(pattern, printed), printed
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]
    if name in COMPARISONS:
        COMPARISONS[name](printed)
