"""Train on a sparse one-hot table: the model is that of the dense table. Compare GOSS, MVS and DART on it."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.metrics import log_loss
from sklearn.preprocessing import OneHotEncoder

from sapwood import Dart, Goss, SapwoodClassifier
from sapwood.datasets import load_adult

adult = load_adult(None, numeric_only=True)
(X, y), (X_test, y_test) = adult.train, adult.test

# One-hot columns are mutually exclusive, so that several of them share a byte (exclusive feature bundling).
encoder = OneHotEncoder(handle_unknown="ignore", min_frequency=30, dtype=np.float32).fit(X[:, [0, 2, 3, 5]])
one_hot, one_hot_test = (csr_matrix(encoder.transform(rows[:, [0, 2, 3, 5]])) for rows in (X, X_test))
print(f"{one_hot.shape[1]} columns, {one_hot.nnz / one_hot.shape[0]:.1f} values stored per row")

model = SapwoodClassifier(effort="fast").fit(one_hot, y)
dense = SapwoodClassifier(effort="fast", bundle=False).fit(one_hot.toarray(), y)
assert model.model_.fingerprint() == dense.model_.fingerprint()
print(f"all rows: log loss {log_loss(y_test, model.predict_proba(one_hot_test)):.4f}, the same from the dense table")

for name, settings in {
    "GOSS": {"sampling": Goss(top=0.2, other=0.1)},
    "MVS": {"sampling": "mvs", "subsample": 0.3},
    "DART": {"boosting": Dart(drop=0.1)},
}.items():
    other = SapwoodClassifier(**settings).fit(one_hot, y)
    print(f"{name}: log loss {log_loss(y_test, other.predict_proba(one_hot_test)):.4f}")
