"""What users can catch."""

from __future__ import annotations

import inspect

import pytest

import sapwood
from sapwood import errors

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
