"""Adapt each library to one interface, with the same settings wherever it has them.

Each takes raw float32 arrays, so that binning is part of the fit, and is called the quickest way that its Python
documentation shows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from bench.workloads import Settings


class Contestant(ABC):
    """Fit and predict with one library in one configuration."""

    name: ClassVar[str]
    package: ClassVar[str]
    importing: ClassVar[str]
    family: ClassVar[str]
    variant: ClassVar[bool] = False
    growths: ClassVar[frozenset[str]] = frozenset({"leafwise", "levelwise"})

    def __init__(self, settings: Settings, task: str) -> None:
        self.settings = settings
        self.binary = task == "binary"
        self.model: Any = None

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit from raw arrays."""
        self.model = self._fitted(X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Give one number per row: the probability of class 1, or the value."""
        return self.model.predict_proba(X)[:, 1] if self.binary else self.model.predict(X)

    def row_predictor(self) -> Callable[[np.ndarray], object]:
        """Give what predicts a table of one row: the library's own way for single rows, where it has one."""
        return self.predict

    @abstractmethod
    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Train a model of the library."""

    @property
    def hessian_floor(self) -> float:
        """Stand in for ``min_child_samples`` where a library has only a smallest hessian.

        With squared error the hessian is the row count; log loss has no equal, and XGBoost's default is taken.
        """
        return 1.0 if self.binary else float(self.settings.min_child_samples)

    @classmethod
    def installed(cls) -> bool:
        """Say whether the library can be imported here."""
        return find_spec(cls.package) is not None

    @classmethod
    def version(cls) -> str:
        """Give the library's version."""
        return str(import_module(cls.package).__version__)


class Sapwood(Contestant):
    """Sapwood through its scikit-learn estimators."""

    name = family = package = "sapwood"
    importing = "from sapwood import SapwoodClassifier"
    growths = frozenset({"leafwise", "levelwise", "symmetric"})

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        from sapwood import SapwoodClassifier, SapwoodRegressor

        s = self.settings
        estimator = SapwoodClassifier if self.binary else SapwoodRegressor
        # A complete tree is the same in whichever order its leaves are split: only symmetric growth must be asked for.
        growth = {"growth": s.growth} if s.growth == "symmetric" else {}
        return estimator(
            n_estimators=s.trees,
            learning_rate=s.learning_rate,
            max_leaves=s.leaves,
            max_depth=s.depth,
            max_bins=s.bins,
            min_child_samples=s.min_child_samples,
            min_child_weight=s.min_child_weight,
            reg_lambda=s.reg_lambda,
            n_jobs=s.threads,
            random_state=s.seed,
            **growth,
        ).fit(X, y)

    def row_predictor(self) -> Callable[[np.ndarray], object]:
        """Use the model's predictor of single rows."""
        predictor = self.model.model_.predictor()
        return lambda row: predictor.predict(row[0])


class LightGBM(Contestant):
    """LightGBM through its own train function."""

    name = family = package = "lightgbm"
    importing = "import lightgbm"
    quantised: ClassVar[bool] = False

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import lightgbm

        s = self.settings
        params = {
            "objective": "binary" if self.binary else "l2",
            "num_leaves": s.leaves,
            "max_depth": s.depth or -1,
            "learning_rate": s.learning_rate,
            "max_bin": s.bins,
            "min_data_in_leaf": s.min_child_samples,
            "min_sum_hessian_in_leaf": s.min_child_weight,
            "lambda_l2": s.reg_lambda,
            "num_threads": s.threads,
            "seed": s.seed,
            "verbose": -1,
            "use_quantized_grad": self.quantised,
        }
        data = lightgbm.Dataset(X, y, params=params)
        # Without keep_training_booster the model is written to text and read again at the end.
        return lightgbm.train(params, data, num_boost_round=s.trees, keep_training_booster=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict through the booster."""
        return self.model.predict(X, num_threads=self.settings.threads)


class LightGBMQuantised(LightGBM):
    """LightGBM with gradients of a few bits."""

    name, variant, quantised = "lightgbm-quantised", True, True


def xgboost_words(contestant: Contestant) -> dict[str, Any]:
    """Say the settings in XGBoost's words, which hessboost shares."""
    s = contestant.settings
    policy = {"leafwise": "lossguide", "levelwise": "depthwise", "symmetric": "symmetric"}[s.growth]
    return {
        "objective": "binary:logistic" if contestant.binary else "reg:squarederror",
        "tree_method": "hist",
        "grow_policy": policy,
        "max_leaves": s.leaves if policy == "lossguide" else 0,
        "max_depth": s.depth or 0,
        "eta": s.learning_rate,
        "max_bin": s.bins,
        "min_child_weight": contestant.hessian_floor,
        "lambda": s.reg_lambda,
        "nthread": s.threads,
        "seed": s.seed,
    }


class XGBoost(Contestant):
    """XGBoost's histogram method on a quantile matrix."""

    name = family = package = "xgboost"
    importing = "import xgboost"

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import xgboost

        s = self.settings
        data = xgboost.QuantileDMatrix(X, y, max_bin=s.bins, nthread=s.threads)
        return xgboost.train(xgboost_words(self), data, num_boost_round=s.trees)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict through the booster."""
        return self.model.inplace_predict(X)


class CatBoost(Contestant):
    """CatBoost in plain mode with its symmetric trees, whatever growth is asked: complete trees of as many leaves."""

    name = family = package = "catboost"
    importing = "import catboost"
    growths = frozenset({"leafwise", "levelwise", "symmetric"})

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import catboost

        s = self.settings
        estimator = catboost.CatBoostClassifier if self.binary else catboost.CatBoostRegressor
        return estimator(
            iterations=s.trees,
            learning_rate=s.learning_rate,
            border_count=s.bins - 1,
            l2_leaf_reg=s.reg_lambda,
            boosting_type="Plain",
            bootstrap_type="No",
            random_strength=0,
            leaf_estimation_iterations=1,
            thread_count=s.threads,
            random_seed=s.seed,
            verbose=False,
            allow_writing_files=False,
            **self._trees(),
        ).fit(X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict through the booster."""
        kind = "Probability" if self.binary else "RawFormulaVal"
        answer = self.model.predict(X, prediction_type=kind, thread_count=self.settings.threads)
        return answer[:, 1] if self.binary else answer

    def _trees(self) -> dict[str, Any]:
        return {"grow_policy": "SymmetricTree", "depth": self.settings.full_depth}


class CatBoostAsymmetric(CatBoost):
    """CatBoost with the growth that is asked, leaf-wise or level-wise."""

    name, variant = "catboost-asymmetric", True
    growths = frozenset({"leafwise", "levelwise"})

    def _trees(self) -> dict[str, Any]:
        s = self.settings
        smallest = {"min_data_in_leaf": s.min_child_samples}
        if s.growth == "levelwise":
            return {"grow_policy": "Depthwise", "depth": s.full_depth, **smallest}
        return {"grow_policy": "Lossguide", "max_leaves": s.leaves, "depth": s.depth or 16, **smallest}


class ScikitLearn(Contestant):
    """scikit-learn's histogram gradient boosting; the runner limits its threads."""

    name = family = "scikit-learn"
    package = "sklearn"
    importing = "from sklearn.ensemble import HistGradientBoostingClassifier"

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        s = self.settings
        estimator = HistGradientBoostingClassifier if self.binary else HistGradientBoostingRegressor
        return estimator(
            max_iter=s.trees,
            learning_rate=s.learning_rate,
            max_leaf_nodes=s.leaves,
            max_depth=s.depth,
            max_bins=s.bins,
            min_samples_leaf=s.min_child_samples,
            l2_regularization=s.reg_lambda,
            early_stopping=False,
            random_state=s.seed,
        ).fit(X, y)


class Hessboost(Contestant):
    """hessboost, a Rust library with XGBoost's words."""

    name = family = package = "hessboost"
    importing = "import hessboost"
    growths = frozenset({"leafwise", "levelwise", "symmetric"})
    quantised: ClassVar[bool] = False

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import hessboost

        params = xgboost_words(self) | {"use_quantized_grad": self.quantised}
        return hessboost.train(params, hessboost.DMatrix(X, label=y), self.settings.trees)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict through the booster."""
        return self.model.predict(X)

    def row_predictor(self) -> Callable[[np.ndarray], object]:
        """Use the booster's method for single rows."""
        return lambda row: self.model.predict_row(row[0])


class HessboostQuantised(Hessboost):
    """hessboost with gradients of a few bits."""

    name, variant, quantised = "hessboost-quantised", True, True
    growths = frozenset({"leafwise", "levelwise"})


class ChimeraBoost(Contestant):
    """ChimeraBoost, symmetric trees in Numba, without its model selection: complete trees of as many leaves."""

    name = family = package = "chimeraboost"
    importing = "import chimeraboost"
    growths = frozenset({"leafwise", "levelwise", "symmetric"})

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import chimeraboost

        s = self.settings
        estimator = chimeraboost.ChimeraBoostClassifier if self.binary else chimeraboost.ChimeraBoostRegressor
        return estimator(
            n_estimators=s.trees,
            learning_rate=s.learning_rate,
            depth=s.full_depth,
            max_bins=s.bins,
            l2_leaf_reg=s.reg_lambda,
            min_child_weight=self.hessian_floor,
            thread_count=s.threads,
            random_state=s.seed,
            early_stopping=False,
            refit_full=False,
            linear_leaves=False,
            cross_features=False,
            leaf_estimation_iterations=1,
        ).fit(X, y)


CONTESTANTS: list[type[Contestant]] = [
    Sapwood,
    LightGBM,
    LightGBMQuantised,
    XGBoost,
    CatBoost,
    CatBoostAsymmetric,
    ScikitLearn,
    Hessboost,
    HessboostQuantised,
    ChimeraBoost,
]


def present(against: list[str]) -> list[type[Contestant]]:
    """Keep those that are installed, and named in ``against`` unless it is empty; say who is left out."""
    kept = []
    for contestant in CONTESTANTS:
        if against and contestant.name not in {"sapwood", *against}:
            continue
        if contestant.installed():
            kept.append(contestant)
        else:
            print(f"{contestant.name} is left out: the package {contestant.package!r} is not installed")
    return kept
