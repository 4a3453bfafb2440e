"""Encodings of categorical columns: the values that their fields accept."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import Auto, Crossing, Holdout, OneHot, Ordered, Partition
from sapwood.errors import ParameterError
from sapwood.params.encodings import ENCODINGS, crossing_of, encodings_of

WRONG = [
    (Partition, {"smoothing": "1"}),
    (Holdout, {"fraction": None}),
    (Ordered, {"priors": 3}),
    (Ordered, {"priors": (float("nan"),)}),
    (Ordered, {"prior_weight": "1"}),
    (Auto, {"statistic": OneHot()}),
    (Crossing, {"columns": 9}),
    (Crossing, {"number_levels": 1}),
    (Crossing, {"priors": 0.5}),
    (Crossing, {"priors": ()}),
]


@pytest.mark.parametrize(("encoding", "given"), WRONG, ids=str)
def test_a_field_of_the_wrong_kind_is_named_with_what_is_allowed(encoding, given):
    (name,) = given
    with pytest.raises(ParameterError, match=rf"{encoding.__name__}: {name} must be .*, got"):
        encoding(**given)


def test_priors_become_plain_numbers():
    assert repr(Ordered(priors=[np.float32(0.5)])) == repr(Ordered(priors=(0.5,)))
    assert Crossing(priors=[np.float32(0.5), None]) == Crossing(priors=(0.5, None))


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_name_stands_for_an_encoding_with_default_settings(name):
    (encoding,) = encodings_of(name)
    assert encoding == ENCODINGS[name]()
    assert encoding.name == name


def test_an_integer_combines_categorical_columns_only():
    assert crossing_of(3) == Crossing(3, number_levels=0)
    assert crossing_of(Crossing(2, 16)) == Crossing(2, 16)
