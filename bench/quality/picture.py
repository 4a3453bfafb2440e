"""Plot loss against time: one point per library."""

from __future__ import annotations

from pathlib import Path

from bench.quality.summary import Losses

OWN, OTHER = "#2a7f4f", "#7a8791"
TITLES = {"all tables": "All tables", "other half": "Tables that no default was chosen on"}


def draw(losses: Losses, path: Path) -> None:
    """Save the mean excess over the best loss against the total fit time; Sapwood's levels of effort are joined."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    masks = losses.groups()
    shown = [group for group in TITLES if group in masks]
    for panel, group in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        points = {f.library: (f.seconds, f.mean_excess) for f in losses.figures(masks[group])}
        own = sorted(point for name, point in points.items() if name.startswith("sapwood"))
        panel.plot(*zip(*own, strict=True), color=OWN, linewidth=1.2, zorder=1)
        for name, (seconds, excess) in points.items():
            colour = OWN if name.startswith("sapwood") else OTHER
            panel.scatter(seconds, excess, color=colour, zorder=2)
            panel.annotate(name, (seconds, excess), xytext=(6, 4), textcoords="offset points", color=colour, fontsize=9)
        panel.set_xscale("log")
        panel.set_ylim(bottom=0)
        panel.margins(x=0.25, y=0.12)
        panel.set_xlabel("total fit time, seconds")
        panel.set_ylabel("mean excess over the best loss, %")
        panel.set_title(f"{TITLES[group]} ({sum(masks[group])})", fontsize=11)
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
