"""The common style of all figures: colours, lines, sizes, and how figures are saved.

Colours can be distinguished with any colour vision. Nothing here uses a display or global state, so
pictures can be drawn anywhere, also in threads. A policy's colour comes from its registration.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet
from zlib import crc32

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from structuredbandits.errors import FileError, InvalidInput
from structuredbandits.policies.labels import split_settings
from structuredbandits.policies.registration import COLOURS, description_of, registered

if TYPE_CHECKING:
    from structuredbandits.policies.algorithm import Algorithm

Line = str | tuple[float, tuple[float, ...]]

BLUE, VERMILLION, GREEN, ORANGE = (
    COLOURS[name] for name in ("blue", "vermillion", "green", "orange")
)
PURPLE, SKY, BLACK = COLOURS["purple"], COLOURS["sky"], COLOURS["black"]
WINE, OLIVE, INDIGO, TEAL, BROWN = (
    COLOURS[name] for name in ("wine", "olive", "indigo", "teal", "brown")
)
PALETTE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK, WINE, OLIVE)
"""Colours in the order in which arms get them."""

INK, PALE = "#222222", "#B5B5B5"
TITLE_SIZE, LABEL_SIZE, TICK_SIZE, SMALL_SIZE = 13.0, 12.0, 11.0, 10.0
LINE_WIDTH = 2.0

_SOLID: Line = "-"
_DASHED: Line = (0.0, (4.0, 1.6))
_DOTTED: Line = (0.0, (1.0, 1.3))
_DASH_DOT: Line = (0.0, (5.0, 1.4, 1.2, 1.4))
_DASH_DOT_DOT: Line = (0.0, (5.0, 1.4, 1.2, 1.4, 1.2, 1.4))

_LINES: dict[str, Line] = {
    "solid": _SOLID,
    "dashed": _DASHED,
    "dotted": _DOTTED,
    "dash-dot": _DASH_DOT,
}
# A classical policy and its structured forms share a colour; the line style distinguishes them.
_STRUCTURED: dict[str, Line] = {"": _DASHED, "-c": _SOLID, "-cj": _DASH_DOT_DOT}


class _Extra(NamedTuple):
    """How an informative step changes the style of a structured policy."""

    shade: float
    line: Line
    marker: str


# Dark to light, and with own markers, since they share a colour with what they extend.
_INFORMATIVE = {
    "-kl": _Extra(-0.45, _SOLID, "o"),
    "-entropy": _Extra(0.30, _DOTTED, "s"),
    "-differential": _Extra(0.15, _DASH_DOT_DOT, "D"),
    "-random": _Extra(0.50, _DASH_DOT, "^"),
}
_ENDINGS = re.compile(
    r"^(?P<base>.+?)(?P<c>-cj|-c)?(?P<extra>-kl|-entropy|-differential|-random)?$"
)
_FORMATS = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_DOTS_PER_INCH = 160
_AIR = 0.09  # inches
# The ids in an SVG depend on a salt that Matplotlib keeps in global state.
_saving = Lock()
_styled: WeakSet[Axes] = WeakSet()


class CurveStyle(NamedTuple):
    """The style of a curve."""

    colour: str
    line: Line
    marker: str
    """A marker at a few points of the curve; empty for none."""


def look_of(label: str) -> CurveStyle:
    """Return the style of a policy, which is the same in every figure.

    A classical policy is dashed, its structured form is solid and of the same colour; policies
    that exist only in a structured form are dashed and dotted. Parameters in parentheses change
    the shade.

    Parameters
    ----------
    label
        The policy's name, such as "ucb-c" or "UCB-C(alpha=2)".

    Examples
    --------
    >>> look_of("ucb-c").colour == look_of("UCB").colour
    True
    >>> look_of("ucb-c").line
    '-'
    """
    text = re.sub(r"\s+", "", str(label)).casefold().replace("_", "-")
    name, settings = split_settings(text)
    shade = 0.0 if not settings else (-0.35, 0.3, 0.45)[crc32(settings.encode()) % 3]
    known = registered()
    if name in known:
        return CurveStyle(shaded(_colour_of(name, known), shade), _line_of(known[name]), "")
    found = _ENDINGS.match(name)
    base = found["base"] if found else name
    ending, extra = (found["c"] or "", found["extra"] or "") if found else ("", "")
    colour, line = _colour_of(base, known), _STRUCTURED[ending]
    if not extra:
        return CurveStyle(shaded(colour, shade), line, "")
    change = _INFORMATIVE[extra]
    return CurveStyle(shaded(shaded(colour, change.shade), shade), change.line, change.marker)


def _colour_of(name: str, known: Mapping[str, type[Algorithm]]) -> str:
    """Return the registered colour, or one derived from the name."""
    colour = description_of(known[name]).colour if name in known else None
    if colour is None:
        return (PURPLE, OLIVE, WINE, TEAL, INDIGO, BROWN)[crc32(name.encode()) % 6]
    return COLOURS.get(colour, colour)


def _line_of(algorithm: type[Algorithm]) -> Line:
    line = description_of(algorithm).line
    return _LINES[line or ("dashed" if algorithm.classical else "dash-dot")]


def colour_of(label: str) -> str:
    """Return the colour of a policy, which is the same in every figure.

    Examples
    --------
    >>> colour_of("ts-c")
    '#D55E00'
    """
    return look_of(label).colour


def arm_look(position: int) -> CurveStyle:
    """Return the style of an arm by its position: first colours change, then lines.

    Examples
    --------
    >>> arm_look(0).colour, arm_look(0).line, arm_look(9).colour == arm_look(0).colour
    ('#0072B2', '-', True)
    """
    round_, place = divmod(position, len(PALETTE))
    line = (_SOLID, _DASHED, _DOTTED, _DASH_DOT, _DASH_DOT_DOT)[round_ % 5]
    return CurveStyle(PALETTE[place], line, "")


def shaded(colour: str, amount: float) -> str:
    """Return a colour mixed with white (amount above 0) or black (below 0).

    Examples
    --------
    >>> shaded("#000000", 0.5), shaded("#ffffff", -1.0)
    ('#808080', '#000000')
    """
    if amount == 0.0:
        return colour
    goal = 1.0 if amount > 0 else 0.0
    share = abs(amount)
    red, green, blue = ((1 - share) * part + share * goal for part in to_rgb(colour))
    return to_hex((red, green, blue))


def readable(colour: str, contrast: float = 3.6) -> str:
    """Return a colour for text on white, darkened until it has enough contrast.

    Parameters
    ----------
    colour
        A colour such as #0072B2.
    contrast
        The smallest contrast ratio, as defined by the accessibility guidelines (WCAG).

    Examples
    --------
    >>> readable("#0072B2"), readable("#E69F00")
    ('#0072B2', '#b37c00')
    """
    amount = 0.0
    while 1.05 / (0.05 + _luminance(shaded(colour, -amount))) < contrast:
        amount += 0.02
    return shaded(colour, -amount)


def _luminance(colour: str) -> float:
    parts = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour))
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


class Picture(Figure):
    """A figure that a notebook displays without further settings."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()


def figure(width: float = 6.4, height: float = 4.0, *, arranged: bool = False) -> Figure:
    """Return an empty figure without a window, which styles all axes added to it.

    Parameters
    ----------
    width, height
        In inches.
    arranged
        True to let Matplotlib fit the layout to the labels of axes that `add_subplot` adds.
    """
    made = Picture(figsize=(width, height))
    if arranged:
        # A little more padding than usual: names at the border would touch it.
        made.set_layout_engine("constrained", w_pad=_AIR, h_pad=_AIR)
    FigureCanvasAgg(made)
    made.add_axobserver(_style_all)
    return made


def _style_all(made: Figure) -> None:
    for axes in made.axes:
        apply_style(axes)


def apply_style(axes: Axes) -> None:
    """Apply the library's style to axes."""
    if axes in _styled:
        return
    _styled.add(axes)
    axes.tick_params(labelsize=TICK_SIZE, colors=INK, width=0.8, length=3.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_fontsize(LABEL_SIZE)
        axis.label.set_color(INK)
        axis.offsetText.set_fontsize(TICK_SIZE)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(0.8)
        spine.set_color(INK)


def title(axes: Axes, text: str, pad: float = 6.0) -> None:
    """Put a title above the left end of axes, `pad` points away."""
    axes.set_title(text, loc="left", fontsize=TITLE_SIZE, color=INK, pad=pad)


def heading(drawn: Figure, text: str) -> None:
    """Write a bold heading into the upper left corner of a figure."""
    width, height = drawn.get_size_inches()
    drawn.text(
        0.15 / width,
        1 - 0.1 / height,
        text,
        fontsize=TITLE_SIZE,
        color=INK,
        va="top",
        fontweight="bold",
        parse_math=False,
    )


def spread(places: Iterable[float], least: float, low: float, high: float) -> list[float]:
    """Move places apart as little as needed to keep a minimal distance.

    Parameters
    ----------
    places
        The preferred places of labels.
    least
        The smallest distance between two of them.
    low, high
        The allowed range; if it is too narrow they extend beyond `low`.

    Examples
    --------
    >>> spread([0.5, 0.5, 0.9], 0.1, 0.0, 1.0)
    [0.45, 0.55, 0.9]
    """
    wanted = list(places)
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    # Neighbours that are too close become one block around their common middle.
    blocks: list[tuple[float, int]] = []
    for i in order:
        middle, size = min(max(wanted[i], low), high), 1
        blocks.append((middle, size))
        while len(blocks) > 1 and _overlap(blocks[-2], blocks[-1], least):
            (a, m), (b, n) = blocks[-2:]
            both = (a * m + b * n) / (m + n)
            half = least * (m + n - 1) / 2
            blocks[-2:] = [(max(min(both, high - half), low + half), m + n)]
    found = [0.0] * len(wanted)
    places_in_order = (
        round(middle + least * (k - (size - 1) / 2), 12)
        for middle, size in blocks
        for k in range(size)
    )
    for i, place in zip(order, places_in_order, strict=True):
        found[i] = place
    return found


def _overlap(first: tuple[float, int], second: tuple[float, int], least: float) -> bool:
    (a, m), (b, n) = first, second
    return b - a < least * (m + n) / 2 - 1e-12


def save(drawn: Figure, path: str | PathLike[str]) -> Path:
    """Write a figure to a file; equal figures give equal files.

    Parameters
    ----------
    drawn
        The figure.
    path
        Its extension selects the format: .png, .svg or .pdf.
    """
    if not isinstance(path, str | PathLike) or "\0" in str(path):
        raise InvalidInput(
            f"{path!r} is not a file name; give one that ends in .png, .svg or .pdf."
        )
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in _FORMATS:
        raise InvalidInput(f"{target.name!r} has an unknown format; end it in .png, .svg or .pdf.")
    with _saving, matplotlib.rc_context({"svg.hashsalt": "structuredbandits"}):
        try:
            drawn.savefig(
                target,
                format=ending[1:],
                dpi=_DOTS_PER_INCH,
                metadata=_FORMATS[ending],
                facecolor="white",
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise FileError(
                f"{target} cannot be written: {reason}; choose a folder that exists."
            ) from error
    return target
