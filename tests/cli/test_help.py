"""The help teaches by example, and every example in it is a command that is understood."""

import re
import shlex
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import structuredbandits as sb
from structuredbandits.cli import simulate as command
from tests.cli.conftest import Ended


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_the_help_names_every_command(
    call: Callable[..., Ended], arguments: tuple[str, ...]
) -> None:
    ended = call(*arguments)
    assert (ended.code, ended.err) == (0, "")
    for name in ("simulate", "problems", "policies", "--version", "Examples:"):
        assert name in ended.out


def test_every_option_of_simulate_is_explained(call: Callable[..., Ended]) -> None:
    text = call("simulate", "--help").out
    options = "policies theta horizon runs seed out n-jobs json quiet"
    for option in options.split():
        assert re.search(rf"--{option}\b.*\w", text), option


def test_the_examples_are_understood(
    call: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    sb.load_structure("setup").save("shop.structure")
    done = []
    monkeypatch.setattr(command, "_simulate", lambda *work, **_: done.append(work) or stop())
    texts = [call(*arguments).out for arguments in [("--help",), ("simulate", "--help")]]
    lines = [line.strip() for text in texts for line in text.split("Examples:")[1].splitlines()]
    examples = [shlex.split(line)[1:] for line in lines if line]
    assert len(examples) == 9
    for example in examples:
        ended = call(*example)
        assert ended.code in (0, 130), (example, ended.err)
    assert len(done) == len([example for example in examples if example[0] == "simulate"])


def stop() -> None:
    """End a command where the work would begin."""
    raise KeyboardInterrupt


def test_the_version_is_printed(call: Callable[..., Ended]) -> None:
    assert call("--version") == (0, f"structuredbandits {version('structuredbandits')}\n", "")
