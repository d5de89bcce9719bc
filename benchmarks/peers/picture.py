"""The measurements as a log-log picture, one panel a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PANELS = (
    ("interactive", "K", "one pull and update from Python", "arms K"),
    ("simulator", "K", "simulators", "arms K"),
    ("simulator", "parameters", "UCB-C, K = 18", "size of Θ"),
    ("simulator", "runs", "UCB, K = 3", "runs at once"),
    ("simulator", "T", "longer runs, K = 18", "rounds T"),
)


def draw(data: dict[str, Any], path: Path) -> None:
    """Draw all panels into a file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(18, 10), constrained_layout=True)
    names = list(dict.fromkeys(point["who"] for point in data["points"]))
    others = [name for name in names if name != "structuredbandits"]
    palette = plt.get_cmap("tab20").colors[2:]  # type: ignore[attr-defined]
    colours = {"structuredbandits": "C0", **dict(zip(others, palette[::2] + palette[1::2]))}  # noqa: B905
    styles = {
        "ucb": "-",
        "ts": "--",
        "ts-beta": ":",
        "ucb-c": "-.",
        "ts-c": (0, (5, 1, 1, 1, 1, 1)),
    }
    for (kind, against, title, label), ax in zip(PANELS, axes.flat[:-1], strict=True):
        chosen = [p for p in data["points"] if p["kind"] == kind and p["against"] == against]
        lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for point in chosen:
            key = (point["who"], point["policy"])
            lines.setdefault(key, []).append((point["at"], point["seconds"] * 1e9))
        for (who, policy), line in lines.items():
            xs, ys = zip(*sorted(line), strict=True)
            style: Any = styles.get(policy, "-")
            mine = who == "structuredbandits"
            ax.loglog(xs, ys, linestyle=style, marker=".", color=colours[who],
                      linewidth=2.5 if mine else 1.2, label=f"{who}: {policy}")  # fmt: skip
        ax.set(title=title, xlabel=label, ylabel="ns a round")
        ax.grid(True, which="major", alpha=0.3)
        if against != "K":
            ax.legend(fontsize=8)
    # The two panels over K hold most of the lines; their names have a panel of their own.
    shown = {
        text: line
        for ax in axes.flat[:2]
        for line, text in zip(*ax.get_legend_handles_labels())  # noqa: B905
    }
    axes.flat[-1].axis("off")
    axes.flat[-1].legend(shown.values(), shown.keys(), loc="center", ncols=2, title="over K")
    figure.suptitle(f"Cost of a round, one core, {data['date']}")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
