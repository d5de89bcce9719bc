"""`structuredbandits recommend`: which policy to use with a structure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.simulate import whole_number

if TYPE_CHECKING:
    from structuredbandits.recommendation import GainByLength, Recommendation

_COMMAND = "structuredbandits recommend"
RECOMMEND_EXAMPLES = examples(
    f"{_COMMAND} movielens",
    f"{_COMMAND} movielens --horizon 50 --delay 5",
    f"{_COMMAND} shop.structure --horizon 200 --runs 500",
    f"{_COMMAND} dose --horizon 1000 --policies ts-c,ucb-c,posterior --json",
)
_ANSWER = (
    "policy",
    "arm",
    "pays_from",
    "horizon",
    "runs",
    "delay",
    "seed",
    "exact",
    "left_out",
)
_LENGTHS = (
    "lengths",
    "policies",
    "always",
    "arm",
    "pays_from",
    "structure_pays_from",
    "runs",
    "delay",
    "seed",
    "left_out",
)
_BAR = 12  # letters of the longest bar


def recommend(
    structure: Annotated[
        str,
        typer.Argument(
            metavar="STRUCTURE",
            show_default=False,
            help="A .structure file, or the name of an embedded problem.",
        ),
    ],
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="T",
            parser=whole_number,
            show_default="5 to 5,000",
            help="Number of interactions per visitor.",
        ),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            show_default="a selection",
            help="Candidates, separated by commas; always and prior-index are always added.",
        ),
    ] = None,
    delay: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number,
            help="Number of interactions after which a reward arrives.",
        ),
    ] = 0,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default="200, or 100 without --horizon",
            help="Number of simulated visitors.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", parser=whole_number, help="Equal seeds give equal results.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Draw gain against the number of interactions as .png, .svg or .pdf.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
) -> None:
    """Recommend a policy, with the reward it should earn and the uncertainty of that number.

    The candidates are simulated on the structure and compared with showing one option to everybody.
    Each run draws what the structure leaves open: the visitor type, and the true means. Without
    --horizon the gain is drawn against the number of interactions.
    """
    from structuredbandits import recommendation
    from structuredbandits.cli import choices
    from structuredbandits.errors import InvalidInput

    if out is not None and horizon is not None:
        raise InvalidInput("--out draws all numbers of interactions; leave out --horizon.")
    target = choices.read_target(structure, [], horizon)
    settings: dict[str, Any] = {"delay": delay, "seed": seed}
    if runs is not None:
        settings["runs"] = runs
    if policies is not None:
        settings["candidates"] = list(choices.read_policies(policies, target).names)
    progress: Literal["off", "lines"] = "off" if quiet else "lines"
    if horizon is None:
        found = recommendation.gain_by_length(target.structure, progress=progress, **settings)
        _show_lengths(found, out, as_json)
    else:
        answer = recommendation.recommend(target.structure, horizon, progress=progress, **settings)
        _show_answer(answer, as_json)


def _show_answer(answer: Recommendation, as_json: bool) -> None:
    from structuredbandits.cli.output import print_json, print_table
    from structuredbandits.recommendation.numbers import significant

    if as_json:
        data = {key: getattr(answer, key) for key in _ANSWER}
        print_json(data | {"candidates": [one._asdict() for one in answer.candidates]})
        return
    columns = ["policy", "reward", "gain", "±", "gain %", "regret", "wins", "best"]
    print_table(
        columns,
        (
            [
                one.policy,
                significant(one.reward),
                significant(one.gain),
                significant(1.96 * one.gain_error, 2),
                f"{one.percent:+.3g}" if one.percent == one.percent else "–",
                significant(one.regret),
                f"{one.wins:.0%}",
                f"{one.best:.2f}",
            ]
            for one in answer.candidates
        ),
        right=columns[1:],
    )
    print(
        "reward, gain: per interaction, gain compared with always; regret: per run; wins: runs "
        "better\nthan always; best: probability to be the best candidate."
    )
    print(answer)
    _print_left_out(answer.left_out)


def _show_lengths(found: GainByLength, out: Path | None, as_json: bool) -> None:
    from structuredbandits.cli.output import print_json, print_table
    from structuredbandits.recommendation.numbers import significant

    if out is not None:
        from structuredbandits.plots import gain_plot, save

        save(gain_plot(found), out)
    if as_json:
        data = {key: getattr(found, key) for key in _LENGTHS}
        arrays = {"gain": found.gain.tolist(), "error": found.error.tolist()}
        print_json(data | arrays | {"file": None if out is None else str(out)})
        return
    top = max(float(found.gain.max()), 0.0)
    rows = []
    for place, length in enumerate(found.lengths):
        best, rival = found.best(place), found.policies.index("prior-index")
        gain = float(found.gain[best, place])
        bar = "█" * round(_BAR * gain / top) if top > 0 else ""
        mark = " ← types pay" if length == found.structure_pays_from else ""
        rows.append(
            [
                f"{length:,}",
                significant(float(found.gain[rival, place])),
                found.policies[best],
                significant(gain),
                f"{found.percent(best, place):+.3g}" if found.always > 0 else "–",
                bar + mark,
            ]
        )
    columns = ["interactions", "prior-index", "best policy", "gain", "gain %", ""]
    print_table(columns, rows, right=("interactions", "prior-index", "gain", "gain %"))
    print(
        f"Gain per interaction compared with showing {found.arm} to everybody, which earns "
        f"{significant(found.always)}."
    )
    print(found)
    _print_left_out(found.left_out)
    if out is not None:
        print(f"Figure: {out}")


def _print_left_out(left_out: dict[str, str]) -> None:
    for name, reason in left_out.items():
        print(f"{name} was left out: {reason}")
