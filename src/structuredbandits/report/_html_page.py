"""One self-contained HTML page: figures, settings, numbers, and which claims held."""

from __future__ import annotations

import base64
import csv
import struct
from collections.abc import Sequence
from html import escape
from pathlib import Path

from structuredbandits._version import __version__
from structuredbandits.errors import FileError
from structuredbandits.experiments.experiment import PAPER, Claim
from structuredbandits.experiments.runner import Kept
from structuredbandits.report._stylesheet import STYLE
from structuredbandits.report.wording import setting_words, verdict

_MOST_ROWS = 60


def write_report(kept: Sequence[Kept], path: str | Path) -> Path:
    """Write the page of finished experiments and return its path."""
    target = Path(path)
    sections = "\n".join(_section(one) for one in kept)
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Structured bandits: the figures reproduced</title><style>{STYLE}</style></head><body>
<h1>Structured bandits: the figures reproduced</h1>
<p class="soft">The experiments of Gupta, Chaudhari, Mukherjee, Joshi and Yağan, “A unified approach
to translate classical bandit algorithms to the structured bandit setting”, and two beyond them.
Made by structuredbandits {escape(__version__)}; the command under each title, with this version,
reproduces the same numbers.</p>
{_overview(kept)}
{sections}
</body></html>
"""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"the report cannot be written to {str(target)!r} ({error.strerror or error}); choose "
            "another folder."
        ) from error
    return target


def _overview(kept: Sequence[Kept]) -> str:
    """How many claims held, figure by figure, and which did not."""
    claims = [claim for one in kept for claim in one.claims if claim.of == PAPER]
    held = sum(claim.held for claim in claims)
    rows = "".join(
        f'<tr><td><a href="#{one.experiment.id}">{one.experiment.id}</a></td>'
        f"<td>{escape(one.experiment.title)}</td><td>{_score(one)}</td></tr>"
        for one in kept
    )
    failed = "".join(
        f'<li><a href="#{one.experiment.id}">{one.experiment.id}</a>: {escape(claim.text)} '
        f'<span class="soft">({escape(claim.statistic)})</span></li>'
        for one in kept
        for claim in one.claims
        if claim.of == PAPER and not claim.held
    )
    text = f"<p><strong>{held} of {len(claims)} claims of the paper held here.</strong>"
    if failed:
        text += f" These did not:</p><ul>{failed}</ul>"
    else:
        text += "</p>"
    return (
        f'{text}<div class="table"><table><thead><tr><th>id</th><th>figure</th>'
        f"<th>claims that held</th></tr></thead><tbody>{rows}</tbody></table></div>"
        '<p class="soft">A claim that one policy has smaller regret than another holds if the 95 % '
        "interval of the mean difference, run by run on the same rewards, lies below 0; “no worse” "
        "holds unless it lies above 0. ± is half that interval.</p>"
    )


def _score(one: Kept) -> str:
    if not one.claims:
        return "–"
    return f"{sum(claim.held for claim in one.claims)} of {len(one.claims)}"


def _section(one: Kept) -> str:
    pictures = "".join(_picture(one, name) for name in one.pictures)
    said = [claim for claim in one.claims if claim.of == PAPER]
    beyond = [claim for claim in one.claims if claim.of != PAPER]
    command = f"structuredbandits reproduce {one.experiment.id} --seed {one.seed}"
    if one.experiment.runs and one.runs != one.experiment.runs:
        command += f" --runs {one.runs}"
    return f"""<section id="{one.experiment.id}"><h2>{escape(one.experiment.title)}</h2>
<p>{escape(one.experiment.shows)}</p>
<p class="soft"><code>{command}</code></p>
<div class="pictures">{pictures}</div>
{_claims("What the paper says", said)}{_claims("Beyond the paper", beyond)}
<details><summary>Settings</summary><dl>{_settings(one)}</dl></details>
<details><summary>Numbers</summary>
<div class="table">{_table(one.folder / "table.csv")}</div></details>
</section>"""


def _picture(one: Kept, name: str) -> str:
    data = (one.folder / f"{name}.png").read_bytes()
    # The header of a PNG holds its width and height; figures are displayed at half their size.
    width, height = struct.unpack(">II", data[16:24])
    words = name.replace("-", " ")
    coded = base64.b64encode(data).decode()
    return (
        f'<figure><img width="{width // 2}" height="{height // 2}" '
        f'alt="{escape(one.experiment.title)}: {escape(words)}" '
        f'src="data:image/png;base64,{coded}"></figure>'
    )


def _claims(title: str, claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    rows = "".join(
        f'<tr><td class="{"held" if claim.held else "failed"}">{verdict(claim)}</td>'
        f"<td>{escape(claim.text)}</td><td class='soft'>{escape(claim.statistic)}</td></tr>"
        for claim in claims
    )
    return f'<h3>{title}</h3><table class="claims"><tbody>{rows}</tbody></table>'


def _settings(one: Kept) -> str:
    return "".join(
        f"<dt>{escape(str(key).replace('_', ' '))}</dt><dd>{escape(setting_words(value))}</dd>"
        for key, value in one.settings.items()
    )


def _table(path: Path) -> str:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    head = "".join(f"<th>{escape(text)}</th>" for text in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_number(text))}</td>" for text in row) + "</tr>"
        for row in rows[1 : _MOST_ROWS + 1]
    )
    more = len(rows) - 1 - _MOST_ROWS
    note = f"<p class='soft'>and {more} more rows in table.csv</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _number(text: str) -> str:
    try:
        return f"{float(text):.5g}"
    except ValueError:
        return text
