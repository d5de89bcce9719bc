"""Write docs/statements.md from the recorded figures."""

from __future__ import annotations

from typing import Any

from benchmarks.report import DOCS, recorded, table

PAGE = DOCS / "statements.md"
COMMAND = "python -m benchmarks.statements --only {}"
_HEAD = """\
# Statistical statements

Every statement of the library that holds with a probability, on one page: what it promises, under
which assumption, how to measure it, and the last measured figure. `python -m benchmarks.statements`
measures all of them (about an hour; `--quick` is a trial); `--record` writes this page.
`tests/statistical` holds smaller versions with fixed seeds and stated error rates.

"""


def write() -> None:
    """Write the page from what is recorded."""
    PAGE.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the page as recorded figures make it."""
    return _HEAD + _summary() + _off_policy() + _notes()


def _rows(part: str) -> list[dict[str, Any]]:
    data = recorded(f"statements-{part}")
    return [] if data is None else list(data["rows"])


def _measured(part: str, unit: str) -> str:
    return "; ".join(
        f"{row['case']}: {_percent(row['measured'])} of {row['runs']:,} {unit}"
        for row in _rows(part)
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if 0.0 < share < 0.001 else f"{100 * share:.1f} %"


def _summary() -> str:
    learned = "; ".join(
        f"{row['case']}: {_percent(row['measured'])} of {row['runs']:,} means, bias "
        f"{row['bias']:+.3f}"
        for row in _rows("learned-tables")
    )
    certified = "; ".join(
        f"{row['case']}: {_percent(row['measured'])} wrong of {row['runs']:,} runs, "
        f"{_percent(row['certified'])} certified"
        for row in _rows("identification")
    )
    sets = "; ".join(
        f"{row['case']}: {_percent(row['measured'])} (bound {_percent(row['promised'])})"
        for row in _rows("sets")
    )
    lifts = "; ".join(
        f"{row['case']}: {_percent(row['measured'])} of {row['runs']:,} (one-look intervals "
        f"{_percent(1.0 - row['peeking'])}), width {row['width']:.2f}"
        for row in _rows("lift")
    )
    answers = [row for row in _rows("off-policy") if row["coverage"] is not None]
    worst = min((row["coverage"] for row in answers), default=float("nan"))
    logs = min((row["logs"] for row in answers), default=0)
    lines = [
        [
            "**Confidence set** of Algorithm-C (`-c` policies)",
            "the true θ is outside the set after t rewards with probability at most 2K t^(1−α)",
            "independent rewards of the structure's family: σ-sub-Gaussian, Bernoulli, or within "
            "limits; θ in Θ; between grid points with sound cells only",
            "sets",
            sets + f"; {_rows('sets')[0]['runs']:,} runs each" if sets else "",
        ],
        [
            "**Refutation** (`diagnostics().refuted`, the console's fit)",
            "a true structure is ever called refuted with probability at most 1 %, looked at after "
            "every reward. A set of subjects is pooled by the product of their e-values, mixed "
            "over shares of subjects whom the map does not describe: at most 1 % for given "
            "subjects at all times, and for the latest subjects at one look",
            "rewards of the structure's family: σ-sub-Gaussian, Bernoulli, or within limits; means "
            "of a learned map are drawn from its posterior; subjects are independent given the map",
            "refutation",
            "ever called refuted within 5,000 rewards, on correct structures: "
            + _measured("refutation", "runs"),
        ],
        [
            "**Best arm** (`identify` with `track` or `round-robin`)",
            "an answer with confidence 1 − δ or more is wrong with probability at most δ, whenever "
            "the search stops",
            "independent rewards that are normal with the structure's σ, or within limits; θ in Θ; "
            "between grid points with sound cells. Without cells a too coarse grid gets a warning "
            "and no certificate",
            "identification",
            f"δ = 5 %: {certified}",
        ],
        [
            "**Off-policy intervals** (`evaluate`, the console's baseline)",
            "at least 93 % of the intervals given at level 0.95 cover the value",
            "logged probabilities are right and have a floor; subjects are independent, or one "
            "stream whose arms do not change. Rewards without limits get no interval from fewer "
            "than 4 degrees of freedom",
            "off-policy",
            f"smallest coverage of all settings below: {_percent(worst)} ({logs:,} logs each)",
        ],
        [
            "**Lift** over a holdout group (`lift`)",
            "with probability 0.95 the interval contains the difference after every decision since "
            "its start, so that a policy without effect is ever called clear in at most 5 % of "
            "the experiments",
            "subjects are independent and assigned at random; asymptotic: it starts when both "
            "groups have 20 subjects and 10 degrees of freedom. At most 1.6 times as wide as an "
            "interval for one look from 4.5 to 51 times the information at the start",
            "lift",
            f"covers at every time, in experiments looked at after every decision: {lifts}",
        ],
        [
            "**Standard errors** of learned means (`learn`, structure files)",
            "about 95 % of the means are within 1.96 standard errors",
            "rows are independent, or the log has the probabilities of its choices; σ is pooled "
            "over cells",
            "learned-tables",
            learned,
        ],
        [
            "**Mean regret ± standard error** in the tables of `simulate`, `sweep` and `reproduce`",
            "about 95 % of the true means are within 1.96 standard errors",
            "50 runs or more; regret is skewed, so fewer runs cover less",
            "result-tables",
            "100 runs of 200 rounds: " + _measured("result-tables", "tables"),
        ],
        [
            "**Mean reward ± standard error** in the console and the API",
            "nothing beyond independent decisions: the decisions of one subject are correlated, so "
            "the error is too small if subjects differ",
            "decisions are independent",
            "console",
            "mean ± 1.96 standard errors covers: " + _measured("console", "logs"),
        ],
    ]
    body = [
        [what, promise, given, f"`{COMMAND.format(part)}`", figure]
        for what, promise, given, part, figure in lines
    ]
    dates = [data["date"] for part in PARTS if (data := recorded(f"statements-{part}"))]
    return table(["statement", "promise", "assumption", "command", "last measured"], body) + (
        f"\nMeasured on {max(dates)}.\n" if dates else ""
    )


PARTS = (
    "sets",
    "refutation",
    "identification",
    "off-policy",
    "lift",
    "learned-tables",
    "result-tables",
    "console",
)


def _off_policy() -> str:
    rows = _rows("off-policy")
    if not rows:
        return ""
    keys = sorted({(r["n"], r["rewards"], r["log"], r["floor"], r["target"]) for r in rows})
    body = []
    for key in keys:
        own = [r for r in rows if (r["n"], r["rewards"], r["log"], r["floor"], r["target"]) == key]
        own.sort(key=lambda row: ("ips", "snips", "dr").index(row["method"]))
        n, rewards, log, floor, target = key
        body.append(
            [
                f"{n:,}",
                rewards,
                log,
                f"{floor:g}",
                target,
                " / ".join(_coverage(r["coverage"]) for r in own),
                " / ".join(_coverage(r["coverage_before"]) for r in own),
                " / ".join("–" if r["width"] is None else f"{r['width']:.2f}" for r in own),
                f"{max(r['refused'] for r in own):.1%}",
            ]
        )
    columns = [
        "n",
        "rewards",
        "log",
        "floor",
        "policy in question",
        "coverage, %",
        "normal interval, %",
        "width",
        "refused",
    ]
    return (
        "\n## Off-policy intervals by setting\n\n"
        "Coverage at level 0.95 of the intervals given, for ips / snips / dr, with that of the "
        "normal interval on the same logs; the median width relative to it; and the largest share "
        "of logs without an answer. Logs are those of a bandit that shows the arm that looks best, "
        "with a floor: one stream, or subjects of ten decisions with a hidden kind. *rare arm* is "
        "always the worst one, *learning* a policy that learns from the logged history, and the "
        "model of dr is wrong.\n\n" + table(columns, body)
    )


def _coverage(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _notes() -> str:
    return (
        "\nThe limits of the intervals (betting below 200 degrees of freedom, none below 4 without "
        "limits of the rewards, and when weights count as lost) were chosen on 33,000 other "
        "random logs of 550 settings: two to five arms with random means, floors of 0.01 to 0.4, "
        "200 to 4,000 decisions.\n"
    )
