"""Options of `serve` from one TOML file and from environment variables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from structuredbandits.cli.main import app
from tests.cli.conftest import Ended


def options() -> dict[str, Any]:
    """The options of `serve` by name, without --config and --help."""
    group: Any = typer.main.get_command(app)
    found = {one.name: one for one in group.commands["serve"].params}
    return {name: one for name, one in found.items() if name != "config"}


def parsed(*arguments: str) -> dict[str, Any]:
    """What `serve` would be called with."""
    group: Any = typer.main.get_command(app)
    command = group.commands["serve"]
    settings = dict(command.context_settings)
    return dict(command.make_context("serve", list(arguments), **settings).params)


NAMES = sorted(options())


@pytest.mark.parametrize("name", NAMES)
def test_each_option_is_read_from_the_file_and_from_the_environment(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "serve.toml"
    default = parsed()[name]
    is_flag = isinstance(default, bool)
    file.write_text(f"{name} = {'true' if is_flag else 7}\n", encoding="utf-8")
    from_file = parsed("--config", str(file))[name]
    assert from_file != default
    assert is_flag or float(from_file) == 7.0
    if name == "structure":  # an argument
        assert parsed("--config", str(file), "9")[name] == "9"
        return
    monkeypatch.setenv(f"STRUCTUREDBANDITS_{name.upper()}", "false" if is_flag else "9")
    from_environment = parsed("--config", str(file))[name]
    assert from_environment is False if is_flag else float(from_environment) == 9.0
    if not is_flag:
        option = f"--{name.replace('_', '-')}"
        assert float(parsed("--config", str(file), option, "11")[name]) == 11.0
    monkeypatch.setenv("STRUCTUREDBANDITS_CONFIG", str(file))
    assert parsed()["config"] == file


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prot = 1", "has an option 'prot'"),
        ("port = [1]", "port is [1]; give a text, a number or true"),
        ("port = ", "is not a TOML file"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(
    call: Callable[..., Ended], tmp_path: Path, content: str | None, message: str
) -> None:
    file = tmp_path / "serve.toml"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    ended = call("serve", "--config", str(file))
    assert ended.code == 2
    assert message in ended.err
