from __future__ import annotations

import dataclasses
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.data.tables.table import read_table
from sapwood.errors import InputError, InputTypeError, SchemaError

ROWS = [{"a": 1.0, "b": "x"}, {"b": None, "a": 2}, {"a": None, "b": "y"}]
FRAME = pd.DataFrame({"a": np.arange(90.0), "b": np.resize(["x", "y", "z"], 90), "c": np.arange(90) % 7})
Y = FRAME["a"] + 20.0 * (FRAME["b"] == "y")


def test_a_list_of_dicts_is_a_table_with_names():
    table = read_table(ROWS)
    assert table.names == ("a", "b")
    assert table.string_columns == (1,)
    assert next(table.matrices(5, 0, 1))[1][:, 0].tolist()[:2] == [1.0, 2.0]
    assert table.categorical_column(1).categories == ("x", "y")


def test_dicts_train_the_model_of_the_frame():
    by_frame = SapwoodRegressor(n_estimators=5).fit(FRAME, Y)
    by_dicts = SapwoodRegressor(n_estimators=5).fit(FRAME.to_dict("records"), Y)
    assert by_dicts.model_.fingerprint() == by_frame.model_.fingerprint()
    assert by_dicts.feature_names_in_.tolist() == ["a", "b", "c"]


def test_errors_of_dicts_name_row_and_column():
    with pytest.raises(SchemaError, match=r"row 1 of X has no value for 'b': add it"):
        read_table([ROWS[0], {"a": 1}])
    with pytest.raises(InputTypeError, match=r"column 'a', row 1 holds 'one'"):
        list(read_table([{"a": 1}, {"a": "one"}]).matrices(5))
    with pytest.raises(InputError, match=r"its value for column 'a' is of type list.*a data frame made of the columns"):
        read_table({"a": [1, 2]}, to_predict=True)
    with pytest.raises(InputError, match=r"row 1 of X is of type list, but the first row is a dict"):
        read_table([ROWS[0], [1, 2]])


@pytest.mark.parametrize("X", [{"a": 1.0}, FRAME["a"], (1.0, 2.0), 3.0], ids=["dict", "Series", "tuple", "number"])
def test_a_row_is_no_table_to_train_on(X):
    with pytest.raises(InputError, match=r"Expected 2D array"):
        SapwoodRegressor().fit(X, [1.0])


FORMS = {
    "dict": lambda k: FRAME.iloc[k].to_dict(),
    "dict in another order": lambda k: dict(reversed(FRAME.iloc[k].to_dict().items())),
    "list of dicts": lambda k: FRAME.iloc[[k]].to_dict("records"),
    "Series": lambda k: FRAME.iloc[k],
    "named tuple": lambda k: next(FRAME.iloc[[k]].itertuples(index=False)),
    "frame": lambda k: FRAME.iloc[[k]],
    "list of named tuples": lambda k: list(FRAME.iloc[[k]].itertuples(index=False)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_row_is_predicted_as_in_a_table(form):
    classifier = SapwoodClassifier(n_estimators=5).fit(FRAME, Y > 50)
    for k in (0, 31, 89):
        row, expected = FORMS[form](k), classifier.predict_proba(FRAME)[[k]]
        for owner in (classifier, classifier.model_):
            np.testing.assert_array_equal(owner.predict_proba(row), expected)
            np.testing.assert_array_equal(owner.predict(row), classifier.predict(FRAME)[[k]])
            np.testing.assert_array_equal(owner.predict_raw(row), classifier.predict_raw(FRAME)[[k]])
        np.testing.assert_array_equal(classifier.apply(row), classifier.apply(FRAME)[[k]])
        if "list" not in form and form != "frame":
            np.testing.assert_array_equal(classifier.model_.predictor().predict_proba(row), expected[0])


def test_a_tuple_of_values_is_a_row_by_position():
    model = SapwoodRegressor(n_estimators=5).fit(FRAME, Y).model_
    np.testing.assert_array_equal(model.predict((3.0, "y", 2)), model.predict([[3.0, "y", 2]]))
    np.testing.assert_array_equal(
        model.predict(((3.0, "y", 2), (4.0, "x", 1))), model.predict([[3.0, "y", 2], [4.0, "x", 1]])
    )


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, np.datetime64("NaT")], ids=repr)
@pytest.mark.parametrize("column", ["a", "b"])
def test_missing_values_of_a_row_are_those_of_a_frame(missing, column):
    model = SapwoodRegressor(n_estimators=5).fit(FRAME, Y).model_
    row = {"a": 3.0, "b": "y", "c": 2} | {column: missing}
    expected = model.predict(pd.DataFrame([{"a": 3.0, "b": "y", "c": 2} | {column: None}]))
    np.testing.assert_array_equal(model.predict(row), expected)
    assert model.predictor().predict(row) == expected[0]


def test_a_nameless_model_takes_dicts_by_number():
    fitted = SapwoodRegressor(n_estimators=3).fit(FRAME[["a", "c"]].to_numpy(), Y)
    np.testing.assert_array_equal(fitted.model_.predict({"f1": 3, "f0": 40.0}), fitted.predict(np.array([[40.0, 3.0]])))


def test_a_dict_with_an_unknown_key_is_refused_by_name():
    fitted = SapwoodRegressor(n_estimators=3).fit(FRAME, Y)
    Row = namedtuple("Row", ["a", "b", "d"])
    for row in ({"a": 1.0, "b": "x", "d": 2}, Row(1.0, "x", 2)):
        for call in (fitted.predict, fitted.model_.predict, fitted.model_.predictor().predict):
            with pytest.raises(SchemaError, match=r"no value for 'c'.*has 'd'"):
                call(row)


@dataclasses.dataclass
class Flat:
    size: float
    city: str


def test_structured_arrays_and_dataclasses_are_tables_with_names():
    sizes, cities = [float(k) for k in range(60)], ["near", "far", "nowhere"] * 20
    frame = pd.DataFrame({"size": sizes, "city": cities})
    structured = np.array(list(zip(sizes, cities, strict=True)), dtype=[("size", float), ("city", "U10")])
    flats = [Flat(size, city) for size, city in zip(sizes, cities, strict=True)]
    expected = SapwoodRegressor(n_estimators=5).fit(frame, sizes)
    for X in (structured, structured.view(np.recarray), flats):
        fitted = SapwoodRegressor(n_estimators=5).fit(X, sizes)
        assert fitted.model_.fingerprint() == expected.model_.fingerprint()
        assert fitted.feature_names_in_.tolist() == ["size", "city"]
        np.testing.assert_array_equal(fitted.predict(X[:7]), expected.predict(frame[:7]))
    assert expected.predict(flats[3]).tolist() == expected.predict(frame[3:4]).tolist()
    with pytest.raises(InputError, match="field 'pair' of X holds several values per row"):
        SapwoodRegressor().fit(np.zeros(9, dtype=[("pair", float, 2)]), range(9))
