"""Summarise runs: mean rank, wins, excess over the best loss, and times, for all tables and per kind of table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.quality.runs import Run, run_key
from bench.quality.tables import CHOICE, REPORT, STUDY_TABLES, StudyTable

# Number of threads of runs on an idle machine, whose times count. Losses hardly depend on it and are taken from all.
TIMED_THREADS = 2
# Losses below this fraction of the best constant's count as equal to it: there, a ratio of losses says nothing.
NEGLIGIBLE = 0.01


@dataclass(frozen=True)
class Figures:
    """One row of a table: a library on a group of tables. Excesses are per cent, times seconds.

    Times are those of the ``n_timed`` tables for which all libraries have some, CPU times those of all tables.
    """

    library: str
    rank: float
    wins: int
    mean_excess: float
    median_excess: float
    seconds: float
    typical_seconds: float
    cpu: float
    n_timed: int


@dataclass(frozen=True)
class Losses:
    """Mean losses over the seeds (tables, libraries), their excess over the best, and mean seconds.

    Brier scores and calibration errors are NaN for regression, times where no run had ``TIMED_THREADS`` threads.
    ``n_splits`` are the numbers of seeds of each table.
    """

    tables: tuple[StudyTable, ...]
    libraries: tuple[str, ...]
    loss: np.ndarray
    excess: np.ndarray
    seconds: np.ndarray
    cpu: np.ndarray
    brier: np.ndarray
    ece: np.ndarray
    n_splits: tuple[int, ...]

    @property
    def splits_text(self) -> str:
        """Number of splits in words."""
        low, high = min(self.n_splits), max(self.n_splits)
        return f"{low} of each table" if low == high else f"{low} to {high} of each table"

    @classmethod
    def collect(cls, runs: Mapping[str, Run], libraries: Sequence[str], max_rows: int, seeds: Sequence[int]) -> Losses:
        """Take the tables for which all libraries have runs, over the seeds that all have."""
        tables, values, n_splits = [], [], []
        for table in STUDY_TABLES:
            rows = [
                [runs[key] for library in libraries if (key := run_key(table, max_rows, seed, library)) in runs]
                for seed in seeds
            ]
            complete = [row for row in rows if len(row) == len(libraries)]
            if libraries and complete:
                tables.append(table)
                n_splits.append(len(complete))
                values.append([_mean_run(runs_of_one) for runs_of_one in zip(*complete, strict=True)])
        array = np.array(values).reshape(len(tables), len(libraries), len(LOSS_FIELDS) + 2)
        loss, constant, brier, ece, seconds, cpu = np.moveaxis(array, 2, 0)
        best = loss.min(axis=1, keepdims=True, initial=np.inf)
        excess = 100 * (loss - best) / np.maximum(best, NEGLIGIBLE * constant)
        return cls(tuple(tables), tuple(libraries), loss, excess, seconds, cpu, brier, ece, tuple(n_splits))

    def figures(self, chosen: Sequence[bool]) -> list[Figures]:
        """Summarise some of the tables, best mean rank first."""
        loss, excess, seconds, cpu = (a[np.array(chosen)] for a in (self.loss, self.excess, self.seconds, self.cpu))
        ranks = (loss[:, :, None] > loss[:, None, :]).sum(axis=2) + 0.5 * (
            (loss[:, :, None] == loss[:, None, :]).sum(axis=2) + 1
        )
        wins = loss == loss.min(axis=1, keepdims=True)
        is_timed = ~np.isnan(seconds).any(axis=1)
        seconds, n_timed = seconds[is_timed], int(is_timed.sum())
        typical = np.exp(np.log(seconds).mean(axis=0)) if n_timed else np.full(len(self.libraries), np.nan)
        found = [
            Figures(
                name, float(ranks[:, k].mean()), int(wins[:, k].sum()), float(excess[:, k].mean()),
                float(np.median(excess[:, k])), float(seconds[:, k].sum()), float(typical[k]),
                float(cpu[:, k].sum()), n_timed,
            )
            for k, name in enumerate(self.libraries)
        ]  # fmt: skip
        return sorted(found, key=lambda figures: figures.rank)

    def groups(self) -> dict[str, list[bool]]:
        """Return masks of tables: all, each half, each kind, each task."""
        masks = {"all tables": [True] * len(self.tables)}
        for half, title in ((CHOICE, "half that defaults were chosen on"), (REPORT, "other half")):
            masks[title] = [table.half == half for table in self.tables]
        for kind in sorted({kind for table in self.tables for kind in table.kinds}):
            masks[kind] = [kind in table.kinds for table in self.tables]
        for task in ("binary", "multiclass", "regression"):
            masks[task] = [table.task == task for table in self.tables]
        return {name: mask for name, mask in masks.items() if any(mask)}


LOSS_FIELDS = ("loss", "constant", "brier", "ece")


def _mean_run(runs: Sequence[Run]) -> list[float]:
    """Return the means of a library's runs over the seeds: of all for losses, of those that were timed for times.

    CPU times are those of all runs if none was timed.
    """
    timed = [run for run in runs if run["threads"] == TIMED_THREADS]
    losses = [np.mean([run.get(name, np.nan) for run in runs]) for name in LOSS_FIELDS]
    seconds = np.mean([run["seconds"] for run in timed]) if timed else np.nan
    return [*losses, seconds, np.mean([run["cpu"] for run in timed or runs])]


def markdown(losses: Losses) -> str:
    """Return all groups and all losses as markdown tables."""
    parts = []
    for name, mask in losses.groups().items():
        parts.append(f"## {name[0].upper()}{name[1:]} ({sum(mask)})\n")
        parts.append(_figures_table(losses.figures(mask)))
    has_classes = ~np.isnan(losses.brier).any(axis=1)
    if has_classes.any():
        parts.append(f"## Calibration ({has_classes.sum()} tables of classes)\n")
        parts.append(_calibration_table(losses, has_classes))
    parts.append("## Losses\n\nRMSE for regression, otherwise log loss; mean over the splits.\n")
    parts.append(_losses_table(losses))
    return "\n".join(parts)


def _figures_table(rows: Sequence[Figures]) -> str:
    n_timed = rows[0].n_timed
    titles = ("library", "mean rank", "wins", "mean excess", "median excess", f"total time ({n_timed} tables)",
              "geometric mean", "CPU time")  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "| --- |" + " ---: |" * (len(titles) - 1)]
    for row in rows:
        times = f"{row.seconds:.1f} s | {row.typical_seconds:.2f} s" if n_timed else "not timed | not timed"
        lines.append(
            f"| {row.library} | {row.rank:.2f} | {row.wins} | {row.mean_excess:.2f} % | {row.median_excess:.2f} % "
            f"| {times} | {row.cpu:.1f} s |"
        )
    return "\n".join(lines) + "\n"


def _calibration_table(losses: Losses, has_classes: np.ndarray) -> str:
    lines = ["| library | mean Brier score | mean calibration error |", "| --- | ---: | ---: |"]
    brier, ece = losses.brier[has_classes].mean(axis=0), losses.ece[has_classes].mean(axis=0)
    lines += [f"| {losses.libraries[k]} | {brier[k]:.4f} | {ece[k]:.4f} |" for k in np.argsort(brier)]
    return "\n".join(lines) + "\n"


def _losses_table(losses: Losses) -> str:
    lines = [
        f"| table | half | {' | '.join(losses.libraries)} |",
        "| --- | --- |" + " ---: |" * len(losses.libraries),
    ]
    for table, row in zip(losses.tables, losses.loss, strict=True):
        cells = [f"**{loss:.5g}**" if loss == row.min() else f"{loss:.5g}" for loss in row]
        lines.append(f"| {table.name} | {table.half} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
