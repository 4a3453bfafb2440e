"""What users can catch."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor, errors

BUILT_IN = {
    "InputError": ValueError,
    "SchemaError": ValueError,
    "InputTypeError": TypeError,
    "ParameterError": ValueError,
    "TrainingError": RuntimeError,
    "OutOfMemoryError": MemoryError,
    "ModelFileError": ValueError,
    "CheckpointError": ValueError,
}


def test_the_errors_are_reached_from_the_package():
    assert sapwood.errors is errors


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_error_is_one_of_ours_and_one_of_pythons(name):
    assert issubclass(getattr(errors, name), (errors.SapwoodError)) and issubclass(
        getattr(errors, name), BUILT_IN[name]
    )


def test_every_error_is_in_the_list():
    made = {name for name, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.SapwoodError)}
    assert made == {*BUILT_IN, "SapwoodError"}


def test_every_error_stands_in_the_picture():
    for name in (*BUILT_IN, "SapwoodWarning"):
        assert name in (errors.__doc__ or "")


PERMUTED = pd.DataFrame({"a": range(60)}), pd.Series(range(60), index=range(59, -1, -1))


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("one class", lambda: SapwoodClassifier().fit([[0.0], [1.0]], [1, 1])),
        ("no tree could be split", lambda: SapwoodRegressor(effort="fast").fit([[0.0], [1.0]], [0.0, 1.0])),
        ("no tree could be split", lambda: sapwood.train({"effort": "fast"}, [[0.0], [1.0]], [0.0, 1.0])),
        (
            "classes in 40 rows",
            lambda: SapwoodClassifier(effort="fast").fit(np.arange(40.0)[:, None], range(40)),
        ),
        ("index of X in another order", lambda: SapwoodRegressor(effort="fast").fit(*PERMUTED)),
        ("column-vector", lambda: SapwoodRegressor(effort="fast").fit(*np.ones((2, 60, 1)))),
    ],
    ids=["one class", "no split", "no split of train", "many classes", "index", "column vector"],
)
def test_a_warning_names_the_line_that_called_sapwood(message, call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert [one.filename for one in found if message in str(one.message)] == [__file__]
