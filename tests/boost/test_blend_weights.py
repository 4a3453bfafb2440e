"""Weights of a blend by greedy selection."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.boost.blend_weights import N_PICKS, select_weights


def squared_error(target):
    return lambda scores: float(((scores[0] - target) ** 2).mean())


def test_two_models_with_opposite_errors_share_the_weight():
    target = np.array([1.0, 2.0, 3.0])
    weights, loss = select_weights([target[None] + 0.5, target[None] - 0.5], squared_error(target))
    assert weights.tolist() == [0.5, 0.5]
    assert loss == pytest.approx(0.0)


def test_a_model_that_only_harms_gets_no_weight():
    target = np.array([1.0, 2.0, 3.0])
    weights, loss = select_weights([target[None] + 9.0, target[None]], squared_error(target))
    assert weights.tolist() == [0.0, 1.0]
    assert loss == 0.0


def test_errors_of_three_to_one_give_weights_of_one_to_three():
    # The mean of 3 times -0.1 and once 0.3 is 0: picks are b, a, b, b.
    target = np.zeros(2)
    weights, _ = select_weights([target[None] + 0.3, target[None] - 0.1], squared_error(target))
    assert weights.tolist() == [0.25, 0.75]


def test_of_equal_models_the_first_is_taken():
    same = np.array([[0.0, 1.0]])
    weights, _ = select_weights([same, same], squared_error(np.array([0.5, 0.5])))
    assert weights.tolist() == [1.0, 0.0]


def test_the_blend_is_never_worse_than_the_best_model():
    rng = np.random.default_rng(0)
    target = rng.normal(size=50)
    scores = [target[None] + rng.normal(size=(1, 50)) * s for s in (1.0, 1.2, 3.0)]
    weights, loss = select_weights(scores, squared_error(target))
    assert loss <= min(squared_error(target)(one) for one in scores)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights * N_PICKS >= 0).all()
