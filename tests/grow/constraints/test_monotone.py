"""Monotone constraints hold for every input, in every growth, search and loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.objectives import Squared
from sapwood.objectives.links import LINKS
from sapwood.objectives.registry import resolve
from tests.grow.constraints.boxes import steps_against
from tests.grow.constraints.tables import LOSSES, N_FEATURES, WAYS, fit, rows

DIRECTIONS = {0: 1, 1: -1, 4: 1}
CONSTRAINED = {"monotone_constraints": DIRECTIONS}
ONE_SCORE = [name for name, loss in LOSSES.items() if loss.task != "multiclass" and not loss.vector_leaves]
SEVERAL_CLASSES = [name for name, loss in LOSSES.items() if loss.task == "multiclass"]


def violations(model, directions: dict[int, int] = DIRECTIONS) -> int:
    return sum(
        steps_against(tree, feature, direction, N_FEATURES)
        for tree in model.ensemble
        for feature, direction in directions.items()
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ONE_SCORE)
def test_no_two_leaves_answer_against_a_direction(loss, way):
    model = fit(LOSSES[loss], **CONSTRAINED, **WAYS[way]).model_
    assert (model.ensemble.feature >= 0).any()
    assert violations(model) == 0


@pytest.mark.parametrize("loss", SEVERAL_CLASSES)
def test_several_classes_are_refused_with_the_reason(loss):
    with pytest.raises(ParameterError, match="is not supported with monotone_constraints"):
        fit(LOSSES[loss], **CONSTRAINED)


@pytest.mark.parametrize("link", ["softmax", "one_vs_all"])
def test_probabilities_of_rising_scores_may_fall(link):
    scores = np.array([[0.0, 0.1], [0.0, 5.0], [0.0, 0.0]])  # no score falls from the first row to the second
    probability = LINKS[link].predict(scores)
    assert probability[1, 0] < probability[0, 0]


@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(["squared", "logistic", "poisson", "quantile", "exponential", "hinge"]),
    way=st.sampled_from(sorted(WAYS)),
)
@settings(max_examples=25, deadline=None)
def test_predictions_never_move_against_a_direction(seed, loss, way):
    model = fit(resolve(loss), **CONSTRAINED, **WAYS[way]).model_
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, N_FEATURES)) * 3
    for feature, direction in DIRECTIONS.items():
        moved = X.copy()
        moved[:, feature] += np.abs(random.normal(size=len(X))) * 3
        assert (direction * (model.predict(moved) - model.predict(X)) >= 0).all()


@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if loss.vector_leaves])
def test_directions_that_are_all_free_do_not_refuse_vector_leaves(loss):
    assert fit(LOSSES[loss], monotone_constraints=[0] * N_FEATURES).model_.ensemble.width == 3


@pytest.mark.parametrize("way", WAYS)
def test_the_target_does_pull_against_the_directions(way):
    assert violations(fit(Squared(), **WAYS[way]).model_) > 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "quantile"])
def test_scores_never_move_against_a_direction_at_any_cut(loss, way):
    model = fit(LOSSES[loss], **CONSTRAINED, **WAYS[way]).model_
    X = rows(LOSSES[loss])[0][:40]
    for feature, direction in DIRECTIONS.items():
        cuts = np.unique(model.ensemble.threshold[model.ensemble.feature == feature])
        places = np.concatenate([[-np.inf], cuts, np.nextafter(cuts, np.inf), [np.inf]])
        moved = np.repeat(X[:, None, :], len(places), axis=1)
        moved[:, :, feature] = np.sort(places)
        scores = model.predict_raw(moved.reshape(-1, N_FEATURES)).reshape(len(X), len(places), -1)
        assert (direction * np.diff(scores, axis=1) >= 0).all()


@pytest.mark.parametrize("growth", ["leafwise", "levelwise", "symmetric"])
def test_directions_hold_with_sampled_rows_and_columns_groups_and_limited_steps(growth):
    more = {"subsample": 0.6, "colsample_bytree": 0.8, "colsample_bynode": 0.7, "max_delta_step": 0.5, "reg_alpha": 0.3}
    groups = {"interaction_constraints": [[0, 1, 2], [3, 4]]}
    for loss in ("squared", "absolute", "logistic"):
        assert violations(fit(LOSSES[loss], growth=growth, **CONSTRAINED, **more, **groups).model_) == 0


def test_a_constrained_model_still_learns():
    X, y, _ = rows(Squared())
    fitted = fit(Squared(), n_estimators=40, **CONSTRAINED)
    assert fitted.score(X, y) > 0.5
