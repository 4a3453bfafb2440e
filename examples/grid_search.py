"""Grid search with scikit-learn's GridSearchCV, on a table with missing values."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GridSearchCV

from sapwood import SapwoodRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, size=(2000, 4))
X[rng.random(X.shape) < 0.1] = np.nan  # missing values go to the side that training found better
y = np.nan_to_num(X[:, 0]) ** 2 + np.sin(3.0 * np.nan_to_num(X[:, 1])) + rng.normal(scale=0.1, size=len(X))

search = GridSearchCV(
    SapwoodRegressor(n_estimators=60),
    {"max_leaves": [7, 31], "preset": ["default", "xgboost"]},
    scoring="neg_root_mean_squared_error",
    cv=3,
)
search.fit(X, y)
print(f"best: {search.best_params_}, root mean squared error {-search.best_score_:.3f}")
print("importances:", np.round(search.best_estimator_.feature_importances_, 3))
