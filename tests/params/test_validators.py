"""Validators: the values they accept, the plain types they return, the errors they raise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sapwood.errors import ParameterError
from sapwood.params.validators import boolean, check_signature, fraction, integer, number, one_of, or_none, read_only


@pytest.mark.parametrize(
    "validator, allowed, accepted, refused",
    [
        (number(0), "a number of at least 0", [0, 1e300], [-1e-9]),
        (number(0, above=True), "a number above 0", [1e-9], [0]),
        (number(0, 40), "a number from 0 to 40", [0, 40], [40.1]),
        (number(0, 1, above=True, below=True), "a number between 0 and 1", [0.5, Fraction(1, 3)], [0, 1]),
        (number(0, 1, below=True), "a number of at least 0 and below 1", [0, 0.9], [1]),
        (fraction(), "a number above 0 and at most 1", [0.1, 1], [0, 1.1]),
        (
            integer(2),
            "an integer of at least 2",
            [2, np.int64(9), 2.0, np.float32(3)],
            [1, 1.0, 2.5, float("inf"), "2", True],
        ),
        (integer(2, 4), "an integer from 2 to 4", [2, 4], [5]),
        (boolean(), "True or False", [True, np.bool_(False)], [0, 1, None]),
        (one_of("a", "b"), "one of 'a', 'b'", ["a"], ["c", ["a"]]),
        (or_none(integer(1), "unlimited"), "an integer of at least 1, or None (unlimited)", [1, None], [0]),
    ],
)
def test_a_validator_accepts_its_range_and_says_which_it_is(validator, allowed, accepted, refused):
    assert validator.allowed == allowed
    for value in accepted:
        validator.check("it", value)
    for value in refused:
        with pytest.raises(ParameterError) as caught:
            validator.check("it", value)
        assert str(caught.value) == f"it must be {allowed}, got {value!r}"


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), 10**400, np.array([0.5])], ids=repr)
def test_a_number_is_real_and_finite(value):
    assert not number(0).accepts(value)


def test_accepted_values_become_plain_types():
    checked = [number(0).check("", np.float32(0.5)), integer(0).check("", np.int8(3)), boolean().check("", np.bool_(1))]
    assert [type(value) for value in checked] == [float, int, bool]
    assert or_none(integer(0), "none").check("", None) is None


def test_a_function_of_the_wrong_arguments_is_named_with_those_it_must_take():
    with pytest.raises(ParameterError, match=r"callbacks: the function <lambda>\(a, b\) must take 1 argument"):
        check_signature(lambda a, b: None, "callbacks", "progress")
    check_signature(lambda *any_number: None, "callbacks", "progress")
    check_signature(dict.fromkeys, "callbacks", "progress")  # a signature that cannot be read is accepted


def test_a_read_only_view_leaves_the_array_writeable():
    array = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        read_only(array)[0] = 1.0
    array[0] = 1.0
