"""Categorical columns of a data frame: the encoding chosen by default, and others by column."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sapwood import Ordered, SapwoodClassifier

rng = np.random.default_rng(0)
n_rows = 6_000
carrier = rng.choice(["AA", "DL", "UA", None], n_rows, p=[0.4, 0.3, 0.2, 0.1])  # missing is a category of its own
airport = rng.integers(0, 200, n_rows)
hour = rng.uniform(5.0, 23.0, n_rows)
flights = pd.DataFrame({"carrier": carrier, "airport": [f"A{number:03}" for number in airport], "hour": hour})
logit = 0.15 * (hour - 14.0) + 0.8 * (carrier == "UA") + 0.7 * np.sin(airport)
is_late = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-logit))
train, test = slice(0, 4_500), slice(4_500, None)

for name, encoding in {
    "chosen by default": "auto",
    "ordered statistics": "ordered",
    "by column": {"carrier": "one_hot", "airport": Ordered(prior_weight=5.0)},
}.items():
    model = SapwoodClassifier(category_encoding=encoding, n_estimators=50).fit(flights[train], is_late[train])
    used = {column: entry["encoding"] for column, entry in model.model_.encodings.items()}
    print(f"{name}: accuracy {model.score(flights[test], is_late[test]):.3f}, {used}")
