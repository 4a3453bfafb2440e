"""Option objects: the values that their fields accept."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import Bayesian, Dart, EffectiveNumber, Goss, LastRows, Linear, Mvs, Symmetric, Uniform
from sapwood.errors import ParameterError

WRONG = [
    (Uniform, {"replacement": "no"}),
    (Goss, {"top": "0.2"}),
    (Goss, {"other": None}),
    (Goss, {"top": np.array([0.2])}),
    (Goss, {"full_rounds": True}),
    (Mvs, {"smoothing": "much"}),
    (Mvs, {"smoothing": True}),
    (Bayesian, {"temperature": None}),
    (Dart, {"drop": "0.1"}),
    (Dart, {"skip": float("nan")}),
    (Dart, {"max_drop": True}),
    (Dart, {"weighted": "no"}),
    (LastRows, {"fraction": "half"}),
    (EffectiveNumber, {"beta": None}),
    (Linear, {"penalty": "1"}),
    (Symmetric, {"score": "gain"}),
    (Uniform, {"by": "columns"}),
    (Dart, {"normalise": None}),
]


@pytest.mark.parametrize(("choice", "given"), WRONG, ids=str)
def test_a_field_of_the_wrong_kind_is_named_with_what_is_allowed(choice, given):
    (name,) = given
    with pytest.raises(ParameterError, match=rf"{choice.__name__}: {name} must be .*, got"):
        choice(**given)


def test_numbers_of_numpy_become_plain():
    made = Dart(np.float32(0.25), skip=np.int64(0), max_drop=np.int64(4), weighted=np.bool_(True))
    assert made == Dart(0.25, 0.0, 4, True)
    assert [type(value) for value in (made.drop, made.skip, made.max_drop, made.weighted)] == [float, float, int, bool]


def test_shares_of_goss_that_exceed_all_rows_are_refused():
    with pytest.raises(ParameterError, match=r"sum of top and other must be at most 1, got top=0\.6, other=0\.5"):
        Goss(0.6, 0.5)
