"""Compare trees and losses with other libraries at equal settings: ``python -m bench.parity``.

Exact search is compared with XGBoost's, node by node. Level-wise histogram trees are compared with XGBoost's, symmetric
ones with CatBoost's, leaf-wise ones with LightGBM's, by their training losses: once on the tables as they are, where
every library chooses its own bins, and once on the ranks of their values in 200 levels, where all have the same bins.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.data import Table, UnavailableError
from bench.peer_trees import Match, Rows, match_trees, read_xgboost
from sapwood import SapwoodClassifier, SapwoodRegressor

# XGBoost adds up the scores of both sides of a cut in float32: differences of gains below this are its rounding.
FLOAT32 = 2.0**-22
LEVELS = 200
MAX_ROWS = 20_000

TABLES = [
    Table("higgs_7k", positive=1),
    Table("credit_default", positive=1),
    Table("adult", positive=">50K"),
    Table("california_housing"),
    Table("wine_quality"),
    Table("bike_sharing"),
    Table("bank_marketing", positive="yes"),
    Table("diamonds"),
    Table("abalone"),
    Table("nyc_flights"),
]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows with numeric targets or, if ``binary``, with 0 and 1."""

    X: np.ndarray
    y: np.ndarray
    binary: bool
    weight: np.ndarray | None = None


@dataclass(frozen=True)
class Settings:
    """Settings that every library gets."""

    rounds: int = 100
    max_depth: int = 6
    learning_rate: float = 0.1
    reg_lambda: float = 1.0
    min_child_weight: float = 1.0

    def sapwood(self, data: Data, **others: Any) -> Any:
        """Our fitted model."""
        kind = SapwoodClassifier if data.binary else SapwoodRegressor
        params = {
            "n_estimators": self.rounds,
            "max_leaves": None,
            "max_depth": self.max_depth,
            "learning_rate": self.learning_rate,
            "reg_lambda": self.reg_lambda,
            "min_child_samples": 1,
            "min_child_weight": self.min_child_weight,
            **others,
        }
        return kind(**params).fit(data.X, data.y, sample_weight=data.weight)

    def xgboost(self, data: Data, scores: np.ndarray, rounds: int, **others: Any) -> Any:
        """A booster of XGBoost's that starts from these scores."""
        import xgboost

        matrix = xgboost.DMatrix(data.X, label=data.y, weight=data.weight, base_margin=scores)
        params = {
            "objective": "binary:logistic" if data.binary else "reg:squarederror",
            "max_depth": self.max_depth,
            "eta": self.learning_rate,
            "reg_lambda": self.reg_lambda,
            "min_child_weight": self.min_child_weight,
            "nthread": 1,
            **others,
        }
        return xgboost.train(params, matrix, rounds)

    def lightgbm(self, data: Data, max_leaves: int) -> Any:
        """A booster of LightGBM's."""
        import lightgbm

        params = {
            "objective": "binary" if data.binary else "regression",
            "num_leaves": max_leaves,
            "learning_rate": self.learning_rate,
            "lambda_l2": self.reg_lambda,
            "min_sum_hessian_in_leaf": self.min_child_weight,
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
            "enable_bundle": False,
            "feature_pre_filter": False,
            "force_col_wise": True,
            "num_threads": 1,
            "verbose": -1,
        }
        rows = lightgbm.Dataset(data.X, label=data.y, weight=data.weight, params=params)
        return lightgbm.train(params, rows, self.rounds)

    def catboost(self, data: Data) -> Any:
        """A fitted model of CatBoost's, with nothing in it that is random or adapted to the data."""
        import catboost

        kind = catboost.CatBoostClassifier if data.binary else catboost.CatBoostRegressor
        with tempfile.TemporaryDirectory() as folder:
            model = kind(
                iterations=self.rounds,
                depth=self.max_depth,
                learning_rate=self.learning_rate,
                l2_leaf_reg=self.reg_lambda,
                border_count=254,
                boosting_type="Plain",
                bootstrap_type="No",
                random_strength=0,
                score_function="L2",
                leaf_estimation_method="Newton",
                leaf_estimation_iterations=1,
                boost_from_average=True,
                thread_count=1,
                train_dir=folder,
                verbose=0,
            )
            return model.fit(data.X, data.y, sample_weight=data.weight)


def weighted_pairs(data: Data, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and hessians of the rows at some scores."""
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    if not data.binary:
        return (scores - data.y) * weight, weight
    p = 1.0 / (1.0 + np.exp(-scores))
    return (p - data.y) * weight, p * (1.0 - p) * weight


def loss(data: Data, scores: np.ndarray) -> float:
    """Log loss of classes, root of the mean squared error of numbers."""
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    if not data.binary:
        return float(np.sqrt(np.average((scores - data.y) ** 2, weights=weight)))
    return float(np.average(np.logaddexp(0.0, scores) - data.y * scores, weights=weight))


def match_exact(data: Data, settings: Settings) -> Match:
    """Compare each of our trees with the one that XGBoost grows from the same scores."""
    model = settings.sapwood(data, split_search="exact", growth="levelwise").model_
    found = Match()
    for round in range(settings.rounds):
        scores = model[:round].predict_raw(data.X)
        (theirs,) = read_xgboost(settings.xgboost(data, scores, 1, tree_method="exact"))
        rows = Rows(data.X, *weighted_pairs(data, scores), settings.reg_lambda)
        found.add(match_trees(model.ensemble[round], theirs, rows, relative_to_score=FLOAT32))
    return found


def levelwise_losses(data: Data, settings: Settings) -> tuple[float, float]:
    """Training losses of level-wise trees, ours and XGBoost's."""
    ours = settings.sapwood(data, growth="levelwise", precision="wide")
    first = np.full(len(data.y), ours.model_.base_scores[0])
    theirs = settings.xgboost(data, first, settings.rounds, tree_method="hist", max_bin=255)
    import xgboost

    scores = theirs.predict(xgboost.DMatrix(data.X, base_margin=first), output_margin=True)
    return loss(data, ours.predict_raw(data.X)), loss(data, scores.astype(np.float64))


def symmetric_losses(data: Data, settings: Settings) -> tuple[float, float]:
    """Training losses of symmetric trees, ours and CatBoost's."""
    ours = settings.sapwood(data, growth="symmetric", precision="wide", min_child_weight=0.0)
    theirs = settings.catboost(data).predict(data.X, prediction_type="RawFormulaVal")
    return loss(data, ours.predict_raw(data.X)), loss(data, theirs)


def leafwise_losses(data: Data, settings: Settings) -> tuple[float, float]:
    """Training losses of leaf-wise trees, ours and LightGBM's.

    No penalty: with one, LightGBM gives up features below a leaf in which none of their cuts gains.
    """
    settings = dataclasses.replace(settings, reg_lambda=0.0, min_child_weight=4.5)
    ours = settings.sapwood(data, max_leaves=31, max_depth=None, precision="wide")
    theirs = settings.lightgbm(data, 31).predict(data.X, raw_score=True)
    return loss(data, ours.predict_raw(data.X)), loss(data, theirs)


def ranked(X: np.ndarray) -> np.ndarray:
    """The values replaced by the numbers 1 to LEVELS of their quantiles, missing ones left missing."""
    out = np.full(X.shape, np.nan, dtype=np.float32)
    for f in range(X.shape[1]):
        seen = ~np.isnan(X[:, f])
        values, place, counts = np.unique(X[seen, f], return_inverse=True, return_counts=True)
        before = np.cumsum(counts) - counts
        level = (before * LEVELS // max(1, seen.sum())) if len(values) > LEVELS else np.arange(len(values))
        out[seen, f] = 1 + level[place]
    return out


def punched(data: Data, seed: int = 0) -> Data:
    """The same rows with a tenth of the values missing and weights between 1/2 and 3/2."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(data.X.shape) < 0.1, np.float32(np.nan), data.X)
    return Data(X, data.y, data.binary, 0.5 + rng.random(len(data.y)))


def _read(table: Table) -> Data:
    split = table.load()
    X, y = split.X[:MAX_ROWS], split.y[:MAX_ROWS].astype(np.float64)
    return Data(X, y, table.task == "binary")


STUDIES: dict[str, Callable[[Data, Settings], tuple[float, float]]] = {
    "level-wise vs XGBoost hist": levelwise_losses,
    "symmetric vs CatBoost Plain": symmetric_losses,
    "leaf-wise vs LightGBM": leafwise_losses,
}


def study(data: Data, rounds: int) -> None:
    """Print the agreement with other libraries on one table."""
    for name, rows in (("", data), (", a tenth missing, weights", punched(data))):
        found = match_exact(rows, Settings(rounds=10, learning_rate=0.3))
        share = 100.0 * found.skipped / found.nodes
        print(f"  exact vs XGBoost exact{name}: {found.nodes} nodes, {share:.2f} % below ties", end="")
        print(f", {len(found.differences)} differences")
    complete = Data(np.nan_to_num(data.X, nan=-1.0), data.y, data.binary)
    for name, losses in STUDIES.items():
        for bins, rows in (("own bins", complete), ("same bins", Data(ranked(complete.X), data.y, data.binary))):
            ours, theirs = losses(rows, Settings(rounds))
            print(f"  {name}, {bins}: {ours:.6g} {theirs:.6g} {100.0 * (ours / theirs - 1.0):+.4f} %")


def main() -> None:
    """Compare on the tables of the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench.parity", description=__doc__)
    parser.add_argument("--only", help="the name of one table")
    parser.add_argument("--rounds", type=int, default=100)
    chosen = parser.parse_args()
    for table in TABLES:
        if chosen.only in (None, table.name):
            try:
                data = _read(table)
            except UnavailableError as error:
                print(error)
                continue
            print(f"{table.name}: {len(data.y)} rows, {data.X.shape[1]} features")
            study(data, chosen.rounds)


if __name__ == "__main__":
    main()
