from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from sapwood import Auto, Crossing, Goss, LastRows, Ordered
from sapwood.errors import ParameterError
from sapwood.estimators.parameter_values import from_json, to_json
from sapwood.objectives import CustomLoss, Huber, Quantile
from sapwood.params import encodings, options

VALUES = [
    None, True, 3, 0.5, "auto", [1, "a", None], (0.1, 0.9), {"a": 1, 2: [3]}, {0: 1.5}, Goss(0.3, 0.1), LastRows(0.2),
    Ordered(priors=(0.0, 1.0)), {"city": [Ordered(), "frequency"]}, Crossing(2, 8), Auto(), Quantile(0.9), Huber(2.0),
    Quantile((0.1, 0.9)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_as_they_were(value):
    again = from_json(json.loads(json.dumps(to_json(value))))
    assert repr(again) == repr(value)
    assert type(again) is type(value)


@pytest.mark.parametrize("module", [options, encodings])
def test_every_option_comes_back(module):
    kinds = [kind for kind in vars(module).values() if dataclasses.is_dataclass(kind) and isinstance(kind, type)]
    made = [kind() for kind in kinds if all(f.default is not dataclasses.MISSING for f in dataclasses.fields(kind))]
    assert len(made) > 5
    for option in made:
        assert from_json(to_json(option)) == option


def test_numbers_of_numpy_are_plain():
    assert to_json({"a": np.float64(0.5)}) == {"$items": [["a", 0.5]]}
    assert to_json(np.array([1, 2])) == [1, 2]
    assert type(from_json(to_json(Quantile))) is Quantile


@pytest.mark.parametrize(
    "value", [len, object(), [print], CustomLoss(lambda y, f: (y - f) ** 2), {"f": print}], ids=str
)
def test_functions_have_no_form(value):
    with pytest.raises(TypeError, match="no form in JSON"):
        to_json(value)


@pytest.mark.parametrize(
    "described",
    [
        {"$option": "Popen", "settings": {"$items": []}},
        {"$option": "dataclass", "settings": {"$items": []}},
        {"$option": "ParameterError", "settings": {"$items": []}},
        {"$option": "Goss", "settings": {"$items": [["top", -1.0]]}},
        {"$option": "Goss", "settings": {"$items": [["code", "x"]]}},
        {"$loss": "nothing", "settings": {"$items": []}},
        {"other": 1},
        {"$items": [[[1], 2]]},
    ],
    ids=str,
)
def test_anything_else_in_a_file_is_an_error(described):
    with pytest.raises((ParameterError, TypeError, LookupError, ValueError)):
        from_json(described)
