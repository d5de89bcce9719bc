"""`python -m benchmarks.experiments`: docs/experiments.md and its pictures, from full-size runs."""

from __future__ import annotations

import argparse
import platform
import re
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from PIL import Image

import structuredbandits as sb
from structuredbandits.experiments import experiment_ids, reproduce
from structuredbandits.experiments.experiment import PAPER, Claim
from structuredbandits.experiments.running import Kept
from structuredbandits.report import write_report
from structuredbandits.report.words import setting_words, verdict

DOCS = Path(__file__).parents[1] / "docs"
_WIDEST = 1300  # pixels
_MOST_BYTES = 150_000
_SETTINGS = ("problem", "policies", "theta", "horizon", "runs", "splits")


def shrink(source: Path, target: Path) -> None:
    """Store a picture in few bytes: at most so wide, and in as many colours as that allows."""
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    if picture.width > _WIDEST:
        height = round(picture.height * _WIDEST / picture.width)
        picture = picture.resize((_WIDEST, height), Image.Resampling.LANCZOS)
    target.parent.mkdir(parents=True, exist_ok=True)
    for colours in (256, 128, 64, 32):
        picture.quantize(colours, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= _MOST_BYTES:
            return
    raise SystemExit(f"{target} has {target.stat().st_size:,} bytes; draw it smaller.")


def rows_of(claims: Sequence[Claim]) -> list[str]:
    lines = ["", "| | claim | here |", "|---|---|---|"]
    for claim in claims:
        cells = (verdict(claim), claim.text, claim.statistic)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return lines


def section(one: Kept, docs: Path, stored: dict[bytes, Path]) -> list[str]:
    experiment = one.experiment
    lines = ["", f"## {experiment.title}", "", f"`{experiment.id}`. {experiment.shows}", ""]
    for name in one.pictures:
        # A picture that several figures share is stored once.
        path = stored.setdefault(
            (one.folder / f"{name}.png").read_bytes(),
            Path("images") / "experiments" / f"{experiment.id}-{name}.png",
        )
        shrink(one.folder / f"{name}.png", docs / path)
        lines += [f"![{experiment.title}: {name.replace('-', ' ')}]({path.as_posix()})", ""]
    told = [
        f"{key}: {setting_words(one.settings[key])}" for key in _SETTINGS if key in one.settings
    ]
    lines.append(f"Settings: {'; '.join(told)}; seed {one.seed}.")
    said = [claim for claim in one.claims if claim.of == PAPER]
    beyond = [claim for claim in one.claims if claim.of != PAPER]
    if said:
        lines += ["", "What the paper says:", *rows_of(said)]
    if beyond:
        lines += ["", "Beyond the paper:", *rows_of(beyond)]
    return lines


def page(kept: Sequence[Kept], docs: Path, seconds: float) -> str:
    claims = [claim for one in kept for claim in one.claims if claim.of == PAPER]
    held = sum(claim.held for claim in claims)
    head = f"""# The figures of the paper, made again

```console
structuredbandits reproduce all
```

simulates every figure of the paper at its full size and ends with one page, `report.html`, that
needs no other file; `reproduce three-arms` makes one of them, `--runs`, `--seed` and `--out` change
what their names say, `--format svg` (or `pdf`) adds vector pictures. Interrupted work goes on where
it stopped. In Python it is `structuredbandits.experiments.run("three-arms")`.

The reward functions of the paper are not public. Those here satisfy everything that its text and
captions state, so numbers differ from the published curves where the functions do, and claims are
what is compared. **{held} of {len(claims)} claims of the paper held**; where one did not, the table
says so with the number that decides. "Smaller" holds if the 95 % interval of the mean difference,
run by run on the same rewards, lies below 0; "no worse" holds unless it lies above 0; ± is half
that interval. Where one claim is about many θ, the interval is for all of them together.

This page was made by `python -m benchmarks.experiments` on {date.today().isoformat()} with
structuredbandits {sb.__version__}, Python {platform.python_version()}, in {seconds:.0f} s."""
    lines, stored = [head], dict[bytes, Path]()
    for one in kept:
        lines += section(one, docs, stored)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", default=list(experiment_ids()))
    parser.add_argument(
        "--runs", type=int, help="runs of every simulation; the paper's if left out"
    )
    parser.add_argument("--out", type=Path, required=True, help="where results and report.html go")
    parser.add_argument("--docs", type=Path, default=DOCS)
    asked = parser.parse_args()
    start = time.perf_counter()
    kept = reproduce(asked.ids, asked.out, runs=asked.runs, n_jobs=-1, progress="lines")
    write_report(kept, asked.out / "report.html")
    text = page(kept, asked.docs, time.perf_counter() - start)
    (asked.docs / "experiments.md").write_text(text, encoding="utf-8")
    print(f"{len(kept)} experiments in {asked.docs / 'experiments.md'}")


if __name__ == "__main__":
    main()
