"""`python -m benchmarks.maps`: what a learned map is worth, written to docs/learning.md.

Three tables: all segments of MovieLens, maps that are wrong by a known amount, and maps of kinds
that had no part in finding any setting. Every simulation is kept in --cache, so that an
interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import platform
from pathlib import Path

import pandas as pd

import structuredbandits as sb
from benchmarks import learned_maps
from structuredbandits.experiments import movielens_all, robustness
from structuredbandits.experiments.experiment import Request

ROOT = Path(__file__).parents[1]
PAGE, IMAGES = ROOT / "docs" / "learning.md", ROOT / "docs" / "images"
TEXT = """# Structures learned from data

A map of means that was learned from a sample is wrong by sampling error, and a policy that takes it
for the truth can be wrong for ever. This page says what the library offers for that, and what it
measured. `python -m benchmarks.maps` makes the tables.

## What the policies assume

`learn_structure` gives every mean its standard error. The hierarchical policies use them: the true
mean of arm k at θ is the learned one plus normal noise of that size, and θ has a prior. What has
been seen of a subject then says how plausible each θ is *and* corrects the arms' means themselves.

- `hierarchical` samples from that posterior, as Thompson sampling does. If the model holds, the
  Bayesian regret bounds of Thompson sampling apply.
- `hierarchical-c` does the same among the arms that are best at some θ within the map's bounds. Its
  set contains the true θ as Appendix A's does; no regret bound is proved.
- `hierarchical-index` pulls the arm with the largest mean plus what doubt is worth over the rounds
  to come. It needs a horizon, and nothing is proved for it.
- Any policy with `(robust=c)` chooses as that policy until rewards refute the map, and pulls every
  arm at least c·log t times. That costs c·log t times the gap of each arm, and no error stays
  unseen.

With exact means `hierarchical` is posterior sampling; with a map that says nothing it is Thompson
sampling. Both limits are tests.
"""


_HEADS = {
    "of_ts": "÷ ts",
    "of_ts_c": "÷ ts-c",
    "of_ts_estimated": "÷ ts (estimated σ)",
    "of_limit": "÷ limit",
    "worst_of_ts": "worst ÷ ts",
}


def _markdown(table: pd.DataFrame, digits: dict[str, int]) -> str:
    head = "| " + " | ".join(_HEADS.get(column, column) for column in table) + " |"
    rule = "|" + "|".join("---:" if column in digits else "---" for column in table) + "|"
    rows = [
        "| "
        + " | ".join(
            f"{value:.{digits[column]}f}" if column in digits else str(value)
            for column, value in zip(table.columns, row, strict=True)
        )
        + " |"
        for row in table.itertuples(index=False)
    ]
    return "\n".join([head, rule, *rows])


def _stored(path: Path, make: object) -> pd.DataFrame:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made: pd.DataFrame = make()  # type: ignore[operator]
        made.to_parquet(path)
    return pd.read_parquet(path)


def movielens_part(rows: pd.DataFrame, runs: int) -> str:
    """The table of all segments, its picture, and which aims were met."""
    table = movielens_all.summary(rows)
    picture = movielens_all.spread_figure(rows)
    picture.savefig(IMAGES / "movielens-segments.png", dpi=100)
    shown = _markdown(
        table, dict.fromkeys(table.columns[1:4], 0) | dict.fromkeys(table.columns[4:], 2)
    )
    aims = "\n".join(
        f"- {claim.text}: {'yes' if claim.held else '**no**'}, {claim.statistic}."
        for claim in movielens_all.claims(table)
    )
    return f"""
## MovieLens, every segment

Half of the ratings make the map, rewards come from the other half; {rows["split"].nunique()} random
halves, {runs} runs of 5,000 rounds in each of the about 105 segments. Regret is averaged over runs
and splits; *largest* is that of the worst segment, *worst ÷ ts* the largest ratio to Thompson
sampling (σ = 2) in any segment. `{movielens_all.LIMIT}` knows the means
that rewards really have: no policy that has to learn can be expected to reach it.

{shown}

{aims}

![Regret of every segment as a share of Thompson sampling's](images/movielens-segments.png)

No setting was chosen on these second halves: `doubt` was found on resplits of first halves, and
everything else is as the model says.
"""


def unseen_part(table: pd.DataFrame) -> str:
    """Kinds of maps that no setting was chosen on."""
    wide = table.pivot(index="policy", columns="map", values="of_limit")[
        [kind.name for kind in learned_maps.KINDS]
    ].reset_index()
    worst = table.pivot(index="policy", columns="map", values="worst_of_ts")[
        [kind.name for kind in learned_maps.KINDS]
    ].reset_index()
    digits = {kind.name: 2 for kind in learned_maps.KINDS}
    kinds = "\n".join(
        f"- *{kind.name}*: {kind.arms} arms, {kind.thetas} θ, "
        + (f"noise {kind.noise:g}" if kind.noise else "rewards 0 or 1")
        for kind in learned_maps.KINDS
    )
    return f"""
## Maps of other kinds

Six kinds of maps that had no part in finding any setting, drawn at random and learned from samples
of the sizes in `benchmarks/learned_maps.py` (8 maps a kind, 10 θ, 20 runs, 5,000 rounds):

{kinds}

Mean regret as a multiple of the limit's (posterior sampling with the true map):

{_markdown(wide, digits)}

The largest ratio to Thompson sampling's regret at any map and θ:

{_markdown(worst, digits)}
"""


def wrong_part(table: pd.DataFrame) -> str:
    """Maps that are wrong by a known amount."""
    robustness.robustness_figure(table).savefig(IMAGES / "robustness.png", dpi=100)
    errors = list(dict.fromkeys(table["error"]))
    wide = table.pivot(index="policy", columns="error", values="of_ts")[errors]
    wide = wide.loc[list(dict.fromkeys(table["policy"]))].reset_index()
    return f"""
## Maps that are wrong

Every mean of a map of 30 θ and 8 arms is off by so many of its standard errors; in the adversarial
one an arm that the map calls the worst everywhere is the best everywhere. Regret as a share of
Thompson sampling's, 5,000 rounds:

{_markdown(wide, dict.fromkeys(errors, 2))}

![Regret against the error of the map](images/robustness.png)

A policy that believes its map pays for errors beyond what the standard errors allow. Refutation
(`robust=`) sees errors only in arms that are pulled, hence the forced pulls: a larger c costs more
while the map is right and bounds the damage when it lies. Ask `policy.diagnostics()` how plausible
the map still is, and `sb.recommend(structure, horizon=…)` which policy suits a map.
"""


def main() -> None:
    """Simulate what is missing and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.maps")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cache", type=Path, default=Path(".maps"))
    options = parser.parse_args()
    request = Request(options.runs, 0, 2, sb.simulate)
    rows = _stored(
        options.cache / "movielens.parquet", lambda: movielens_all.regret_by_segment(request)
    )
    unseen = _stored(options.cache / "unseen.parquet", learned_maps.shares)
    wrong = _stored(options.cache / "wrong.parquet", lambda: robustness.regret_by_error(request))
    made = (
        f"\nMade on {datetime.date.today()} with version {sb.__version__}, {platform.machine()}.\n"
    )
    parts = [TEXT, movielens_part(rows, options.runs), unseen_part(unseen), wrong_part(wrong), made]
    PAGE.write_text("".join(parts), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
