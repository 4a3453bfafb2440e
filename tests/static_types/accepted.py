"""A program that type checkers must accept; it is not run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sapwood
from sapwood import Dart, EarlyStopping, Goss, Model, Ordered, SapwoodClassifier, SapwoodRegressor, Symmetric
from sapwood.objectives import Quantile

X = np.zeros((10, 2))
y = np.arange(10) % 2


class MyClassifier(SapwoodClassifier):
    pass


fitted: MyClassifier = MyClassifier(n_estimators=10, max_leaves=None).fit(X, y)
same: MyClassifier = fitted.set_params(max_depth=3)
regressor = SapwoodRegressor(
    objective=Quantile(0.9),
    growth=Symmetric("cosine"),
    boosting=Dart(0.1),
    sampling=Goss(0.2, 0.1),
    category_encoding={"city": "ordered", "street": Ordered(), "zip": ["frequency", Ordered()]},
    early_stopping_rounds=EarlyStopping(20, metric="rmse"),
    monotone_constraints={"age": 1},
    interaction_constraints=[["age", "income"], [2, 3]],
    callbacks=lambda progress: progress.round > 10,
    checkpoint=Path("checkpoint"),
    random_state=np.random.default_rng(0),
)
SapwoodClassifier(growth="levelwise", class_weight={"a": 1.0, "b": 2.0}, sampling="auto", verbose=True)
SapwoodClassifier(learning_rate=1, categorical_features=["city"], eval_metric=["auc", "log_loss"])
labels: np.ndarray = fitted.predict(X)
rounds: int = fitted.n_iter_ + fitted.best_iteration_
model: Model = fitted.model_
history: dict[str, dict[str, list[float]]] = fitted.evals_result_
loaded: Model = sapwood.load("model.sapwood")
trained: Model = sapwood.train({"objective": "logistic"}, X, y, eval_set=(X, y))
probabilities: np.ndarray = trained[:5].predict(X)
predictions: np.ndarray = sapwood.cv(SapwoodRegressor(), X, y, cv=3).predictions
