from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood import Crossing, SapwoodClassifier
from sapwood.data.tables.table import read_table
from sapwood.model.predict import row_transformer
from sapwood.model.predict.row_transformer import RowTransformer

RNG = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N).round(1), "letter": RNG.choice(list("abcdefgh"), N), "side": RNG.choice(["l", "r"], N),
        "digit": RNG.integers(0, 30, N),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 99, N), "D"),
    }
)  # fmt: skip
FRAME.loc[::9, "letter"] = None
FRAME.loc[::7, "x"] = np.nan
Y = (FRAME["x"].fillna(1.0) > 0) ^ (FRAME["letter"] == "c") ^ (FRAME["digit"] % 3 == 0)

SETTINGS = [
    {}, {"category_encoding": "one_hot"}, {"category_encoding": "partition"}, {"category_encoding": "ordered"},
    {"category_encoding": "ordered", "max_combination": 2},
    {"category_encoding": "ordered", "max_combination": Crossing(2)},
    {"category_encoding": ["frequency", "partition"]}, {"zero_as_missing": True},
]  # fmt: skip


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["looked up", "computed"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_features_of_a_row_are_those_of_the_table(settings, limit, monkeypatch):
    monkeypatch.setattr(row_transformer, "MAX_TABLE_VALUES", limit)
    settings = {"categorical_features": ["letter", "side", "digit"], "n_estimators": 8} | settings
    model = SapwoodClassifier(**settings).fit(FRAME, Y).model_
    transformer = model.bitsets.transformer
    aligned = model.schema.align(read_table(FRAME))
    expected = np.concatenate([matrix for _, matrix in transformer.transform(aligned).matrices(N)])
    one, found = RowTransformer(transformer, model.schema), np.empty_like(expected)
    for k in range(N):
        one.write([FRAME.iat[k, f] for f in range(FRAME.shape[1])], found[k])
    # Bitsets are compared as integers: as floats some are NaN.
    np.testing.assert_array_equal(found.view(np.int64), np.ascontiguousarray(expected).view(np.int64))
