"""Parameters are kept as given; unknown names are refused with the nearest."""

from __future__ import annotations

import inspect

import pandas as pd
import pytest
from sklearn.base import clone

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError
from sapwood.params.declaration import FIELDS

BOTH = pytest.mark.parametrize("estimator", [SapwoodClassifier, SapwoodRegressor])


@pytest.mark.parametrize(
    "estimator, absent", [(SapwoodClassifier, set()), (SapwoodRegressor, {"class_weight", "classes"})]
)
def test_the_constructor_has_exactly_the_declared_parameters(estimator, absent):
    parameters = inspect.signature(estimator).parameters
    assert set(parameters) == set(FIELDS) - absent
    assert all(p.default == "auto" and p.kind is p.KEYWORD_ONLY for p in parameters.values())


@BOTH
def test_values_are_kept_as_given_and_unchecked(estimator):
    odd = object()
    assert estimator(max_leaves=odd).get_params()["max_leaves"] is odd


@BOTH
def test_a_clone_has_the_same_parameters(estimator):
    original = estimator(max_depth=None, learning_rate=0.5)
    assert clone(original).get_params() == original.get_params()


@BOTH
def test_a_foreign_name_in_the_constructor_is_a_type_error_with_ours(estimator):
    with pytest.raises(TypeError, match=r"unknown parameter num_leaves: did you mean max_leaves\?"):
        estimator(num_leaves=31)


def test_a_parameter_of_the_classifier_is_unknown_to_the_regressor():
    with pytest.raises(TypeError, match="unknown parameter class_weight"):
        SapwoodRegressor(class_weight="balanced")


@BOTH
def test_a_value_without_name_is_refused(estimator):
    with pytest.raises(TypeError, match="accepts only keyword arguments, got 100: pass it by its name"):
        estimator(100)


@BOTH
def test_set_params_refuses_a_misspelt_name_with_the_nearest(estimator):
    with pytest.raises(ParameterError, match=r"unknown parameter lerning_rate: did you mean learning_rate\?"):
        estimator().set_params(lerning_rate=0.1)


@BOTH
def test_set_params_sets_and_returns_the_estimator(estimator):
    made = estimator()
    assert made.set_params(max_leaves=7) is made
    assert made.get_params()["max_leaves"] == 7


@BOTH
def test_the_docstring_has_every_parameter_with_its_default_and_every_fitted_attribute(estimator):
    fitted = estimator(n_estimators=1).fit(pd.DataFrame({"a": range(40)}), [0] * 20 + [1] * 20)
    for name in inspect.signature(estimator).parameters:
        assert f"\n{name} : " in estimator.__doc__, name
        assert f", default={FIELDS[name].default!r}\n" in estimator.__doc__.split(f"\n{name} : ")[1], name
    attributes = {n for n in (*vars(fitted), *dir(estimator)) if n.endswith("_") and not n.startswith("_")}
    assert attributes > {"model_", "params_", "n_iter_", "feature_names_in_"}
    assert [name for name in attributes if f"\n{name} : " not in estimator.__doc__] == []


def test_the_docstring_of_the_constructor_is_not_repeated_in_that_of_the_class():
    assert SapwoodClassifier.__init__.__doc__ == "Store the parameters; they are checked by ``fit``."


@BOTH
def test_the_representation_shows_what_was_set(estimator):
    assert repr(estimator(max_leaves=7)) == f"{estimator.__name__}(max_leaves=7)"
