"""Save a model without pickle, load it with or without scikit-learn, and get the same predictions."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sapwood
from sapwood.datasets import load_adult

adult = load_adult()
X, y = adult.train
classifier = sapwood.SapwoodClassifier(n_estimators=50, max_leaves=15).fit(X, y)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "adult.sapwood"
    classifier.save(path)
    model = sapwood.load(path)  # needs no scikit-learn
    estimator = sapwood.SapwoodClassifier.load(path)  # the estimator, with its parameters

X_test, y_test = adult.test
labels = model.predict(X_test)
assert np.array_equal(labels, classifier.predict(X_test))
assert np.array_equal(model.predict_proba(X_test), classifier.predict_proba(X_test))
assert np.array_equal(estimator.predict(X_test), labels)
assert model.fingerprint() == classifier.model_.fingerprint()
print(f"{model}: accuracy {np.mean(labels == y_test):.4f}")
