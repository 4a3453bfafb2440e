"""Labels and numbers of plots."""

from __future__ import annotations

import pytest

from sapwood.plot.axes import label, labels, number, shorten


def test_a_long_name_is_shortened_in_the_middle():
    assert shorten("x" * 30 + "-" + "y" * 49, 21) == "x" * 10 + "…" + "y" * 10
    assert len(shorten("z" * 80, 40)) == 40
    assert shorten("short", 40) == "short"


def test_labels_are_one_line_and_no_formula():
    assert label("a\nb  c") == "a b c"
    assert label("$x^2$") == r"\$x^2\$"
    assert label("_hidden") == " _hidden"
    assert label("") == "''"


def test_equal_labels_are_numbered():
    names = ["a" * 40 + str(k) + "b" * 40 for k in range(3)]
    assert len(set(labels(names, 20))) == 3
    assert labels(["x", "y"]) == ["x", "y"]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0"), (0.123456, "0.1235"), (12345.6, "12,346"), (3.2e11, "3.2e+11"), (1e-5, "1e-05")]
)
def test_numbers_have_few_digits(value, shown):
    assert number(value) == shown
