"""Parameters of trees: names and values of scikit-learn, and errors that say what to write."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sapwood import EffectiveNumber, SapwoodTreeClassifier, SapwoodTreeRegressor
from sapwood.errors import InputError, InputTypeError, ParameterError

X, Y = np.arange(20.0).reshape(10, 2), [0, 1] * 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"criterion": "log_loss"}, "it is criterion='entropy' here"),
        ({"criterion": "C4.5"}, "criterion='gain_ratio' with missing='fractional'"),
        ({"criterion": "squared_error"}, "one of 'gini', 'entropy', 'gain_ratio'"),
        ({"max_depth": 0}, "max_depth must be an integer of at least 1, got 0"),
        ({"min_samples_leaf": 0}, "at least 1 .rows. or a float above 0 and at most 1"),
        ({"min_samples_split": 1}, "at least 2"),
        ({"min_samples_split": 1.5}, "fraction of the rows"),
        ({"max_features": "auto"}, "'sqrt', 'log2' or None"),
        ({"max_features": 0}, "max_features must be"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be an integer of at least 2"),
        ({"min_weight_fraction_leaf": 0.7}, "from 0 to 0.5"),
        ({"min_impurity_decrease": -1.0}, "min_impurity_decrease must be"),
        ({"ccp_alpha": -0.1}, "ccp_alpha must be a number of at least 0"),
        ({"category_splits": "ternary"}, "'auto', 'multiway', 'binary'"),
        ({"missing": "nan"}, "'learned', 'fractional'"),
        ({"oblique": 1}, "oblique must be True or False"),
        ({"class_weight": "balance"}, "class_weight must be"),
        ({"class_weight": 5}, "class_weight must be"),
        ({"class_weight": {7: 2.0}}, "which y does not contain"),
    ],
)
def test_wrong_values_are_errors_that_say_what_is_allowed(values, message):
    with pytest.raises(ParameterError, match=message):
        SapwoodTreeClassifier(**values).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("splitter", "splitter='best'"),
        ("monotonic_cst", "monotone_constraints"),
        ("num_leaves", "max_leaf_nodes"),
        ("min_data_in_leaf", "min_samples_leaf"),
        ("n_estimators", "single tree"),
        ("depth_of_tree", "the parameters are criterion, max_depth"),
    ],
)
def test_unknown_names_are_errors_that_say_what_to_use(name, message):
    with pytest.raises(InputTypeError, match=message):
        SapwoodTreeClassifier(**{name: 1})


def test_parameters_are_set_by_name():
    assert SapwoodTreeClassifier().set_params(max_depth=3).max_depth == 3
    with pytest.raises(ParameterError, match="splitter='best'"):
        SapwoodTreeClassifier().set_params(splitter="best")


def test_a_regressor_refuses_criteria_of_classifiers():
    with pytest.raises(ParameterError, match="'squared_error', 'absolute_error', got 'gini'"):
        SapwoodTreeRegressor(criterion="gini").fit(X, Y)
    with pytest.raises(ParameterError, match="objective='poisson'"):
        SapwoodTreeRegressor(criterion="poisson").fit(X, Y)


def test_wrong_data_are_errors():
    with pytest.raises(InputError, match="10 rows"):
        SapwoodTreeClassifier().fit(X, [0, 1])
    with pytest.raises(InputError, match="continuous"):
        SapwoodTreeClassifier().fit(X, np.arange(10) / 3.0)
    with pytest.raises(InputError, match="negative"):
        SapwoodTreeRegressor().fit(X, Y, sample_weight=[-1.0] * 10)
    with pytest.raises(NotFittedError):
        SapwoodTreeRegressor().predict(X)
    with pytest.raises(NotFittedError):
        SapwoodTreeRegressor().model_  # noqa: B018


def test_parameters_survive_clone():
    tree = SapwoodTreeClassifier(criterion="entropy", max_leaf_nodes=5, class_weight={0: 2.0})
    assert clone(tree).get_params() == tree.get_params()
    assert "max_leaf_nodes=5" in repr(tree)


def test_class_weights_multiply_the_sample_weights():
    y = np.array([0] * 8 + [1] * 2)
    rows = np.zeros((10, 1))
    assert SapwoodTreeClassifier().fit(rows, y).predict_proba([[0.0]])[0, 1] == pytest.approx(0.2)
    balanced = SapwoodTreeClassifier(class_weight="balanced").fit(rows, y)
    assert balanced.predict_proba([[0.0]])[0, 1] == pytest.approx(0.5)
    between = SapwoodTreeClassifier(class_weight=EffectiveNumber(0.9)).fit(rows, y).predict_proba([[0.0]])[0, 1]
    assert 0.2 < between < 0.5


def test_rows_of_weight_zero_are_left_out():
    weight = np.array([1.0] * 5 + [0.0] * 5)
    with_zeros = SapwoodTreeRegressor().fit(X, np.arange(10.0), weight)
    without = SapwoodTreeRegressor().fit(X[:5], np.arange(5.0))
    assert with_zeros.model_.fingerprint() == without.model_.fingerprint()


def test_only_a_whole_fit_changes_the_classes():
    tree = SapwoodTreeClassifier().fit(X, Y)
    tree.cost_complexity_pruning_path(X, list("ab") * 5)
    with pytest.raises(ParameterError, match="max_depth"):
        tree.set_params(max_depth=0).fit(X, list("abcde") * 2)
    assert tree.classes_.tolist() == [0, 1]
    assert tree.predict(X).tolist() == Y


def test_weights_that_leave_no_row_are_refused():
    with pytest.raises(InputError, match="class_weight leaves no row with a positive weight"):
        SapwoodTreeClassifier(class_weight={0: 0.0, 1: 0.0}).fit(X, Y)


def test_booleans_of_numpy_are_booleans():
    assert SapwoodTreeClassifier(oblique=np.True_).fit(X, Y).tree_.n_leaves > 1


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (SapwoodTreeRegressor(criterion="log_loss"), "it is for classes: use SapwoodTreeClassifier"),
        (SapwoodTreeRegressor(criterion="cart"), "criterion='squared_error'"),
        (SapwoodTreeClassifier(criterion="mse"), "it is for numbers: use SapwoodTreeRegressor"),
        (SapwoodTreeClassifier(criterion="cart"), "criterion='gini'"),
    ],
)
def test_hints_name_criteria_of_the_same_task(tree, message):
    with pytest.raises(ParameterError, match=message):
        tree.fit(X, Y)
