"""Values of parameters as JSON values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sapwood import Goss, Symmetric
from sapwood.objectives import CustomLoss, Quantile
from sapwood.params.description import describe_value


def loss(y, score):
    return (y - score) ** 2


@pytest.mark.parametrize(
    "value, described",
    [
        (None, None),
        (0.5, 0.5),
        (np.float64(0.5), 0.5),
        (np.array([1, -1]), [1, -1]),
        ({"age": 1, 3: [True]}, {"age": 1, "3": [True]}),
        (Symmetric("cosine"), "Symmetric(score='cosine')"),
        ((Goss(0.2, 0.1), "mvs"), ["Goss(top=0.2, other=0.1, full_rounds=None)", "mvs"]),
        (Quantile(0.9), "Quantile(level=0.9)"),
        (loss, "loss"),
        (CustomLoss(loss), "CustomLoss"),
        (LinearRegression(), "LinearRegression"),
    ],
)
def test_values_become_json_that_is_the_same_in_every_process(value, described):
    assert describe_value(value) == described
    assert json.loads(json.dumps(describe_value(value))) == described
