"""Early stopping on rows split off, with a refit on all rows; on an evaluation set; and cross-validation."""

from __future__ import annotations

import numpy as np

import sapwood
from sapwood import SapwoodClassifier
from sapwood.datasets import load_adult

adult = load_adult()
X, y = adult.train
X_test, y_test = adult.test

# A stratified tenth of the rows is split off; refit=True then trains on all rows for the best number of rounds.
settings = {"n_estimators": 1000, "learning_rate": 0.3, "early_stopping_rounds": 10}
classifier = SapwoodClassifier(eval_metric=["log_loss", "auc"], refit=True, **settings).fit(X, y)
history = classifier.evals_result_["validation"]
print(f"{classifier.stopped_} after {len(history['log_loss'])} rounds, best round {classifier.best_iteration_}")
print(f"validation: log loss {classifier.best_score_:.4f}, AUC {history['auc'][classifier.best_iteration_ - 1]:.4f}")
print(f"test: accuracy {classifier.score(X_test, y_test):.4f}")

# An evaluation set. For rows in temporal order, use validation_fraction=sapwood.LastRows(0.1) instead.
with_set = SapwoodClassifier(**settings).fit(X, y, eval_set={"test": (X_test, y_test)})
print(f"on the evaluation set: {with_set.best_iteration_} rounds, log loss {with_set.best_score_:.4f}")

# Out-of-fold predictions: every row is predicted by a model that was not trained on it.
result = sapwood.cv(SapwoodClassifier(n_estimators=60, learning_rate=0.3), X, y, cv=3)
accuracy = np.mean((result.predictions[:, 1] > 0.5) == y)
print(f"{result}: accuracy {accuracy:.4f}, best after {result.best_iteration} rounds")
