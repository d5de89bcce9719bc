"""One printable HTML page about a lift: a sentence, a chart over time, and a table."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from structuredbandits._version import __version__
from structuredbandits.errors import FileError
from structuredbandits.holdout import Lift, LiftInterval, lift_sentence, readable_time
from structuredbandits.report._stylesheet import STYLE
from structuredbandits.report.lift_wording import (
    baseline_words,
    interval_words,
    ratio_words,
    relative_words,
)

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 760, 300, 70, 40, 12
_PRINT = """
.headline { font-size: 1.5rem; line-height: 1.3; font-weight: 600; max-width: 44rem; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif;
  fill: var(--soft); } .band { fill: var(--link); opacity: .18; } .line { fill: none;
  stroke: var(--link); stroke-width: 2; } .zero { stroke: var(--ink); stroke-width: 1; }
.axis { stroke: var(--line); stroke-width: 1; }
@page { margin: 18mm; }
@media print { :root { --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --link: #0b5cad; }
  body { padding: 0; } }
"""


def write_lift_page(found: Lift, path: str | Path) -> Path:
    """Write the page of a lift and return its path."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(lift_page(found), encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"the page cannot be written to {str(target)!r} ({error.strerror or error}); choose "
            "another folder."
        ) from error
    return target


def lift_page(found: Lift) -> str:
    """Return the page of a lift."""
    ratio = found.sample_ratio
    name, level = escape(found.name), f"{100 * found.level:g} %"
    rows = _row("decision", found.per_decision)
    more = ""
    if found.per_subject is not None:
        rows += _row("subject", found.per_subject)
        sentence = lift_sentence(found.per_subject, found.name, found.level, "subject")
        more = f"<p>{escape(sentence)}.</p>"
    warning = ' class="failed"' if ratio.fits is False else ' class="soft"'
    borrowed = baseline_words(found.borrowed)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lift: {name}</title><style>{STYLE}{_PRINT}</style></head><body>
<h1>Lift of the policy over the holdout group</h1>
<p class="headline">{escape(str(found))}.</p>
{more}
<h2>Difference in {name} per decision over time</h2>
{_chart(found)}
<p class="soft">The line is the difference between the groups, the band its {level} interval. The
interval holds at every time: looking often does not make it wrong.</p>
<h2>Numbers</h2>
<div class="table"><table><thead><tr><th>{name} per</th><th>policy</th><th>holdout</th>
<th>difference</th><th>{level} interval</th><th>relative</th><th>{level} interval</th>
<th>clear since</th></tr></thead><tbody>{rows}</tbody></table></div>
<p>{found.decisions:,} decisions of {found.subjects:,} subjects: {ratio.policy:,} in the policy
group, {ratio.holdout:,} in the holdout group.</p>
<p{warning}>{escape(ratio_words(ratio))}</p>
{f"<p>{escape(borrowed)}</p>" if borrowed else ""}
<p class="soft">Intervals are clustered by subject. “Clear since” is the time from which the
interval has excluded 0 until now. Made by structuredbandits {escape(__version__)}.</p>
</body></html>
"""


def _row(per: str, one: LiftInterval) -> str:
    since = "–" if one.clear_since is None else readable_time(one.clear_since)
    cells = (
        per,
        f"{one.policy:.4g}",
        f"{one.holdout:.4g}",
        f"{one.difference:+.4g}",
        interval_words(one),
        *relative_words(one),
        since,
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _chart(found: Lift) -> str:
    """Return an SVG of the difference and its interval, from the start of the interval on."""
    path = found.path[np.isfinite(found.path).all(axis=1)]
    if len(path) < 2:
        return '<p class="soft">There is too little data for a chart.</p>'
    # The widest intervals at the start are cut off.
    floor, ceiling = np.quantile(path[:, 2], 0.1), np.quantile(path[:, 3], 0.9)
    low, high = min(float(floor), 0.0), max(float(ceiling), 0.0)
    low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    first, last = float(path[0, 0]), float(path[-1, 0])
    across, up = _WIDTH - _LEFT - 10, _HEIGHT - _BOTTOM - _TOP

    def points(column: int) -> list[str]:
        x = _LEFT + (path[:, 0] - first) / (last - first) * across
        y = _TOP + (high - np.clip(path[:, column], low, high)) / (high - low) * up
        return [f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)]

    zero = _TOP + high / (high - low) * up
    band = " ".join(points(3) + points(2)[::-1])
    base = _TOP + up
    begin, end = f"{first:,.0f} decisions", f"{last:,.0f} decisions"
    if found.path_times is not None:
        places = np.flatnonzero(np.isfinite(found.path).all(axis=1))
        begin += f", {readable_time(found.path_times[places[0]])}"
        end += f", {readable_time(found.path_times[places[-1]])}"
    title = escape(f"Difference in {found.name} per decision with its interval")
    return f"""<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img"
aria-label="{title}">
<line class="axis" x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{base}"/>
<polygon class="band" points="{band}"/>
<line class="zero" x1="{_LEFT}" y1="{zero:.1f}" x2="{_LEFT + across}" y2="{zero:.1f}"/>
<polyline class="line" points="{" ".join(points(1))}"/>
<text x="{_LEFT - 6}" y="{zero + 4:.1f}" text-anchor="end">0</text>
<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{high:+.3g}</text>
<text x="{_LEFT - 6}" y="{base}" text-anchor="end">{low:+.3g}</text>
<text x="{_LEFT}" y="{base + 22}">{escape(begin)}</text>
<text x="{_LEFT + across}" y="{base + 22}" text-anchor="end">{escape(end)}</text>
</svg>"""
