"""The compile cache: it notices an edit anywhere, compiles nothing twice, and never ends the work.

Each test that compiles does so in a process and a cache folder of its own.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import structuredbandits
from structuredbandits._compiled import cache
from structuredbandits._compiled.cache import KERNEL_PACKAGES, _Overloads, require_kernel_package

PACKAGE = Path(structuredbandits.__file__).parent
#: Simulates a policy and tells the regret and how many functions were compiled.
PROGRAM = """
import json, sys
from numba.core import event
import structuredbandits as sb

class Counter(event.Listener):
    number = 0
    def on_start(self, _event):
        self.number += 1
    def on_end(self, _event):
        pass

counter = Counter()
with event.install_listener("numba:compile", counter):
    results = sb.simulate("three-arms", sys.argv[1], 0.5, horizon=60, runs=3)
print(json.dumps({"regret": results.regret[..., -1].ravel().tolist(), "compiled": counter.number}))
"""


def start(policy: str, source: Path, folder: Path, **settings: Any) -> subprocess.Popen[str]:
    environment = os.environ | {
        "PYTHONPATH": str(source),
        "STRUCTUREDBANDITS_CACHE_DIR": str(folder),
    }
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, policy],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=1800)
    assert (process.returncode, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that can be edited; the folder to import it from."""
    shutil.copytree(
        PACKAGE,
        tmp_path / "source" / PACKAGE.name,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return tmp_path / "source"


def test_an_edited_policy_is_noticed_and_an_unedited_one_is_not_compiled_again(
    copied: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "cache"
    first = answer(start("ucb", copied, folder))
    again = answer(start("ucb", copied, folder))
    assert first["compiled"] > 0
    assert again == {"regret": first["regret"], "compiled": 0}

    # The simulator is in another file, and its stored machine code holds the old formula.
    file = copied / PACKAGE.name / "policies" / "classical" / "ucb.py"
    text, formula = file.read_text(encoding="utf-8"), "agent.root_alpha, moment.width"
    assert text.count(formula) == 1
    file.write_text(text.replace(formula, f"50.0 * {formula}"), encoding="utf-8")
    edited = answer(start("ucb", copied, folder))
    assert edited["compiled"] > 0
    assert edited["regret"] != first["regret"]

    file.write_text(text, encoding="utf-8")
    assert answer(start("ucb", copied, folder)) == again


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[float]]]:
    """A cache that two processes filled at the same time, and what they found."""
    folder = tmp_path_factory.mktemp("filled")
    started = {policy: start(policy, PACKAGE.parent, folder) for policy in ("ucb", "moss")}
    return folder, {policy: answer(process)["regret"] for policy, process in started.items()}


def test_two_processes_that_compile_at_once_both_find_their_own_code_later(
    filled: tuple[Path, dict[str, list[float]]],
) -> None:
    folder, found = filled
    for policy, regret in found.items():
        assert answer(start(policy, PACKAGE.parent, folder)) == {"regret": regret, "compiled": 0}


def test_a_damaged_cache_is_compiled_anew(
    filled: tuple[Path, dict[str, list[float]]], tmp_path: Path
) -> None:
    folder = tmp_path / "cache"
    shutil.copytree(filled[0], folder)
    files = list(folder.rglob("*.nbc"))
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:100])
    again = answer(start("ucb", PACKAGE.parent, folder))
    assert again["regret"] == filled[1]["ucb"]
    assert again["compiled"] > 0
    assert answer(start("ucb", PACKAGE.parent, folder))["compiled"] == 0


def test_a_full_disk_ends_nothing(tmp_path: Path) -> None:
    import resource

    def limit() -> None:
        """Files of at most 500 bytes: what a full disk looks like to a program."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    folder = tmp_path / "cache"
    assert answer(start("ucb", PACKAGE.parent, folder, preexec_fn=limit))["compiled"] > 0
    assert list(folder.rglob("*.nbc")) == []
    assert [path for path in folder.rglob(".*") if path.is_file()] == []


class TestOverloads:
    def test_each_key_has_its_own_contents(self, tmp_path: Path) -> None:
        # Two that know nothing of each other, as two processes would be.
        one, other = _Overloads(tmp_path, "play"), _Overloads(tmp_path, "play")
        assert one.load("a") is None
        one.save("a", 1)
        other.save("b", 2)
        one.save("c", 3)
        assert [files.load(key) for files in (one, other) for key in "abc"] == [1, 2, 3, 1, 2, 3]
        one.save("a", 4)
        assert other.load("a") == 4

    def test_what_belongs_to_another_key_is_not_returned(self, tmp_path: Path) -> None:
        files = _Overloads(tmp_path, "play")
        files.save("a", 1)
        files._path("a").rename(files._path("b"))
        assert files.load("b") is None

    def test_flush_forgets_one_function_and_no_other(self, tmp_path: Path) -> None:
        one, other = _Overloads(tmp_path, "play-1"), _Overloads(tmp_path, "play-2")
        one.save("a", 1)
        other.save("a", 2)
        one.flush()
        assert (one.load("a"), other.load("a")) == (None, 2)


class TestDigest:
    @pytest.fixture
    def packages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        for package in (*KERNEL_PACKAGES, "theory"):
            (tmp_path / package / "inner").mkdir(parents=True)
            (tmp_path / package / "inner" / "one.py").write_text("x = 1\n", encoding="utf-8")
        monkeypatch.setattr(cache, "_PACKAGE", tmp_path)
        return tmp_path

    @staticmethod
    def digest() -> str:
        found: str = cache.kernel_digest.__wrapped__()
        return found

    @pytest.mark.parametrize("package", KERNEL_PACKAGES)
    def test_changes_with_every_file_of_every_package(self, packages: Path, package: str) -> None:
        before, file = self.digest(), packages / package / "inner" / "one.py"
        file.write_text("x = 2\n", encoding="utf-8")
        edited = self.digest()
        file.rename(file.with_name("two.py"))
        renamed = self.digest()
        file.with_name("two.py").unlink()
        assert len({before, edited, renamed, self.digest()}) == 4
        file.write_text("x = 1\n", encoding="utf-8")
        assert self.digest() == before

    def test_does_not_change_with_other_packages(self, packages: Path) -> None:
        before = self.digest()
        (packages / "theory" / "inner" / "one.py").write_text("x = 2\n", encoding="utf-8")
        (packages / "policies" / "notes.txt").write_text("x", encoding="utf-8")
        assert self.digest() == before


def test_library_code_outside_these_rooms_is_refused() -> None:
    def function() -> None: ...

    for module in ("structuredbandits.theory._bounds", "structuredbandits"):
        function.__module__ = module
        with pytest.raises(ImportError, match="add its package to KERNEL_PACKAGES"):
            require_kernel_package(function)
    for module in ("structuredbandits.policies.custom", "mine", "structuredbanditsandmore.x", None):
        function.__module__ = module  # type: ignore[assignment]
        require_kernel_package(function)


class TestFolder:
    def root(self, monkeypatch: pytest.MonkeyPatch, **variables: str) -> Path:
        for name in ("STRUCTUREDBANDITS_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        cache._temporary_root.cache_clear()
        return cache._cache_root()

    def test_is_where_the_user_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.root(monkeypatch, STRUCTUREDBANDITS_CACHE_DIR="/x") == Path("/x")
        assert self.root(monkeypatch, XDG_CACHE_HOME="/y") == Path("/y/structuredbandits")
        assert self.root(monkeypatch, HOME="/z") == Path("/z/.cache/structuredbandits")

    def test_a_user_without_a_home_has_one(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def homeless(user: int) -> None:
            raise KeyError(user)

        monkeypatch.delenv("HOME")
        monkeypatch.setattr(pwd, "getpwuid", homeless)
        monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
        root = self.root(monkeypatch)
        assert root == tmp_path / f"structuredbandits-{os.getuid()}"
        assert root.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("trap", ["open to all", "a link", "a file"])
    def test_a_folder_that_others_may_have_made_is_not_used(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trap: str
    ) -> None:
        monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
        expected = tmp_path / f"structuredbandits-{os.getuid()}"
        if trap == "open to all":
            expected.mkdir()
            expected.chmod(0o777)
        elif trap == "a link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            expected.symlink_to(tmp_path / "elsewhere")
        else:
            expected.touch()
        cache._temporary_root.cache_clear()
        root = cache._temporary_root()
        cache._temporary_root.cache_clear()
        assert root != expected
        assert root.parent == tmp_path
        assert root.stat().st_mode & 0o777 == 0o700

    def test_only_the_newest_generations_are_kept(self, tmp_path: Path) -> None:
        for age in range(7):
            folder = tmp_path / f"kernels-{age}"
            folder.mkdir()
            os.utime(folder, (1000 - age, 1000 - age))
        (tmp_path / "mine").mkdir()
        cache._forget_old_generations(tmp_path)
        kept = sorted(path.name for path in tmp_path.iterdir())
        assert kept == ["kernels-0", "kernels-1", "kernels-2", "kernels-3", "mine"]
