"""The built wheel works in an environment with only the base dependencies.

The dependencies of `requirements/demo.txt` are linked from the environment that runs the tests, so
that nothing is downloaded; the package itself comes from the wheel.
"""

import json
import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import structuredbandits as sb

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def run(command: list[str], folder: Path, **variables: str) -> str:
    # Nothing in the environment may point Python to the sources.
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | variables
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    run([*command, str(ROOT)], folder)
    (built,) = folder.glob("*.whl")
    return built


def link_base_dependencies(packages: Path) -> None:
    """Link what `requirements/demo.txt` names into an environment's package folder."""
    lines = (ROOT / "requirements" / "demo.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("#"):
            continue
        installed = distribution(line.split("==")[0])
        tops = {file.parts[0] for file in installed.files or [] if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            target = packages / top
            if not target.exists():
                target.symlink_to(Path(str(installed.locate_file(top))))


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the new environment's commands."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    link_base_dependencies(packages)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], environment)
    return environment / "bin"


def python(scripts: Path, folder: Path, code: str) -> str:
    return run([str(scripts / "python"), "-W", "error", "-c", code], folder).strip()


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "structuredbandits").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == wanted
    assert "structuredbandits/py.typed" in held


def test_it_is_imported_from_the_wheel_and_not_from_the_sources(
    scripts: Path, tmp_path: Path
) -> None:
    code = "import structuredbandits as sb; print(sb.__file__, sb.__version__)"
    place, version = python(scripts, tmp_path, code).split()
    assert Path(place).is_relative_to(scripts.parent)
    code = "from importlib.metadata import version; print(version('structuredbandits'))"
    assert python(scripts, tmp_path, code) == version


def test_the_typing_marker_is_there(scripts: Path, tmp_path: Path) -> None:
    code = (
        "from importlib.resources import files;"
        "print(files('structuredbandits').joinpath('py.typed').is_file())"
    )
    assert python(scripts, tmp_path, code) == "True"


def test_tools_for_development_are_not_there(scripts: Path, tmp_path: Path) -> None:
    """Otherwise these tests could not detect an undeclared dependency."""
    code = (
        "from importlib.util import find_spec;"
        "print([name for name in ('pytest', 'river', 'sklearn', 'yaml') if find_spec(name)])"
    )
    assert python(scripts, tmp_path, code) == "[]"


def test_an_embedded_data_set_loads(scripts: Path, tmp_path: Path) -> None:
    code = (
        "import structuredbandits as sb;"
        "structure = sb.load_structure('movielens');"
        "print(structure.n_arms, structure.n_parameters)"
    )
    arms, parameters = map(int, python(scripts, tmp_path, code).split())
    assert arms == 18
    assert 102 <= parameters <= 108


def test_the_command_line_runs(scripts: Path, tmp_path: Path) -> None:
    command = str(scripts / "structuredbandits")
    assert "simulate" in run([command, "--help"], tmp_path)
    assert "movielens" in run([command, "problems"], tmp_path)


def test_it_compiles_and_simulates(scripts: Path, tmp_path: Path) -> None:
    """Use a separate compile cache, so that no code compiled from the sources is used."""
    command = [str(scripts / "structuredbandits"), "simulate", "three-arms", "--policies", "ucb"]
    options = ["--theta", "2.6", "--runs", "2", "--horizon", "200", "--quiet", "--json"]
    cache = tmp_path / "cache"
    out = run([*command, *options], tmp_path, STRUCTUREDBANDITS_CACHE_DIR=str(cache))
    (row,) = json.loads(out)["results"]
    here = sb.simulate("three-arms", "ucb", 2.6, runs=2, horizon=200)
    assert row["regret"] == pytest.approx(here.regret[..., -1].mean())
    assert any(path.is_file() for path in cache.rglob("*"))
