"""`python -m benchmarks.identification`: pulls until the best arm is certain, by rule.

The table is written to docs/identification.md, below the text that stands there in this file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import structuredbandits as sb
from structuredbandits.identification.identify import RULES
from structuredbandits.structure.theta import show_theta

PAGE = Path(__file__).parents[1] / "docs" / "identification.md"
LIMIT = 50_000
TEXT = """# Which arm is the best?

`sb.identify` pulls arms until one of them is the best for certain, and then stops.

```python
import structuredbandits as sb

found = sb.identify("three-arms", theta=1.5, delta=0.05, seed=1)
print(found.answer, found.stopping_times[0], found.confidence[0])
```

With `rewards=` (a function that pulls an arm, given by name, and returns its reward) the search is
a real one. With `budget=` it uses exactly so many pulls and says how certain the answer is then.

**When it stops.** Let m(θ) = Σ_k n_k (μ̂_k − μ_k(θ))² / 2σ_k². The mean over Θ of exp(m(θ*) − m(θ))
is a supermartingale, so that, with probability at least 1 − δ, it never reaches 1/δ at the true θ*.
The θ below 1/δ are plausible, and the search ends when one arm is the best at all of them. Nothing
in this depends on which arms were pulled, nor on when one looks.

**Where it looks.** `track` pulls in the proportions w that maximise the smallest
Σ_k w_k (μ_k(θ̂) − μ_k(λ))² / 2σ_k² over the λ with another best arm, θ̂ being the best fit.
`round-robin` pulls in turn the arms whose means vary over the plausible θ. `lucb` and
`track-and-stop` are the usual rules for arms that know nothing of one another; the latter stops by
the common threshold log((1 + log t)/δ), which is not proven to keep δ.

"""


def measure(runs: int, delta: float) -> list[str]:
    lines = [
        f"## Mean number of rewards, δ = {delta:g}",
        "",
        f"Mean ± standard error of {runs} runs, and the share of wrong answers. A search ends "
        f"after {LIMIT:,} rewards at the latest; ≥ marks rows in which some did. `movielens` has "
        "rewards of the learned means with σ = 2 here, as the promise is about structures that are "
        "right. Made by `python -m benchmarks.identification`.",
        "",
        "| problem | θ | " + " | ".join(RULES) + " |",
        "|---|---|" + "---:|" * len(RULES),
    ]
    for name in ("three-arms", "movielens"):
        problem = sb.load_problem(name)
        for theta in problem.thetas:
            cells = []
            for rule in RULES:
                found = sb.identify(
                    problem.structure, theta, rule=rule, delta=delta, runs=runs, max_rounds=LIMIT
                )
                error = found.stopping_times.std(ddof=1) / np.sqrt(runs)
                mark = "" if found.finished.all() else "≥ "
                wrong = f"{found.error_rate:.0%} wrong"
                cells.append(f"{mark}{found.stopping_time:,.0f} ± {error:,.0f}, {wrong}")
                print(f"{name} {show_theta(theta)} {rule}: {cells[-1]}", flush=True)
            lines.append(f"| {name} | {show_theta(theta)} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    lines = measure(asked.runs, asked.delta)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(TEXT + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
