"""One registration at a policy's class is all that makes it known."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import structuredbandits as sb
from docs.making.blocks import runnable
from docs.making.reference_tables import policy_table
from docs.making.run_blocks import run_story
from structuredbandits.policies import registration
from structuredbandits.policies.policy_descriptions import describe_policies
from structuredbandits.policies.registration import COLOURS, Description, description_of, registered
from tools import generate_stub

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "tools" / "policy_template.py"
BUILT_IN = registered(built_in=True)


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test registers is forgotten afterwards."""
    monkeypatch.setattr(registration, "_classes", registered())


@pytest.mark.parametrize("name", BUILT_IN)
def test_everything_is_said_about_a_policy(name: str) -> None:
    about = description_of(BUILT_IN[name])
    for text in (about.summary, about.use, about.reference):
        assert text.endswith(".")
        assert "\n" not in text
        assert text[0].isupper()
    assert len(about.summary) <= 90
    assert about.colour in COLOURS


def test_every_policy_is_a_public_name() -> None:
    for kind in BUILT_IN.values():
        assert getattr(sb, kind.__name__) is kind


def test_lists_keep_their_order() -> None:
    assert list(BUILT_IN)[:4] == ["ucb", "kl-ucb", "kl-ucb-bernoulli", "ts"]
    assert list(BUILT_IN)[-1] == "ossb"
    assert [row.name for row in describe_policies(built_in=True)] == list(BUILT_IN)


THETA = np.linspace(1.0, 3.0, 21)


def _structure(first: np.ndarray, second: np.ndarray, known: bool = False) -> sb.Structure:
    """Two arms' means over Θ = [1, 3], with standard errors unless they are known exactly."""
    means = np.column_stack([first, second])
    grid = sb.Interval(1.0, 3.0, points=21)
    options: Any = {} if known else {"standard_errors": np.full(means.shape, 0.1)}
    return sb.Structure.from_table(means, grid, sigma=1.0, **options)


def _fits(name: str, structure: sb.Structure) -> bool:
    try:
        sb.make_algorithm(name).check(structure)
    except sb.InvalidPolicy:
        return False
    return True


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_policy_needs_what_it_says(name: str) -> None:
    """A structure that lacks one thing is refused by the policies that need it, and by no other."""
    needs = set(description_of(BUILT_IN[name]).needs)
    assert ("rewards in [0, 1]" in needs) == BUILT_IN[name].needs_unit_rewards
    assert _fits(name, _structure(THETA, 4 - THETA))
    assert _fits(name, _structure(THETA, 4 - THETA, known=True)) == ("standard errors" not in needs)
    assert _fits(name, _structure(THETA**3, 40 - THETA**2)) == ("linear means" not in needs)
    waves = _structure((THETA - 2) ** 2, 4 - THETA)
    assert _fits(name, waves) == (not needs & {"linear means", "monotone means"})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"colour": "gren"}, "there is no colour 'gren'; did you mean 'green'"),
        ({"colour": "#12345"}, "there is no colour '#12345'"),
        ({"needs": ("linear",)}, "there is no need 'linear'; did you mean 'linear means'"),
    ],
)
def test_a_wrong_description_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(sb.InvalidPolicy) as caught:
        Description(**given)
    assert says in str(caught.value)


def test_the_stub_is_up_to_date() -> None:
    current = generate_stub.STUB.read_text(encoding="utf-8")
    assert generate_stub.stub(current) == current, "run 'make generated'"


def test_a_policy_that_is_missing_in_the_stub_is_noticed() -> None:
    current = generate_stub.STUB.read_text(encoding="utf-8")
    line = "from .policies.classical.ucb import UCB as UCB\n"
    assert generate_stub.stub(current.replace(line, "")) == current
    assert (
        generate_stub.stub(current + "from .policies.classical.gone import Gone as Gone\n")
        == current
    )


@pytest.mark.usefixtures("own_registry")
def test_the_table_of_the_docs_holds_built_in_policies_only() -> None:
    """Pages are made in one process, so a page can define a policy before the table is made."""

    def of_another_page(arm: Any, moment: Any) -> Any:
        return arm.mean

    before = policy_table()
    sb.index_policy(of_another_page)
    assert "of-another-page" in sb.policy_names()
    assert policy_table() == before


@pytest.mark.usefixtures("own_registry")
def test_pages_that_are_made_one_after_the_other() -> None:
    fence = "```"
    page = f"{fence}python\nimport structuredbandits as sb\n\n@sb.index_policy\ndef of_a_page(arm, "
    page += f"moment):\n    return arm.mean\n{fence}\n"
    table = (ROOT / "docs" / "reference" / "policy-table.md").read_text(encoding="utf-8")
    run_story({"page.md": runnable(page)})
    assert "of-a-page" in sb.policy_names()
    (done,) = run_story({"table.md": runnable(table)})["table.md"]
    assert "`ucb(alpha=3)`" in done.output
    assert "of-a-page" not in done.output


@pytest.fixture
def template(own_registry: None) -> Iterator[ModuleType]:
    sys.modules.pop("tools.policy_template", None)
    yield importlib.import_module("tools.policy_template")
    sys.modules.pop("tools.policy_template", None)


def test_the_template_keeps_the_contract(template: ModuleType) -> None:
    sb.testing.check_policy(template.FixedUCB())
    assert doctest.testmod(template) == (0, 1)


SCRIPT = """
import contextlib, io, json, sys
import structuredbandits as sb
from structuredbandits.cli import main
from structuredbandits.policies.policy_descriptions import describe_policies
from structuredbandits.plots.style import look_of
from structuredbandits.service.lab.lab_structures import embedded, show
from structuredbandits.simulation.arguments import all_policies, read_problem
from docs.making.reference_tables import policy_reference, policy_table

structure, environment, thetas, _ = read_problem("three-arms", None)
policy = sb.make_policy("fixed-ucb-c(width=1)", structure, seed=7)
sys.argv = ["structuredbandits", "policies"]
with contextlib.redirect_stdout(io.StringIO()) as table, contextlib.suppress(SystemExit):
    main()
print(json.dumps({
    "file": sb.__file__,
    "arm": policy.pull(),
    "class": repr(sb.FixedUCB(width=1)),
    "public": "FixedUCB" in sb.__all__,
    "names": [name for name in sb.policy_names() if name.startswith("fixed-ucb")],
    "command": table.getvalue(),
    "docs": policy_table(),
    "reference": policy_reference(classical=True),
    "look": look_of("fixed-ucb"),
    "look of -c": look_of("fixed-ucb-c"),
    "all": all_policies(structure, environment, thetas)[0],
    "lab": list(show(embedded("three-arms")).names),
}))
"""


def test_a_new_policy_is_one_file(tmp_path: Path) -> None:
    """One file is added to a copy of the package, and the policy is found everywhere."""
    package = tmp_path / "src" / "structuredbandits"
    shutil.copytree(
        ROOT / "src" / "structuredbandits", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(TEMPLATE, package / "policies" / "classical" / "fixed_ucb.py")
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(package.parent), str(ROOT)]),
        "STRUCTUREDBANDITS_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            cwd=tmp_path,
            env=settings,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-m", "tools.generate_stub")  # what `make generated` does
    found = json.loads(run("-c", SCRIPT))
    assert Path(found["file"]).is_relative_to(tmp_path)
    assert found["arm"] in ("1", "2", "3")
    assert found["class"] == "FixedUCB(width=1)"
    assert found["public"]
    informative = [f"fixed-ucb-c-{metric}" for metric in registration.METRICS]
    assert found["names"] == ["fixed-ucb", "fixed-ucb-c", *informative, "fixed-ucb-cj"]
    assert "The mean plus a fixed number of standard errors." in found["command"]
    assert "| `fixed-ucb(width=2)` | The mean plus a fixed number" in found["docs"]
    assert "::: structuredbandits.FixedUCB\n" in found["reference"]
    teal = COLOURS["teal"]
    assert (found["look"][0], found["look of -c"][0]) == (teal, teal)
    assert {"fixed-ucb", "fixed-ucb-c"} <= set(found["all"])
    assert {"fixed-ucb", "fixed-ucb-c"} <= set(found["lab"])
