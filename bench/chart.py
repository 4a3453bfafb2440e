"""Plot the ratios of a run: a panel per workload, a bar per library."""

from __future__ import annotations

from pathlib import Path

from bench.report import amount, times
from bench.run import Record

OWN, WORSE, BETTER = "#2a7f4f", "#b9c2c9", "#d98c4a"
COLUMNS = 3
LONGEST = 8.0


def draw(run: Record, path: Path) -> None:
    """Save a bar chart: grey is slower than Sapwood, orange faster; bars are cut off at ``LONGEST``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    records = [record for record in run["workloads"] if any(r["ratio"] is not None for r in record["results"])]
    if not records:
        return
    tallest = max(len(record["results"]) for record in records)
    rows = -(-len(records) // COLUMNS)
    figure = Figure(figsize=(4.6 * COLUMNS, rows * (0.24 * tallest + 0.7)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, COLUMNS, squeeze=False).flat
    for panel in panels:
        panel.set_axis_off()
    for panel, record in zip(figure.axes, records, strict=False):
        panel.set_axis_on()
        bars(panel, record)
        panel.set_ylim(tallest - 0.5, -0.5)
    figure.suptitle("Time or memory as a multiple of Sapwood's (longer is worse)", fontsize=12)
    figure.savefig(path, dpi=110)


def bars(panel, record: Record) -> None:  # type: ignore[no-untyped-def]
    """Plot one workload."""
    results = record["results"]
    lengths = [min(result["ratio"], LONGEST) for result in results]
    colours = [OWN if r["family"] == "sapwood" else WORSE if r["ratio"] >= 1 else BETTER for r in results]
    drawn = panel.barh([result["contestant"] for result in results], lengths, color=colours, height=0.7)
    labels = [amount(r["best"], record["unit"]) if r["family"] == "sapwood" else times(r["ratio"]) for r in results]
    panel.bar_label(drawn, labels=labels, padding=3, fontsize=7)
    panel.axvline(1, color=OWN, linewidth=0.8)
    panel.set_title(record["name"], fontsize=9, loc="left")
    panel.set_xlim(0, 1.2 * max(lengths))
    panel.set_xticks([])
    panel.tick_params(axis="y", labelsize=7, length=0)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
