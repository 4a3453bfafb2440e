"""Finding losses and links."""

from __future__ import annotations

import pytest

from sapwood.errors import ModelFileError, ParameterError
from sapwood.objectives import Quantile, Squared, link_from_name, resolve, restore


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(ParameterError, match="did you mean 'quantile'"):
        resolve("quantil")


def test_a_foreign_name_gets_the_list():
    with pytest.raises(ParameterError, match="absolute, brier, cross_entropy"):
        resolve("xyz")


def test_an_object_is_itself():
    loss = Quantile(0.9)
    assert resolve(loss) is loss


def test_a_class_is_made():
    assert isinstance(resolve(Squared), Squared)


def test_anything_else_is_refused():
    with pytest.raises(ParameterError, match="objective=3"):
        resolve(3)


def test_losses_of_a_file_are_made_again():
    assert restore("quantile", {"level": [0.1, 0.9]}) == Quantile([0.1, 0.9])


def test_an_unknown_link_asks_for_a_later_version():
    with pytest.raises(ModelFileError, match="later version"):
        link_from_name("probit")
