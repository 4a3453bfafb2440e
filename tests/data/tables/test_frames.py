"""Names of the columns of data frames."""

from __future__ import annotations

import pandas as pd
import pytest

from sapwood.data.tables.table import read_table


def test_names_are_any_string():
    table = read_table(pd.DataFrame([[1, 2, 3]], columns=["", "größe 🌳", "a\nb"]))
    assert table.names == ("", "größe 🌳", "a\nb")
    assert table.has_string_names


@pytest.mark.parametrize("labels", [[0, 1], ["a", 1], [("a", 1), ("b", 2)], [1.5, None]])
def test_other_labels_are_named_by_their_string(labels):
    table = read_table(pd.DataFrame([[1.0, 2.0]], columns=pd.Index(labels, dtype=object)))
    assert table.names == tuple(str(label) for label in labels)
    assert not table.has_string_names
