"""Cells of a grid: one choice of every kind, drawn so that any two choices of different kinds meet in a cell."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.objectives import (
    CustomLoss,
    Expectile,
    Focal,
    GradientLoss,
    Huber,
    OneVsAll,
    Quantile,
    Softmax,
    Squared,
    Tweedie,
)  # fmt: skip
from sapwood.objectives.base import Objective, mean_loss
from sapwood.objectives.registry import losses
from sapwood.params.encodings import Crossing, Ordered
from sapwood.params.options import Bundle, Dart, Goss, Linear, NumericCrosses, Symmetric, Uniform

Cell = dict[str, Any]
Pair = frozenset[tuple[str, Any]]

N_CLASSES = 3
MONOTONE = {"monotone_constraints": [1, -1, 0, 0, 0]}
CATEGORIES = {"categorical_features": [3, 4]}
INTERACTION = {"interaction_constraints": [[0, 1], [2, 3, 4]]}


def squared_by_hand(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return score - y, np.ones_like(y)


def every_loss() -> dict[str, Objective]:
    """Each registered loss as it comes, some with settings, and losses of the user's own."""
    plain = [loss() for loss in dict.fromkeys(losses().values())]
    more = [
        Quantile(0.9), Quantile([0.1, 0.5, 0.9]), Huber(0.3), Expectile(0.8), Tweedie(1.2), Focal(3.0, 0.25),
        Softmax(vector_leaves=True), OneVsAll(vector_leaves=True), Softmax(curvature_factor=1.0),
    ]  # fmt: skip
    named = {repr(loss): loss for loss in plain + more}
    named["one line"] = CustomLoss(lambda y, f: np.sqrt(1.0 + (y - f) ** 2))
    named["gradients"] = GradientLoss(squared_by_hand)
    return named


LOSSES = every_loss()

# What each choice of a kind sets: parameters of the estimator, or what ``Table`` and ``fit`` do with it.
KINDS: dict[str, dict[str, dict[str, Any]]] = {
    "growth": {
        "leafwise": {"growth": "leafwise"},
        "levelwise": {"growth": "levelwise"},
        "symmetric": {"growth": "symmetric"},
        "cosine": {"growth": Symmetric("cosine")},
    },
    "split_search": {
        "histogram": {"split_search": "histogram"},
        "exact": {"split_search": "exact"},
        "random": {"split_search": "random"},
    },
    "leaf_model": {
        "constant": {},
        "linear": {"leaf_model": "linear"},
        "penalty": {"leaf_model": Linear(0.1)},
    },
    "objective": {name: {"objective": loss} for name, loss in LOSSES.items()},
    "boosting": {
        "plain": {},
        "ordered": {"boosting": "ordered"},
        "plainly scored": {"boosting": "ordered", "ordered_scoring": False},
        "dart": {"boosting": Dart(0.3, skip=0.2)},
        "forest": {"boosting": "forest", "reg_lambda": 10.0},  # whole Newton steps overshoot where losses are steep
    },
    "leaf_steps": {"1": {}, "3": {"leaf_steps": 3}},
    "sampling": {
        "none": {},
        "uniform": {"sampling": "uniform", "subsample": 0.7},
        "replacement": {"sampling": Uniform(replacement=True)},
        "goss": {"sampling": Goss(0.3, 0.3)},
        "mvs": {"sampling": "mvs", "subsample": 0.6},
        "bayesian": {"sampling": "bayesian"},
    },
    "colsample": {
        "all": {},
        "bytree": {"colsample_bytree": 0.6},
        "bylevel": {"colsample_bylevel": 0.6},
        "bynode": {"colsample_bynode": 0.6},
        "each": {"colsample_bytree": 0.8, "colsample_bylevel": 0.8, "colsample_bynode": 0.7},
    },
    "constraints": {
        "free": {},
        "monotone_constraints": MONOTONE,
        "interaction_constraints": INTERACTION,
        "both": MONOTONE | INTERACTION,
    },
    "precision": {"auto": {}, "packed": {"precision": "packed"}, "wide": {"precision": "wide"}},
    "max_bins": {"255": {}, "7": {"max_bins": 7}, "1000": {"max_bins": 1000}},
    "limits": {
        "none": {},
        "max_delta_step": {"max_delta_step": 0.5},
        "reg_alpha": {"reg_alpha": 0.5},
        "random_strength": {"random_strength": 1.0},
    },
    "weight": {"none": {}, "spread": {}, "some zero": {}},
    "stopping": {
        "none": {},
        "split off": {"early_stopping_rounds": 3, "validation_fraction": 0.2},
        "eval_set": {"early_stopping_rounds": 3},
        "refit": {"early_stopping_rounds": 3, "validation_fraction": 0.2, "refit": True},
        "replay": {"early_stopping_rounds": 3, "validation_fraction": 0.2, "refit": "replay"},
    },
    "missing": {"none": {}, "some": {}, "zeros": {"zero_as_missing": True}},
    "category_encoding": {
        "none": {},
        "one_hot": CATEGORIES | {"category_encoding": "one_hot"},
        "partition": CATEGORIES | {"category_encoding": "partition"},
        "ordered": CATEGORIES | {"category_encoding": ["ordered", "frequency"], "max_combination": Crossing(2, 6)},
        "grown": {
            "categorical_features": [2, 3, 4],
            "category_encoding": "ordered",
            "max_combination": 3,
            "tree_combinations": True,
        },
        "orders": CATEGORIES | {"category_encoding": Ordered(priors=(0.0, None), permutations=3)},
        "holdout": CATEGORIES | {"category_encoding": "holdout"},
    },
    "numeric_crosses": {
        "none": {},
        "searched": {"numeric_crosses": NumericCrosses(rounds=3)},
        "products": {"numeric_crosses": NumericCrosses(4, 2, ("product", "centred"), rounds=3)},
    },
    "table": {"dense": {}, "sparse": {}, "listed": {}, "exclusive": {}},
    "bundle": {"auto": {}, "asked for": {"bundle": True}, "conflicts": {"bundle": Bundle(0.1)}},
}

# Two choices that cannot meet: the error names the two parameters.
REFUSED: list[tuple[tuple[str, str], tuple[str, str]]] = [
    (("growth", "symmetric"), ("split_search", "exact")),
    (("growth", "cosine"), ("split_search", "exact")),
    (("growth", "symmetric"), ("split_search", "random")),
    (("growth", "cosine"), ("split_search", "random")),
    (("precision", "packed"), ("split_search", "exact")),
    (("max_bins", "7"), ("split_search", "exact")),
    (("max_bins", "1000"), ("split_search", "exact")),
    (("bundle", "asked for"), ("split_search", "exact")),
    (("bundle", "conflicts"), ("split_search", "exact")),
    *(
        (("objective", name), ("constraints", choice))
        for name, loss in LOSSES.items()
        if loss.vector_leaves or loss.task == "multiclass"
        for choice in ("monotone_constraints", "both")
    ),
    *(
        (("objective", name), ("leaf_model", choice))
        for name, loss in LOSSES.items()
        if loss.vector_leaves or loss.has_quantile_leaves
        for choice in ("linear", "penalty")
    ),
    *(
        (("constraints", constraint), ("leaf_model", choice))
        for constraint in ("monotone_constraints", "both")
        for choice in ("linear", "penalty")
    ),
    *((("numeric_crosses", choice), ("objective", "gradients")) for choice in ("searched", "products")),
    (("category_encoding", "orders"), ("split_search", "exact")),
    (("category_encoding", "orders"), ("bundle", "conflicts")),
    *(
        (("leaf_model", choice), other)
        for choice in ("linear", "penalty")
        for other in [("boosting", "ordered"), ("boosting", "plainly scored"), ("leaf_steps", "3")]
    ),
    *((("objective", name), ("leaf_steps", "3")) for name, loss in LOSSES.items() if loss.has_quantile_leaves),
    *(
        (("category_encoding", "partition"), other)
        for other in [
            ("growth", "symmetric"), ("growth", "cosine"), ("split_search", "exact"), ("split_search", "random"),
            ("leaf_model", "linear"), ("leaf_model", "penalty"),
            *(("objective", name) for name, loss in LOSSES.items() if loss.vector_leaves),
        ]
    ),
]  # fmt: skip


# What else cannot meet: tests/data/test_sparse.py has the errors.
UNFIT = [
    (("table", kind), other)
    for kind in ("sparse", "listed")
    for other in [("split_search", "exact"), ("leaf_model", "linear"), ("leaf_model", "penalty")]
]


def must_learn(cell: Cell) -> bool:
    """Tell whether the training loss must fall. Slopes found on few rows overshoot on the others if not shrunk."""
    return cell["leaf_model"] == "constant" or (cell["boosting"] != "forest" and cell["sampling"] == "none")


def pairs_in(cell: Cell) -> set[Pair]:
    return {frozenset(two) for two in combinations(cell.items(), 2)}


def all_pairs() -> set[Pair]:
    """Any two choices of different kinds that may meet."""
    refused = {frozenset(two) for two in REFUSED + UNFIT}
    every = {
        frozenset([(a, one), (b, two)])
        for a, b in combinations(KINDS, 2)
        for one in KINDS[a]
        for two in KINDS[b]
    }  # fmt: skip
    return every - refused


def draw_cells() -> list[Cell]:
    """Cells that hold all pairs: each begins with an open pair and takes, kind by kind, the choice that closes most."""
    allowed = all_pairs()
    open_pairs = sorted(allowed, key=sorted)
    left, cells = set(open_pairs), []
    while open_pairs:
        first = open_pairs[0]
        cell: Cell = dict(sorted(first))
        for kind in sorted(sorted(set(KINDS) - set(cell)), key=lambda kind: -len(KINDS[kind])):
            cell[kind] = _best_choice(cell, kind, allowed, left)
        cells.append({kind: cell[kind] for kind in KINDS})
        left -= pairs_in(cell)
        open_pairs = [pair for pair in open_pairs if pair in left]
    return cells


def _best_choice(cell: Cell, kind: str, allowed: set[Pair], left: set[Pair]) -> str:
    def closed(choice: str) -> tuple[bool, int]:
        new = [frozenset([(kind, choice), other]) for other in cell.items()]
        return all(pair in allowed for pair in new), sum(pair in left for pair in new)

    return max(KINDS[kind], key=closed)


def name_of(cell: Cell) -> str:
    return " | ".join(str(choice) for choice in cell.values())


@dataclass(frozen=True, eq=False)
class Rows:
    """A table for a cell: features, target, weights or None."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None

    @classmethod
    def of(cls, cell: Cell, n: int = 300, seed: int = 0) -> Rows:
        """Draw rows whose target the loss of the cell allows and the features explain."""
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, 5))
        if cell["table"] in ("sparse", "listed"):
            X[:, 1:] *= random.uniform(size=(n, 4)) < 0.24
        elif cell["table"] == "exclusive":
            X[:, [1, 2, 4]] *= random.integers(0, 6, (n, 1)) == np.arange(3)
        signal = X[:, 0] - 0.7 * X[:, 1] + np.where(X[:, 2] > 0, X[:, 3], -X[:, 3]) + 0.3 * random.normal(size=n)
        X[:, 4] = np.round(X[:, 4])
        if cell["category_encoding"] != "none":
            X[:, 3] = np.round(2.0 * X[:, 3])
        if cell["category_encoding"] == "grown":
            X[:, 2] = np.round(X[:, 2])
        if cell["missing"] == "some":
            X[random.uniform(size=X.shape) < 0.15] = np.nan
        if cell["missing"] == "zeros":
            X[random.uniform(size=X.shape) < 0.15] = 0.0
        weights = {
            "none": None,
            "spread": random.gamma(1.0, size=n),
            "some zero": random.integers(0, 4, n).astype(float),
        }
        y = target(LOSSES[cell["objective"]], signal, random)
        is_sparse = cell["table"] in ("sparse", "listed")
        return cls(scipy.sparse.csr_matrix(X) if is_sparse else X, y, weights[cell["weight"]])


def target(loss: Objective, signal: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if loss.task == "multiclass":
        return np.digitize(signal, [-0.7, 0.7]).astype(float)
    if loss.task == "binary":
        return (signal > 0.2).astype(float)
    if loss.name == "cross_entropy":
        return 1.0 / (1.0 + np.exp(-2.0 * signal))
    if loss.name in ("poisson", "tweedie"):
        return random.poisson(np.exp(0.5 * signal)).astype(float)
    if loss.name in ("gamma", "msle", "mape"):
        return np.exp(0.5 * signal)
    return signal


def unfitted(cell: Cell, **more: Any) -> SapwoodClassifier | SapwoodRegressor:
    """The estimator that a cell describes."""
    params: dict[str, Any] = {"n_estimators": 12, "learning_rate": 0.3, "max_leaves": 8}
    if cell["growth"] in ("leafwise", "levelwise"):
        params["min_child_samples"] = 5
    for kind, choice in cell.items():
        params |= KINDS[kind][choice]
    if cell["boosting"] == "forest":
        del params["learning_rate"]
    if cell["objective"] == "gradients":
        params["eval_metric"] = "rmse"
    is_for_classes = LOSSES[cell["objective"]].task in ("binary", "multiclass")
    return (SapwoodClassifier if is_for_classes else SapwoodRegressor)(**(params | more))


def fitted(cell: Cell, rows: Rows, **more: Any) -> SapwoodClassifier | SapwoodRegressor:
    """Train as the cell says."""
    given: dict[str, Any] = {"sample_weight": rows.weight}
    if cell["stopping"] == "eval_set":
        held_out = Rows.of(cell, n=100, seed=1)
        given |= {"eval_set": (held_out.X, held_out.y), "eval_sample_weight": held_out.weight}
    with (
        patch("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 0 if cell["table"] == "listed" else 1024),
        patch.multiple("sapwood.boost.cross_search", MIN_ROWS=50, MIN_ERRORS=-1e9),  # crosses are kept
    ):
        return unfitted(cell, **more).fit(rows.X, rows.y, **given)


def loss_of(cell: Cell) -> Objective:
    loss = LOSSES[cell["objective"]]
    return loss.for_classes(N_CLASSES) if loss.task == "multiclass" else loss


def mean_losses(cell: Cell, rows: Rows, raw: np.ndarray) -> tuple[float, float]:
    """The mean loss of scores on the rows, and that of the best constant."""
    loss = Squared() if cell["objective"] == "gradients" else loss_of(cell)
    scores = np.ascontiguousarray(raw.reshape(len(rows.y), -1).T)
    constant = np.repeat(loss.best_constant(rows.y, rows.weight)[:, None], len(rows.y), axis=1)
    return tuple(mean_loss(loss, rows.y, one, rows.weight) for one in (scores, constant))  # type: ignore[return-value]
