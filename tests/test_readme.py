"""The code and the commands of README.md run and give the output shown."""

import re
import shlex
from pathlib import Path

import pytest

from structuredbandits.cli import simulate as command
from structuredbandits.cli.main import run
from tests.documents import run_code

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Every Python block with the output shown after it."""
    found = []
    for place, (language, code) in enumerate(BLOCKS):
        if language == "python":
            after, shown = BLOCKS[place + 1]
            assert after == "text", f"no output is shown after:\n{code}"
            found.append((code, shown))
    return found


def test_the_first_screen_has_what_a_newcomer_needs() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    first_code = lines.index("```python")
    assert first_code < 15
    assert lines.index("```", first_code) - first_code - 1 <= 13
    assert any("docs/images/" in line for line in lines[:45])


@pytest.mark.parametrize("place", range(len(examples())))
def test_the_code_prints_what_is_shown(place: int, tmp_path: Path) -> None:
    code, shown = examples()[place]
    assert run_code(code, tmp_path) == shown


def test_every_file_that_is_named_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", README)
    places = [link or source for link, source in links]
    assert len(places) > 5
    for place in places:
        if not place.startswith("https://"):
            assert (ROOT / place).exists(), place


def test_the_commands_lead_to_a_picture_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_simulate", stop)  # slow, and tested elsewhere
    monkeypatch.chdir(tmp_path)
    (shop,) = [code for code, _ in examples() if "shop.save" in code]
    text = "\n".join(code for language, code in BLOCKS if language == "console")
    lines = [shlex.split(line) for line in text.splitlines() if line]
    assert len(lines) >= 4
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for program, *arguments in lines:
        if program == "make":
            assert f"\n{arguments[0]}:" in makefile
        elif program == "python":
            assert arguments == ["shop.py"]
            run_code(shop, tmp_path)
        else:
            assert program == "structuredbandits"
            assert run(arguments) in (0, 130), (arguments, capsys.readouterr().err)
    assert (tmp_path / "pictures" / "regions.png").exists()


def test_the_picture_is_made_by_its_script(tmp_path: Path) -> None:
    script = ROOT / "docs" / "images" / "draw.py"
    code = (
        "from pathlib import Path\n"
        "from runpy import run_path\n"
        f"run_path({str(script)!r})['draw'](Path(), runs=1, longest=60)\n"
    )
    run_code(code, tmp_path)
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {Path(source).name for source in re.findall(r'src="([^"]+)"', README)}
