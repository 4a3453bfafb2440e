"""Save a model without pickle, load it without scikit-learn, and get the same predictions."""

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
    model = sapwood.load(path)

X_test, y_test = adult.test
probability = model.predict(X_test)  # of the second class
assert np.array_equal(probability, classifier.predict_proba(X_test)[:, 1])
assert model.fingerprint() == classifier.model_.fingerprint()
print(f"{model}: accuracy {np.mean((probability > 0.5) == y_test):.4f}")
