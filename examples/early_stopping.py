"""Stop when rows kept apart say so, then train on all rows; choose rounds by cross-validation instead."""

from __future__ import annotations

import numpy as np

import sapwood
from sapwood import SapwoodClassifier
from sapwood.datasets import load_adult

adult = load_adult()
X, y = adult.train
X_test, y_test = adult.test

# A tenth of the rows is split off, every class alike; refit=True then trains on all rows for as many rounds.
settings = {"n_estimators": 1000, "learning_rate": 0.3, "early_stopping_rounds": 10}
classifier = SapwoodClassifier(eval_metric=["log_loss", "auc"], refit=True, **settings).fit(X, y)
history = classifier.evals_result_["validation"]
print(f"{classifier.stopped_} after {len(history['log_loss'])} rounds, the best was {classifier.best_iteration_}")
print(f"validation: log loss {classifier.best_score_:.4f}, AUC {history['auc'][classifier.best_iteration_ - 1]:.4f}")
print(f"test: accuracy {classifier.score(X_test, y_test):.4f}")

# A set of your own, and the same with rows in the order of time: validation_fraction=sapwood.LastRows(0.1).
given = SapwoodClassifier(**settings).fit(X, y, eval_set={"test": (X_test, y_test)})
print(f"on a given set: {given.best_iteration_} rounds, log loss {given.best_score_:.4f}")

# Every row is predicted by a model that has not seen it.
found = sapwood.cv(SapwoodClassifier(n_estimators=60, learning_rate=0.3), X, y, cv=3)
right = np.mean((found.predictions[:, 1] > 0.5) == y)
print(f"{found}: {right:.4f} right, best after {found.best_iteration} rounds")
