"""The lock files match `pyproject.toml` and contain no package sources."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(name: str) -> dict[str, Version]:
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if not line.startswith("#")]
    for line in found:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line), f"not an exact pin: {line}"
    pairs = [line.split("==") for line in found]
    return {canonicalize_name(package): Version(version) for package, version in pairs}


def group(name: str) -> list[str]:
    requirements: list[str] = []
    for entry in project()["dependency-groups"][name]:
        requirements += [entry] if isinstance(entry, str) else group(entry["include-group"])
    return requirements


def unmet(requirements: list[str], lock: dict[str, Version]) -> list[str]:
    wanted = [Requirement(text) for text in requirements]
    return [
        str(requirement)
        for requirement in wanted
        if canonicalize_name(requirement.name) not in lock
        or lock[canonicalize_name(requirement.name)] not in requirement.specifier
    ]


def test_the_demo_lock_meets_the_base_dependencies() -> None:
    assert unmet(project()["project"]["dependencies"] + group("build"), pins("demo.txt")) == []


def test_the_test_lock_meets_every_extra_and_every_group() -> None:
    extras = project()["project"]["optional-dependencies"]
    named = [text for name, texts in extras.items() if name != "all" for text in texts]
    assert unmet(named + group("dev"), pins("test.txt")) == []


def test_both_locks_agree_so_that_one_environment_serves_both() -> None:
    demo, test = pins("demo.txt"), pins("test.txt")
    assert {name: test.get(name) for name in demo} == demo


def test_all_names_every_other_extra() -> None:
    extras = project()["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    assert Requirement(everything).extras == set(extras) - {"all"}


@pytest.mark.parametrize("missing", ["numpy>=99", "no-such-package"])
def test_the_comparison_finds_a_missing_package(missing: str) -> None:
    assert unmet(["scipy", missing], pins("demo.txt")) == [missing]
