from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.explain.importance import importance
from tests.explain.test_importance import model_of
from tests.explain.test_shapley import people
from tests.model.example_models import class_model
from tests.model.forests import small_tree


def test_a_hand_computes_the_features_that_reverse_the_order():
    """(0, 3) scores 1, (1, 1) scores 10. f0 > 0.5 in both: 20 and 10, a change of 19. f1 alone reverses nothing."""
    values = importance(model_of(small_tree()), "prediction_diff", [[0.0, 3.0, 0.0], [1.0, 1.0, 0.0]])
    np.testing.assert_allclose(values, [19.0, 0.0, 0.0], rtol=1e-13)


def test_categories_are_changed_too():
    X, y = people()
    model = SapwoodRegressor(n_estimators=10).fit(X, y)
    scores = model.predict_raw(X)
    job, age = X["job"], X["age"]
    first = np.flatnonzero((job == "diver") & (age < 40))[0]
    second = np.flatnonzero((job == "monk") & (age > 45) & (scores < scores[first]))[0]
    table = model.importance("prediction_diff", X.iloc[[first, second]])
    assert table.to_dict()["job"] > 0.0


def test_two_rows_of_one_output_are_needed():
    with pytest.raises(InputError, match="X has 3"):
        importance(model_of(small_tree()), "prediction_diff", np.zeros((3, 3)))
    with pytest.raises(InputError, match="pass them as X"):
        importance(model_of(small_tree()), "prediction_diff")
    with pytest.raises(ParameterError, match="3 outputs"):
        importance(class_model(3), "prediction_diff", np.zeros((2, 4)))
