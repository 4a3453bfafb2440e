"""Adapt each library to one interface, with the same settings wherever it has them.

Each takes raw float32 arrays, so that binning is part of the fit, and is called the quickest way that its Python
documentation shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from bench.contestant import Contestant


class Sapwood(Contestant):
    """Sapwood through its own train function."""

    name = family = package = "sapwood"
    importing = "import sapwood"
    growths = frozenset({"leafwise", "levelwise", "symmetric"})
    reopening = "import sapwood; sapwood.load(path).predict(row)"

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import sapwood

        s = self.settings
        params = {
            "objective": {"binary": "logistic", "multiclass": "softmax", "regression": "squared"}[self.task],
            "n_estimators": s.trees,
            "learning_rate": s.learning_rate,
            "max_leaves": s.leaves,
            "max_depth": s.depth,
            "max_bins": s.bins,
            "min_child_weight": s.min_child_weight,
            "reg_lambda": s.reg_lambda,
            "n_jobs": s.threads,
            "random_state": s.seed,
        }
        # A complete tree is the same in whichever order its leaves are split: only symmetric growth must be asked for.
        # It takes no smallest leaf, as CatBoost's symmetric trees do not.
        growth = {"growth": s.growth} if s.growth == "symmetric" else {"min_child_samples": s.min_child_samples}
        return sapwood.train(params | growth, X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict values or probabilities."""
        return self.model.predict_response(X, n_jobs=self.settings.threads)

    def save(self, path: str) -> None:
        """Write Sapwood's own format."""
        self.model.save(path)

    def row_predictor(self) -> Callable[[np.ndarray], object]:
        """Use the model's predictor of single rows."""
        predictor = self.model.predictor()
        return lambda row: predictor.predict_response(row[0])


class LightGBM(Contestant):
    """LightGBM through its own train function."""

    name = family = package = "lightgbm"
    importing = "import lightgbm"
    reopening = "import lightgbm; lightgbm.Booster(model_file=path).predict(row)"
    quantised: ClassVar[bool] = False

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import lightgbm

        s = self.settings
        params = {
            "objective": {"binary": "binary", "multiclass": "multiclass", "regression": "l2"}[self.task],
            "num_class": self.n_classes if self.task == "multiclass" else 1,
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

    def save(self, path: str) -> None:
        """Write LightGBM's own format."""
        self.model.save_model(path)


class LightGBMQuantised(LightGBM):
    """LightGBM with quantised gradients."""

    name, variant, quantised = "lightgbm-quantised", True, True


def xgboost_words(contestant: Contestant) -> dict[str, Any]:
    """Return the settings by XGBoost's parameter names, which hessboost shares."""
    s = contestant.settings
    policy = {"leafwise": "lossguide", "levelwise": "depthwise", "symmetric": "symmetric"}[s.growth]
    objectives = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}
    classes = {"num_class": contestant.n_classes} if contestant.task == "multiclass" else {}
    return classes | {
        "objective": objectives[contestant.task],
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
    reopening = "import xgboost; xgboost.Booster(model_file=path).inplace_predict(row)"

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import xgboost

        s = self.settings
        data = xgboost.QuantileDMatrix(X, y, max_bin=s.bins, nthread=s.threads)
        return xgboost.train(xgboost_words(self), data, num_boost_round=s.trees)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict through the booster."""
        return self.model.inplace_predict(X)

    def save(self, path: str) -> None:
        """Write XGBoost's own format."""
        self.model.save_model(path)


class CatBoost(Contestant):
    """CatBoost in plain mode with symmetric trees, whatever the growth: complete trees of as many leaves."""

    name = family = package = "catboost"
    importing = "import catboost"
    reopening = "import catboost; catboost.CatBoost().load_model(path).predict(row)"
    growths = frozenset({"leafwise", "levelwise", "symmetric"})

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import catboost

        s = self.settings
        estimator = catboost.CatBoostRegressor if self.task == "regression" else catboost.CatBoostClassifier
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
        kind = "RawFormulaVal" if self.task == "regression" else "Probability"
        answer = self.model.predict(X, prediction_type=kind, thread_count=self.settings.threads)
        return answer[:, 1] if self.binary else answer

    def save(self, path: str) -> None:
        """Write CatBoost's own format."""
        self.model.save_model(path)

    def _trees(self) -> dict[str, Any]:
        return {"grow_policy": "SymmetricTree", "depth": self.settings.full_depth}


class CatBoostAsymmetric(CatBoost):
    """CatBoost with leaf-wise or level-wise trees."""

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
        is_regression = self.task == "regression"
        estimator = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
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
    """hessboost, a Rust library with XGBoost's parameter names."""

    name = family = package = "hessboost"
    importing = "import hessboost"
    reopening = "import hessboost; hessboost.Booster(model_file=path).predict(row)"
    growths = frozenset({"leafwise", "levelwise", "symmetric"})
    quantised: ClassVar[bool] = False

    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        import hessboost

        params = xgboost_words(self) | {"use_quantized_grad": self.quantised}
        return hessboost.train(params, hessboost.DMatrix(X, label=y), self.settings.trees)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict through the booster."""
        return self.model.predict(X)

    def save(self, path: str) -> None:
        """Write hessboost's own format."""
        self.model.save_model(path)

    def row_predictor(self) -> Callable[[np.ndarray], object]:
        """Use the booster's method for single rows."""
        return lambda row: self.model.predict_row(row[0])


class HessboostQuantised(Hessboost):
    """hessboost with quantised gradients."""

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
        is_regression = self.task == "regression"
        estimator = chimeraboost.ChimeraBoostRegressor if is_regression else chimeraboost.ChimeraBoostClassifier
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
    """Return those that are installed, and named in ``against`` unless it is empty; print which are left out."""
    kept = []
    for contestant in CONTESTANTS:
        if against and contestant.name not in {"sapwood", *against}:
            continue
        if contestant.installed():
            kept.append(contestant)
        else:
            print(f"{contestant.name} is left out: the package {contestant.package!r} is not installed")
    return kept
