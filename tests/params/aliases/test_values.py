"""Values of other libraries: refused with ours."""

from __future__ import annotations

import pytest

import sapwood
from sapwood.errors import ParameterError
from sapwood.params.aliases.values import VALUES
from sapwood.params.declaration import FIELDS
from sapwood.params.resolve import check_value

CASES = [(parameter, value, ours) for parameter, values in VALUES.items() for value, ours in values.items()]


@pytest.mark.parametrize("parameter, value, ours", CASES)
def test_a_value_of_others_is_refused_with_one_that_is_accepted(parameter, value, ours):
    with pytest.raises(ParameterError) as error:
        check_value(parameter, value)
    assert str(error.value).endswith(f", got {value!r}; did you mean {ours}?")
    if "=" in ours.partition("(")[0]:
        parameter, _, ours = ours.partition("=")
    check_value(parameter, eval(ours, vars(sapwood) | {"Uniform": sapwood.Uniform}))


def test_the_case_of_letters_is_no_riddle():
    with pytest.raises(ParameterError, match=r"class_weight must be .*, got 'Balanced'; did you mean 'balanced'\?$"):
        check_value("class_weight", "Balanced")


def test_other_values_are_refused_as_before():
    assert set(VALUES) <= set(FIELDS)
    for value in ("xyzzy", 3, None, [], {}):
        with pytest.raises(ParameterError) as error:
            check_value("boosting", value)
        assert str(error.value).endswith(f"got {value!r}")
