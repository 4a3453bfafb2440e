"""Compare prediction intervals with LightGBM's pair of quantiles: ``python -m bench.quality.intervals``.

Coverage is the fraction of test targets inside, width the mean length of the intervals relative to Sapwood's.
LightGBM's pair is shown as it is, and with the same correction from rows held out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from bench.quality.libraries import CategoryColumns
from bench.quality.tables import STUDY_TABLES, Rows

MAX_ROWS = 10_000


def sapwood_bounds(rows: Rows, coverage: float) -> np.ndarray:
    """Return Sapwood's intervals of the test rows."""
    from sapwood import SapwoodRegressor

    model = SapwoodRegressor(effort="fast", intervals=coverage, categorical_features=list(rows.categories), n_jobs=1)
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


def main(argv: Sequence[str] | None = None) -> int:
    """Print coverage and width on every table of numbers with a random split."""
    parser = argparse.ArgumentParser("python -m bench.quality.intervals", description=__doc__)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--rows", type=int, default=MAX_ROWS)
    args = parser.parse_args(argv)
    print(f"{'table':<20}{'sapwood':>10}{'lightgbm':>10}{'width':>8}{'corrected':>11}{'width':>8}")
    for table in STUDY_TABLES:
        if table.task != "regression" or table.split == "time":
            continue
        rows = table.load(0, args.rows)
        own = sapwood_bounds(rows, args.coverage)
        others = [lightgbm_bounds(rows, args.coverage, corrected) for corrected in (False, True)]
        inside = [np.mean((b[:, 0] <= rows.y_test) & (rows.y_test <= b[:, 1])) for b in (own, *others)]
        width = [np.mean(b[:, 1] - b[:, 0]) / np.mean(own[:, 1] - own[:, 0]) for b in others]
        print(
            f"{table.name:<20}{inside[0]:>10.3f}{inside[1]:>10.3f}{width[0]:>8.2f}{inside[2]:>11.3f}{width[1]:>8.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
