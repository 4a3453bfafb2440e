"""Compare prediction intervals with LightGBM's pair of quantiles: ``python -m bench.quality.intervals``.

Coverage is the fraction of test targets inside, width the mean length of the intervals. The interval score counts both:
the width, and 2 / (1 - coverage) times the distance of each target that lies outside. LightGBM's pair of quantiles
(its defaults) is measured as it is, and with a split-conformal correction from a fifth of the training rows. Widths and
scores are those of Sapwood relative to LightGBM's: below 1, Sapwood's are narrower or better.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality.__main__ import RESULTS
from bench.quality.libraries import CategoryColumns
from bench.quality.tables import STUDY_TABLES, Rows, StudyTable

MAX_ROWS = 10_000
SEEDS = (0, 1, 2)
CLOSE = 0.02  # distance from the nominal coverage that is reported as close
TITLES = ("table", "Sapwood covers", "each split", "LightGBM covers", "width", "score", "corrected covers", "width",
          "score", "fit time")  # fmt: skip


def sapwood_bounds(rows: Rows, coverage: float, seed: int) -> np.ndarray:
    """Return Sapwood's intervals of the test rows."""
    from sapwood import SapwoodRegressor

    model = SapwoodRegressor(
        effort="fast", intervals=coverage, categorical_features=list(rows.categories), n_jobs=1, random_state=seed
    )
    return model.fit(rows.X, rows.y).predict_interval(rows.X_test, coverage)


def lightgbm_bounds(rows: Rows, coverage: float, corrected: bool) -> np.ndarray:
    """Return LightGBM's quantiles of the test rows; a fifth of the training rows gives the correction, if any."""
    import lightgbm

    coded = CategoryColumns(rows)
    n_train = len(rows.y) * 4 // 5 if corrected else len(rows.y)
    bounds = []
    for level in ((1 - coverage) / 2, (1 + coverage) / 2):
        model = lightgbm.LGBMRegressor(objective="quantile", alpha=level, n_jobs=1, verbose=-1)
        model.fit(coded(rows.X.iloc[:n_train]), rows.y[:n_train])
        bounds.append([model.predict(coded(X)) for X in (rows.X.iloc[n_train:], rows.X_test)] if corrected
                      else [np.empty(0), model.predict(coded(rows.X_test))])  # fmt: skip
    test = np.sort(np.column_stack([bounds[0][1], bounds[1][1]]), axis=1)
    if not corrected:
        return test
    held_out, y = np.sort(np.column_stack([bounds[0][0], bounds[1][0]]), axis=1), rows.y[n_train:]
    excess = np.sort(np.maximum(held_out[:, 0] - y, y - held_out[:, 1]))
    shift = excess[min(len(excess), int(np.ceil(coverage * (len(excess) + 1)))) - 1]
    return test + np.array([-shift, shift])


def measure(bounds: np.ndarray, y: np.ndarray, coverage: float) -> tuple[float, float, float]:
    """Return the coverage, the mean width and the mean interval score of bounds (rows, 2)."""
    low, high = bounds.T
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    width = float(np.mean(high - low))
    return float(np.mean((low <= y) & (y <= high))), width, width + float(np.mean(outside)) * 2 / (1 - coverage)


def measure_table(table: StudyTable, args: argparse.Namespace) -> dict[str, Any]:
    """Return coverage, widths and scores on one table: (seeds, Sapwood and the two LightGBM pairs, 3)."""
    values, seconds = [], 0.0
    for seed in args.seeds:
        rows = table.load(seed, args.rows)
        begin = time.process_time()
        bounds = [sapwood_bounds(rows, args.coverage, seed)]
        seconds += time.process_time() - begin
        bounds += [lightgbm_bounds(rows, args.coverage, corrected) for corrected in (False, True)]
        values.append([measure(one, rows.y_test, args.coverage) for one in bounds])
    return {"values": np.array(values), "seconds": seconds / len(args.seeds)}


def format_row(name: str, result: Mapping[str, Any]) -> str:
    """Return the row of a table: means over the splits, and the coverage of each split."""
    own, plain, corrected = result["values"].mean(axis=0)
    each = ", ".join(f"{value:.3f}" for value in result["values"][:, 0, 0])
    cells = [f"{own[0]:.3f}", each]
    for other in (plain, corrected):
        cells += [f"{other[0]:.3f}", f"{own[1] / other[1]:.2f}", f"{own[2] / other[2]:.2f}"]
    return f"| {name} | {' | '.join(cells)} | {result['seconds']:.1f} s |"


def summarise(results: Mapping[str, Mapping[str, Any]], coverage: float) -> str:
    """Return how many tables are within two points, and on how many Sapwood's intervals are narrower or better."""
    means = np.array([one["values"].mean(axis=0) for one in results.values()])
    own, n = means[:, 0], len(means)
    splits = np.concatenate([one["values"][:, 0, 0] for one in results.values()])
    is_close, close_splits = np.abs(own[:, 0] - coverage) <= CLOSE, np.abs(splits - coverage) <= CLOSE
    lines = [f"Coverage within two points of {coverage}: {is_close.sum()} of {n} tables in the mean over the splits, "
             f"{close_splits.sum()} of {len(splits)} single splits."]  # fmt: skip
    for k, name in ((1, "LightGBM's pair as it is"), (2, "the corrected pair")):
        narrower, better = own[:, 1] < means[:, k, 1], own[:, 2] < means[:, k, 2]
        close = np.abs(means[:, k, 0] - coverage) <= CLOSE
        ratio = np.exp(np.log(own[:, 1:] / means[:, k, 1:]).mean(axis=0))
        lines.append(
            f"Beside {name} ({close.sum()} of {n} within two points): narrower on {narrower.sum()}, better score on "
            f"{better.sum()}; geometric means of the ratios are {ratio[0]:.2f} (width) and {ratio[1]:.2f} (score)."
        )
    return "\n".join(f"- {line}" for line in lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print coverage, width and score on every table of numbers with a random split or split by groups."""
    parser = argparse.ArgumentParser("python -m bench.quality.intervals", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="tables whose name contains NAME")
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--rows", type=int, default=MAX_ROWS)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args(argv)
    lines = [f"| {' | '.join(TITLES)} |", "| --- |" + " ---: |" * (len(TITLES) - 1)]
    print("\n".join(lines))
    results: dict[str, dict[str, Any]] = {}
    for table in STUDY_TABLES:
        is_chosen = not args.only or any(text in table.name for text in args.only)
        if is_chosen and table.task == "regression" and table.split != "time":
            results[table.name] = measure_table(table, args)
            lines.append(format_row(table.name, results[table.name]))
            print(lines[-1], flush=True)
    summary = summarise(results, args.coverage)
    print(f"\n{summary}")
    if not args.only:
        text = "\n".join(["# Prediction intervals", "", (__doc__ or "").partition("\n\n")[2], *lines, "", summary, ""])
        (args.out / "intervals.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
