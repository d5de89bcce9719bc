"""The commands around a service: keys, doctor, backup and restore, and what serve refuses."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from structuredbandits.cli.main import run


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def test_keys_doctor_and_backup_from_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Ended:
        capsys.readouterr()
        return Ended(run(arguments), *capsys.readouterr())

    made = call("keys", "create", "--db", "a.db", "--scopes", "admin", "--label", "mine")
    assert made.code == 0
    assert made.out.startswith("sb_")
    number = made.out.split("_")[1]
    assert number in call("keys", "list", "--db", "a.db").out
    assert call("doctor", "--db", "a.db").code == 0
    assert call("backup", "a.backup", "--db", "a.db").code == 0
    restored = call("restore", "a.backup", "--db", "b.db")
    assert restored.out.startswith("0 experiments, 0 subjects, 0 decisions, 1 keys restored")
    assert number in call("keys", "list", "--db", "b.db").out
    assert call("keys", "revoke", number, "--db", "b.db").code == 0
    for wrong, sentence in [
        (("keys", "create", "--db", "a.db", "--scopes", "everything"), "no scope 'everything'"),
        (("keys", "create", "--db", "a.db", "--experiment", "none"), "no experiment 'none'"),
        (("keys", "revoke", "x", "--db", "a.db"), "no key 'x'"),
        (("backup", "b.backup", "--db", "none.db"), "the database none.db does not exist"),
        (("restore", "a.backup", "--db", "b.db"), "is not empty"),
        (("restore", "none.backup", "--db", "c.db"), "none.backup cannot be read"),
        (("serve", "--insecure", "--host", "0.0.0.0"), "--insecure is refused on '0.0.0.0'"),
        (("serve", "--port", "70000"), "--port is 70000"),
        (("serve", "--db", "mysql://x/y"), "'mysql'"),
    ]:
        ended = call(*wrong)
        assert ended.code == 2, wrong
        assert sentence in ended.err
    assert call("doctor", "--db", "none.db").code == 1
    assert not Path("none.db").exists()
