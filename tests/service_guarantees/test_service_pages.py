"""What the pages and the container files say about the service is so."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer
import yaml

from structuredbandits.cli.main import app, run
from structuredbandits.client import Client
from tests.service_guarantees.servers import Launcher, Server

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/service.md").read_text(encoding="utf-8")


def known_options() -> dict[str, set[str]]:
    """The options of each command, and the variables that stand for one."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    found = {}
    for name, command in commands.items():
        inner = getattr(command, "commands", {"": command})
        found[name] = {
            told
            for one in inner.values()
            for option in one.params
            for told in (*option.opts, *([option.envvar] if option.envvar else []))
        }
    return found


def test_every_option_on_the_page_is_one_of_the_command() -> None:
    options = known_options()
    every = set().union(*options.values())
    for option in set(re.findall(r"`(--[a-z-]+)`", PAGE)):
        assert option in options["serve"], option
    for command, rest in re.findall(r"^structuredbandits (\w+)([^\n]*)$", PAGE, re.MULTILINE):
        for option in re.findall(r"(?<= )--[a-z-]+", rest):
            assert option in options[command], (command, option)
    assert "STRUCTUREDBANDITS_DB" in every


def test_the_defaults_on_the_page_are_those_of_the_command() -> None:
    serve = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    defaults = {option.opts[0]: option.default for option in serve.params}
    settings = PAGE.split("## Settings")[1].split("## ")[0]
    told = re.findall(r"^\| `(--[a-z-]+)` \| ([^|]+) \|", settings, re.MULTILINE)
    assert len(told) >= 5
    for option, shown in told:
        value = defaults[option]
        expected = "off" if value is False else f"{value:g}" if isinstance(value, float) else value
        assert shown.strip("` ") == str(expected), option


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))
    assert len(named) >= 8
    for path in named:
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"`((?:deploy|benchmarks)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path


def test_the_container_files_use_what_the_command_has() -> None:
    options = known_options()["serve"]
    image = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    (command,) = re.findall(r"^CMD (\[.*\])$", image, re.MULTILINE)
    words = yaml.safe_load(command)
    assert words[0] == "serve"
    assert {word for word in words if word.startswith("--")} <= options
    assert "STRUCTUREDBANDITS_DB=" in image
    # No secret may be part of the files, and no replica may run without a password.
    compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"))
    for name in ("bandits", "bandits-2"):
        variables = compose["services"][name]["environment"]
        assert set(variables) <= options
        assert "${POSTGRES_PASSWORD:?" in variables["STRUCTUREDBANDITS_DB"]
        assert all(port.startswith("127.0.0.1:") for port in compose["services"][name]["ports"])


def commands_of_the_page() -> list[str]:
    """Every line that the page tells a reader to type into a shell."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return "".join(blocks).replace("\\\n", " ").splitlines()


def test_the_commands_of_the_page_run(
    launch: Launcher,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the order of the page, in one folder; all but what installs or needs containers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRUCTUREDBANDITS_DB", str(tmp_path / "bandits.db"))
    server, keys, done = None, [], 0
    for line in commands_of_the_page():
        words = shlex.split(line, comments=True)
        if words[0] in ("pip", "export", "docker", "kubectl"):
            continue
        if words[0] == "curl":
            assert server is not None
            play(server, keys[0])
            there = line.replace("http://127.0.0.1:8000", server.url)
            subprocess.run(there, shell=True, check=True, env=os.environ | {"KEY": keys[0]})
            assert "next-cursor:" in (tmp_path / "head.txt").read_text(encoding="utf-8").lower()
        elif words[1] == "serve":
            here = [str(tmp_path / word) if word.endswith(".db") else word for word in words[2:]]
            server = launch.start(*here)
        else:
            given = [keys[-1].split("_")[1] if word == "3f2a9c01d4e5" else word for word in words]
            assert run(given[1:]) == 0, line
            told = capsys.readouterr().out
            keys += re.findall(r"^sb_\S+$", told, re.MULTILINE)
        done += 1
    assert server is not None
    server.stop()
    assert (len(keys), (tmp_path / "new.db").exists()) == (3, True)
    assert done >= 8


def play(server: Server, key: str) -> None:
    """Some decisions with rewards, so that there is something to export."""
    with Client(server.url, key) as client:
        for number in range(30):
            decision = client.decide("movielens", f"visitor-{number % 5}")
            client.reward(decision, 3.0 + number % 2)
