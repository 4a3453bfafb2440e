"""Compare the test loss of every loss with libraries that have it, at equal settings: ``python -m bench.losses``.

LightGBM and XGBoost shorten Poisson's steps (``max_delta_step`` of 0.7 in its hessian), as if the learning rate were
half as large; ``poisson`` compares without that, ``poisson, damped`` with it. XGBoost has no smallest number of rows in
a leaf: beside it stands our loss with its rule, a sum of hessians of at least 1. Beyond delta our Huber loss takes
a curvature of 2 delta / (delta + |r|), LightGBM's takes 1: ours learns faster, so after as many rounds it is lower on
large tables and past its best round on abalone (docs/decisions/0014-hessian-of-the-huber-loss.md).
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from bench import machine
from bench.data import ROOT, Split, Table, UnavailableError
from bench.run import Record

ROUNDS, LEAVES, RATE, ROWS_IN_LEAF, BINS, PENALTY = 100, 31, 0.1, 20, 255, 1.0
SEEDS = (0, 1, 2)
MAX_ROWS = 20_000
LEVEL, DELTA, POWER = 0.8, 0.5, 1.5
WITHIN = 1.0  # per cent

Answer = np.ndarray
Metric = Callable[[np.ndarray, Answer], float]


@dataclass(frozen=True)
class Case:
    """A loss: ours, its metric on predictions, and its names elsewhere; ``prepare`` makes a suitable target."""

    ours: Any
    metric: Metric
    tables: tuple[Table, ...]
    prepare: Callable[[np.ndarray], np.ndarray] = lambda y: y
    lightgbm: dict[str, Any] | None = None
    xgboost: dict[str, Any] | None = None
    sklearn: dict[str, Any] | None = None


def pinball(y: np.ndarray, p: Answer) -> float:
    r = y - p
    return float(np.mean(np.maximum(LEVEL * r, (LEVEL - 1) * r)))


def huber(y: np.ndarray, p: Answer) -> float:
    r = np.abs(y - p)
    return float(np.mean(np.where(r > DELTA, DELTA * (r - 0.5 * DELTA), 0.5 * r * r)))


def tweedie(y: np.ndarray, p: Answer) -> float:
    a, b = 1 - POWER, 2 - POWER
    return float(np.mean(2 * (y**b / (a * b) - y * p**a / a + p**b / b)))


def poisson(y: np.ndarray, p: Answer) -> float:
    return float(np.mean(2 * (np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / p), 0.0) - y + p)))


def gamma(y: np.ndarray, p: Answer) -> float:
    return float(np.mean(2 * (np.log(p / y) + y / p - 1)))


def cross_entropy(y: np.ndarray, p: Answer) -> float:
    p = np.clip(p.astype(np.float64), 1e-15, 1 - 1e-15)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log1p(-p)))


def several_classes(y: np.ndarray, p: Answer) -> float:
    p = p / p.sum(axis=1, keepdims=True)  # those of one against all need not sum to 1
    return float(-np.mean(np.log(np.maximum(p[np.arange(len(y)), y.astype(int)], 1e-15))))


def hinge(y: np.ndarray, scores: Answer) -> float:
    return float(np.mean(np.maximum(0.0, 1 - (2 * y - 1) * scores)))


def msle(y: np.ndarray, p: Answer) -> float:
    return float(np.mean((np.log1p(y) - np.log1p(np.maximum(p, -0.999999))) ** 2))


def standard(y: np.ndarray) -> np.ndarray:
    return (y - y.mean()) / y.std()


def codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1].astype(np.float64)


HOUSES, DIAMONDS, BIKES = Table("california_housing"), Table("diamonds", max_rows=MAX_ROWS), Table("bike_sharing")
ABALONE, WINE = Table("abalone"), Table("wine_quality")
HIGGS, CREDIT = Table("higgs_7k", positive=1), Table("credit_default", positive=1, max_rows=MAX_ROWS)
FOREST = Table("covertype", max_rows=MAX_ROWS)


def cases() -> dict[str, Case]:
    """Return every loss that another library has."""
    from sapwood.objectives import Huber, Quantile, Tweedie

    numbers, amounts = (HOUSES, BIKES, ABALONE), (DIAMONDS, BIKES, ABALONE)
    return {
        "squared": Case("squared", lambda y, p: float(np.mean((y - p) ** 2)), numbers, standard,
                        {"objective": "regression"}, {"objective": "reg:squarederror"}, {"loss": "squared_error"}),
        "absolute": Case("absolute", lambda y, p: float(np.mean(np.abs(y - p))), numbers, standard,
                         {"objective": "regression_l1"}, {"objective": "reg:absoluteerror"},
                         {"loss": "absolute_error"}),
        "huber": Case(Huber(DELTA), huber, numbers, standard, {"objective": "huber", "alpha": DELTA}),
        "quantile": Case(Quantile(LEVEL), pinball, numbers, standard, {"objective": "quantile", "alpha": LEVEL},
                         {"objective": "reg:quantileerror", "quantile_alpha": LEVEL},
                         {"loss": "quantile", "quantile": LEVEL}),
        "poisson": Case("poisson", poisson, (BIKES, ABALONE),
                        lightgbm={"objective": "poisson", "poisson_max_delta_step": 1e-9},
                        xgboost={"objective": "count:poisson", "max_delta_step": 0.0}, sklearn={"loss": "poisson"}),
        "poisson, damped": Case("poisson", poisson, (BIKES, ABALONE), lightgbm={"objective": "poisson"},
                                xgboost={"objective": "count:poisson"}),
        "gamma": Case("gamma", gamma, amounts, lightgbm={"objective": "gamma"}, xgboost={"objective": "reg:gamma"},
                      sklearn={"loss": "gamma"}),
        "tweedie": Case(Tweedie(POWER), tweedie, amounts,
                        lightgbm={"objective": "tweedie", "tweedie_variance_power": POWER},
                        xgboost={"objective": "reg:tweedie", "tweedie_variance_power": POWER}),
        "msle": Case("msle", msle, amounts, xgboost={"objective": "reg:squaredlogerror"}),
        "mape": Case("mape", lambda y, p: float(np.mean(np.abs(y - p) / np.maximum(1, np.abs(y)))), amounts,
                     lightgbm={"objective": "mape"}),
        "logistic": Case("logistic", cross_entropy, (HIGGS, CREDIT), lightgbm={"objective": "binary"},
                         xgboost={"objective": "binary:logistic"}, sklearn={"loss": "log_loss"}),
        "cross_entropy": Case("cross_entropy", cross_entropy, (HOUSES, BIKES), lambda y: y / y.max(),
                              {"objective": "cross_entropy"}, {"objective": "reg:logistic"}),
        "hinge": Case("hinge", hinge, (HIGGS, CREDIT), xgboost={"objective": "binary:hinge"}),
        "softmax": Case("softmax", several_classes, (FOREST, WINE), codes, {"objective": "multiclass"},
                        {"objective": "multi:softprob"}, {"loss": "log_loss"}),
        "one_vs_all": Case("one_vs_all", several_classes, (FOREST, WINE), codes, {"objective": "multiclassova"}),
    }  # fmt: skip


def of_sapwood(case: Case, s: Split, **rules: Any) -> Answer:
    from sapwood import SapwoodClassifier, SapwoodRegressor
    from sapwood.objectives import resolve

    task = resolve(case.ours).task
    model = (SapwoodRegressor if task == "regression" else SapwoodClassifier)(
        objective=case.ours, n_estimators=ROUNDS, learning_rate=RATE, max_leaves=LEAVES, max_bins=BINS,
        reg_lambda=PENALTY, **rules,
    ).fit(s.X, s.y)  # fmt: skip
    return model.predict_raw(s.X_test) if case.metric is hinge else model.model_.predict_response(s.X_test)


def of_lightgbm(case: Case, s: Split) -> Answer:
    import lightgbm

    params = {
        "learning_rate": RATE, "num_leaves": LEAVES, "min_data_in_leaf": ROWS_IN_LEAF, "max_bin": BINS,
        "lambda_l2": PENALTY, "verbose": -1, **case.lightgbm,
    }  # fmt: skip
    if case.metric is several_classes:
        params["num_class"] = int(s.y.max()) + 1
    return lightgbm.train(params, lightgbm.Dataset(s.X, s.y), ROUNDS).predict(s.X_test)


def of_xgboost(case: Case, s: Split) -> Answer:
    import xgboost

    params = {
        "eta": RATE, "max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide", "max_bin": BINS,
        "lambda": PENALTY, "tree_method": "hist", "verbosity": 0, **case.xgboost,
    }  # fmt: skip
    if case.metric is several_classes:
        params["num_class"] = int(s.y.max()) + 1
    model = xgboost.train(params, xgboost.DMatrix(s.X, s.y), ROUNDS)
    return model.predict(xgboost.DMatrix(s.X_test), output_margin=case.metric is hinge)


def of_sklearn(case: Case, s: Split) -> Answer:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    params = {
        "max_iter": ROUNDS, "learning_rate": RATE, "max_leaf_nodes": LEAVES, "min_samples_leaf": ROWS_IN_LEAF,
        "max_bins": BINS, "l2_regularization": PENALTY, "early_stopping": False, **case.sklearn,
    }  # fmt: skip
    if case.sklearn["loss"] != "log_loss":
        return HistGradientBoostingRegressor(**params).fit(s.X, s.y).predict(s.X_test)
    found = HistGradientBoostingClassifier(**params).fit(s.X, s.y).predict_proba(s.X_test)
    return found if case.metric is several_classes else found[:, 1]


PEERS = {"lightgbm": of_lightgbm, "xgboost": of_xgboost, "sklearn": of_sklearn}
OURS = {
    "sapwood": {"min_child_samples": ROWS_IN_LEAF, "min_child_weight": 1e-3},
    "sapwood as xgboost": {"min_child_samples": 1, "min_child_weight": 1.0},
}
BESIDE = {"lightgbm": "sapwood", "xgboost": "sapwood as xgboost", "sklearn": "sapwood"}


def compare(name: str, case: Case, table: Table, seeds: Sequence[int]) -> Record:
    """Return the mean test loss of Sapwood and each other library over some splits."""
    found: dict[str, list[float]] = {who: [] for who in (*OURS, *PEERS) if getattr(case, who, {}) is not None}
    for seed in seeds:
        s = table.load(seed)
        y = case.prepare(np.concatenate([s.y, s.y_test]).astype(np.float64))
        s = Split(s.X, y[: len(s.y)], s.X_test, y[len(s.y) :])
        for who, losses in found.items():
            answer = of_sapwood(case, s, **OURS[who]) if who in OURS else PEERS[who](case, s)
            losses.append(case.metric(s.y_test, answer))
    return {"loss": name, "table": table.name, "losses": found}


def line(record: Record) -> str:
    """Format our loss and the difference from each other library in per cent, marked where it is too large."""
    cells = [f"{record['loss']:<16}{record['table']:<20}{mean(record['losses']['sapwood']):>12.6g}"]
    for peer in PEERS:
        theirs = record["losses"].get(peer)
        if theirs is None:
            cells.append(f"{'–':>12}")
            continue
        percent = 100 * (mean(record["losses"][BESIDE[peer]]) / mean(theirs) - 1)
        cells.append(f"{percent:>+10.2f}%{'!' if percent > WITHIN else ' '}")
    return "".join(cells)


def main(argv: Sequence[str] | None = None) -> int:
    """Run all losses, print and save."""
    parser = argparse.ArgumentParser("python -m bench.losses", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="losses of this name")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "losses.json")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print(f"{'':<36}{'sapwood':>12}" + "".join(f"{peer:>11} " for peer in PEERS))
    records = []
    for name, case in cases().items():
        for table in case.tables if not args.only or name in args.only else ():
            try:
                records.append(compare(name, case, table, range(args.seeds)))
            except UnavailableError as reason:
                print(f"{table.name} is skipped: {reason}")
                continue
            print(line(records[-1]), flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    run = {"machine": machine.describe(), "results": records}
    args.out.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
