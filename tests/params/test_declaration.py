"""Parameters are declared once."""

from __future__ import annotations

import dataclasses

import pytest

from sapwood.params.declaration import FIELDS, GROUPS, Params
from sapwood.params.resolve import resolve_params


def test_params_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        resolve_params({}, 1000, "regression").tree.max_leaves = 3  # type: ignore[misc]


def test_the_description_leaves_out_what_does_not_decide_the_model():
    given = {"n_jobs": 2, "objective": object(), "reg_lambda": 2.0}
    described = resolve_params(given, 1000, "regression").described()
    assert described["reg_lambda"] == 2.0
    assert described["max_depth"] is None
    assert described["objective"] == "object"
    assert "n_jobs" not in described


def test_no_parameter_is_declared_twice():
    names = [field.name for group in GROUPS.values() for field in dataclasses.fields(group)]
    assert sorted(names) == sorted(set(names))
    assert set(GROUPS) == {field.name for field in dataclasses.fields(Params)}


def test_every_parameter_has_a_description_of_sentences():
    for field in FIELDS.values():
        description = field.metadata["description"]
        assert description[0].isupper(), field.name
        assert description.endswith("."), field.name
