"""Plot loss against time: one point per library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.quality.summary import Losses

OWN, OTHER = "#1f7a4a", "#5b6770"
TITLES = {"all tables": "All tables", "other half": "Other half"}
MEASURES = {"mean_excess": "mean excess over the best loss, %", "rank": "mean rank"}
SMALL_EXCESS = 1.0  # per cent; the axis is linear below and logarithmic above
# Places of a label around its point, in points of the page: to the right, left, above and below, and further away.
PLACES = [(8, 0, "left"), (-8, 0, "right"), (0, 10, "center"), (0, -10, "center"),
          (7, 11, "left"), (7, -11, "left"), (-7, 11, "right"), (-7, -11, "right")]  # fmt: skip


def draw(losses: Losses, path: Path) -> None:
    """Save mean excess and mean rank against the total fit time; Sapwood's levels of effort are joined.

    Where some table has no times of all libraries, the CPU time stands in for them.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    masks = losses.groups()
    shown = [group for group in TITLES if group in masks]
    figure = Figure(figsize=(5.6 * len(shown), 8.4), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(MEASURES), len(shown), squeeze=False)
    labels = []
    for column, group in enumerate(shown):
        found = losses.figures(masks[group])
        is_timed = found[0].n_timed == sum(masks[group])
        for row, measure in enumerate(MEASURES):
            points = {one.library: (one.seconds if is_timed else one.cpu, getattr(one, measure)) for one in found}
            panel = panels[row, column]
            panel.set_xlabel(f"total {'fit time with two threads' if is_timed else 'CPU time of the fits'}, seconds")
            panel.set_ylabel(MEASURES[measure])
            if measure == "mean_excess":
                panel.set_yscale("symlog", linthresh=SMALL_EXCESS)
                panel.yaxis.set_major_formatter("{x:g}")
            _draw_panel(panel, points)
            labels.append((panel, points))
        panels[0, column].set_title(f"{TITLES[group]} ({sum(masks[group])})", fontsize=12)
    figure.draw_without_rendering()  # labels are placed where the layout has put the points
    figure.set_layout_engine("none")
    for panel, points in labels:
        _label_points(panel, points)
    figure.savefig(path, dpi=figure.dpi)


def _draw_panel(panel: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Draw a point with its name for each library."""
    own = sorted(point for name, point in points.items() if name.startswith("sapwood"))
    if own:
        panel.plot(*zip(*own, strict=True), color=OWN, linewidth=1.4, zorder=1)
    for name, point in points.items():
        panel.scatter(*point, s=42, color=OWN if name.startswith("sapwood") else OTHER, zorder=2)
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
    panel.margins(x=0.22, y=0.14)
    panel.set_ylim(bottom=0)
    panel.grid(color="#e3e6e8", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _label_points(panel: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Write each name beside its point, at the first place in the panel where it covers no point and no other name."""
    from matplotlib.transforms import Bbox

    renderer = panel.figure.canvas.get_renderer()
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in panel.transData.transform(list(points.values()))]
    for name, point in points.items():
        is_own = name.startswith("sapwood")
        for number, (x, y, side) in enumerate(PLACES, start=1):
            text = panel.annotate(
                name, point, xytext=(x, y), textcoords="offset points", ha=side, va="center", fontsize=10,
                color=OWN if is_own else OTHER, fontweight="bold" if is_own else "normal",
            )  # fmt: skip
            box = text.get_window_extent(renderer)
            is_inside = panel.bbox.x0 < box.x0 and box.x1 < panel.bbox.x1
            if number == len(PLACES) or (is_inside and not box.count_overlaps(taken)):
                taken.append(box)
                break
            text.remove()
