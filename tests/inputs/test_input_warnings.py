"""What can be used, but is probably not what was meant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from sapwood.errors import SapwoodWarning
from tests.inputs.frame_cells import FRAME
from tests.inputs.input_cells import LABELS, N, X, Y, classifier, regressor, same_as_plain


def test_rows_are_matched_by_position_and_labels_in_another_order_are_warned_of():
    with pytest.warns(SapwoodWarning, match=r"y has the index of X in another order.*y.loc\[X.index\]"):
        fitted = regressor().fit(FRAME, pd.Series(Y, index=range(N - 1, -1, -1)))
    assert same_as_plain(fitted.predict(FRAME))


@pytest.mark.parametrize("index", [range(N), range(100, 100 + N), [f"row {k}" for k in range(N)], [0] * N])
def test_other_labels_are_nobodys_business(index):
    assert same_as_plain(regressor().fit(FRAME, pd.Series(Y, index=index)).predict(FRAME))


def test_weights_with_the_labels_in_another_order_are_warned_of():
    with pytest.warns(SapwoodWarning, match="sample_weight has the index of X"):
        regressor().fit(FRAME, Y, sample_weight=pd.Series(np.ones(N), index=range(N - 1, -1, -1)))


def test_labels_that_look_like_numbers_are_warned_of():
    with pytest.warns(SapwoodWarning, match="y has 40 classes in 40 rows: .* SapwoodRegressor"):
        classifier(n_estimators=1).fit(X, np.arange(N))


def test_300_classes_are_learned_without_a_word():
    table = np.repeat(np.arange(300.0), 4)[:, None]
    labels = np.repeat(np.arange(300), 4)
    fitted = classifier(n_estimators=1, learning_rate=1.0, min_child_weight=0.0, max_leaves=3).fit(table, labels)
    assert fitted.predict_proba(table).shape == (1200, 300)


@pytest.mark.parametrize("y", [Y[:, None], pd.DataFrame({"y": Y})], ids=["array", "frame"])
def test_a_target_of_one_column_is_taken_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match=r"pass y.ravel\(\) instead"):
        assert same_as_plain(regressor().fit(X, y).predict(X))


@pytest.mark.parametrize(("trained", "given"), [(FRAME, X), (X, FRAME)], ids=["array after frame", "frame after array"])
def test_names_on_one_side_only_are_warned_of_and_columns_taken_by_position(trained, given):
    fitted = regressor().fit(trained, Y)
    with pytest.warns(UserWarning, match="feature names"):
        assert same_as_plain(fitted.predict(given))


def test_functions_of_the_users_own_cannot_change_the_data():
    y = Y.copy()

    def greedy(y, prediction, weight):
        y[0] = 99.0
        return 0.0

    with pytest.raises(ValueError, match="read-only"):
        regressor(eval_metric=greedy).fit(X, y, eval_set=(X, y))
    assert np.array_equal(y, Y)


def test_what_a_callback_does_to_the_history_is_forgotten():
    fitted = regressor(callbacks=lambda progress: progress.evals["validation"]["rmse"].clear()).fit(
        X, Y, eval_set=(X, Y)
    )
    assert len(fitted.evals_result_["validation"]["rmse"]) == 3


def test_a_callback_stops_by_a_truth_value_of_numpys_too():
    assert regressor(callbacks=lambda progress: np.True_).fit(X, LABELS).stopped_ == "callback"
