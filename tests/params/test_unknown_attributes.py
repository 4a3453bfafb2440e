from __future__ import annotations

import copy

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodRegressor
from sapwood.params.unknown_attributes import INSTEAD

X = np.arange(60.0)[:, None]
FITTED = SapwoodRegressor(n_estimators=2).fit(X, X[:, 0])


@pytest.mark.parametrize("name", INSTEAD)
def test_names_of_other_libraries_are_answered_with_ours(name):
    for owner in (FITTED, FITTED.model_, sapwood):
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'; use "):
            getattr(owner, name)


def test_other_unknown_names_are_plain_errors():
    with pytest.raises(AttributeError, match=r"SapwoodRegressor has no attribute 'foo'$"):
        _ = FITTED.foo
    assert not hasattr(FITTED.model_, "foo")
    assert copy.deepcopy(FITTED).n_iter_ == 2


@pytest.mark.parametrize("owner", [FITTED, FITTED.model_])
def test_an_attribute_error_inside_a_property_is_not_hidden(owner, monkeypatch):
    monkeypatch.setattr(type(owner), "broken", property(lambda self: self.__class__.inner), raising=False)
    with pytest.raises(AttributeError, match="has no attribute 'inner'"):
        _ = owner.broken
