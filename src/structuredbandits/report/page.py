"""One self-contained HTML page: pictures, settings, numbers, and which claims held."""

from __future__ import annotations

import base64
import csv
from collections.abc import Sequence
from html import escape
from pathlib import Path

from structuredbandits._version import __version__
from structuredbandits.errors import FileError
from structuredbandits.experiments.experiment import Claim
from structuredbandits.experiments.running import Kept

_MOST_ROWS = 60
_STYLE = """
:root { --ink: #1d2530; --soft: #5b6675; --line: #dfe4ea; --paper: #fff; --yes: #00694e;
  --no: #a33b00; --tint: #f5f7f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf1; --soft: #a3adba; --line: #37414e;
  --paper: #14191f; --yes: #5fd0ab; --no: #ff9d66; --tint: #1c232b; } figure { background: #fff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .2rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
p, li { max-width: 46rem; }
.soft { color: var(--soft); }
figure { margin: 1rem 0; padding: .4rem; border-radius: .4rem; overflow-x: auto; }
img { max-width: 100%; height: auto; display: block; }
ul.claims { list-style: none; padding: 0; }
ul.claims li { padding: .35rem 0 .35rem 5.6rem; text-indent: -5.6rem; }
.held, .failed { display: inline-block; width: 5.1rem; text-indent: 0; font-weight: 600; }
.held { color: var(--yes); } .failed { color: var(--no); }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--soft); }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: .86rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap; font-variant-numeric: tabular-nums; }
nav a { display: inline-block; margin: 0 .9rem .2rem 0; color: inherit; }
"""


def write_report(kept: Sequence[Kept], path: str | Path) -> Path:
    """Write the page of some finished experiments; returns its path."""
    target = Path(path)
    sections = "\n".join(_section(one) for one in kept)
    links = "".join(f'<a href="#{one.experiment.id}">{one.experiment.id}</a>' for one in kept)
    claims = [claim for one in kept for claim in one.claims]
    held = sum(claim.held for claim in claims)
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Structured bandits: the figures reproduced</title><style>{_STYLE}</style></head><body>
<h1>Structured bandits: the figures reproduced</h1>
<p class="soft">structuredbandits {escape(__version__)}. The experiments of Gupta, Chaudhari,
Mukherjee, Joshi and Yağan, “A unified approach to translate classical bandit algorithms to the
structured bandit setting”. {held} of {len(claims)} claims held; the others say so below.</p>
<nav>{links}</nav>
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


def _section(one: Kept) -> str:
    pictures = "".join(_picture(one, name) for name in one.pictures)
    claims = "".join(_claim(claim) for claim in one.claims)
    settings = ", ".join(
        f"{escape(str(key))}: {escape(_shown(value))}" for key, value in one.settings.items()
    )
    return f"""<section id="{one.experiment.id}"><h2>{escape(one.experiment.title)}</h2>
<p class="soft">{escape(one.experiment.shows)} (<code>reproduce {one.experiment.id}</code>)</p>
{pictures}
<ul class="claims">{claims}</ul>
<p class="soft">{settings}</p>
<details><summary>numbers</summary>
<div class="table">{_table(one.folder / "table.csv")}</div></details>
</section>"""


def _picture(one: Kept, name: str) -> str:
    data = base64.b64encode((one.folder / f"{name}.png").read_bytes()).decode()
    text = f"{one.experiment.title}: {name.replace('-', ' ')}"
    return f'<figure><img alt="{escape(text)}" src="data:image/png;base64,{data}"></figure>'


def _claim(claim: Claim) -> str:
    word, kind = ("held", "held") if claim.held else ("did not", "failed")
    return (
        f'<li><span class="{kind}">{word}</span> {escape(claim.text)} '
        f'<span class="soft">— {escape(claim.statistic)}</span></li>'
    )


def _shown(value: object) -> str:
    if isinstance(value, list):
        text = ", ".join(str(part) for part in value[:8])
        return text + (f" … ({len(value)} in all)" if len(value) > 8 else "")
    return str(value)


def _table(path: Path) -> str:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_number(cell))}</td>" for cell in row) + "</tr>"
        for row in rows[1 : _MOST_ROWS + 1]
    )
    more = len(rows) - 1 - _MOST_ROWS
    note = f"<p class='soft'>and {more} rows more, in table.csv</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _number(cell: str) -> str:
    try:
        return f"{float(cell):.5g}"
    except ValueError:
        return cell
