"""Types of columns as docs/inputs.md lists them, and which columns are categorical."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.inspection import permutation_importance

import sapwood
from sapwood import AutoCategorical, SapwoodRegressor
from sapwood.errors import InputError, InputTypeError, ParameterError

RNG = np.random.default_rng(0)
N = 200
CODE = RNG.integers(0, 5, N)
Y = np.array([3.0, -1.0, 4.0, 0.0, 7.0])[CODE]
NOISE = RNG.normal(size=N)
SMALL = {"n_estimators": 20, "learning_rate": 0.5, "min_child_samples": 5}
DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(CODE, "D")

CATEGORICAL = {
    "ordered categories": pd.Categorical(np.array(list("abcde"))[CODE], categories=list("edcba"), ordered=True),
    "numeric strings": CODE.astype(str).astype(object),
    "categories of integers": pd.Categorical(CODE),
    "categories of fractions": pd.Categorical((CODE - 2) / 10),
    "categories of intervals (pd.cut)": pd.cut(CODE + 0.5, 5),
    "categories of periods": pd.Categorical(pd.period_range("2020-01", periods=5, freq="M")[CODE]),
    "categories of dates": pd.Categorical(DAYS),
    "nullable strings": pd.array(CODE.astype(str), dtype="string"),
    "strings and numbers": np.where(CODE > 2, CODE.astype(object), np.array(list("abcde"))[CODE]),
}
NUMERIC = {
    "dates": DAYS,
    "dates with a time zone": DAYS.tz_localize("Europe/Paris"),
    "objects of dates": np.array([datetime.date(2020, 1, 1 + k) for k in CODE.tolist()], dtype=object),
    "durations": pd.to_timedelta(CODE, "h"),
    "periods": pd.period_range("2020-01", periods=5, freq="M")[CODE],
    "decimals": np.array([decimal.Decimal(k) / 10 for k in CODE.tolist()], dtype=object),
    "nullable integers": pd.array(CODE, dtype="Int64"),
    "nullable floats": pd.array(CODE / 2, dtype="Float64"),
    "Arrow integers of pandas": pd.array(CODE, dtype="int64[pyarrow]"),
}
REFUSED = {
    "bytes": (np.array([b"a", b"b", b"c", b"d", b"e"], dtype=object)[CODE], r"'x'.*bytes.*decode\('utf-8'\)"),
    "intervals": (pd.arrays.IntervalArray.from_arrays(CODE, CODE + 1), r"'x', row 0.*an interval.*\.array\.mid"),
    "tuples": (pd.Series([(k,) for k in CODE.tolist()]), r"'x', row 0 holds .* of type tuple"),
    "complex numbers": (CODE + 1j, r"'x'.*[Cc]omplex"),
}


def frame_of(column) -> pd.DataFrame:
    return pd.DataFrame({"x": column, "noise": NOISE})


def check_same_rows(fitted: SapwoodRegressor, frame: pd.DataFrame) -> None:
    """Assert that single rows in every form have the predictions of the table."""
    expected = fitted.predict(frame)
    assert np.abs(expected - Y).max() < 0.5
    for k in (0, 7):
        for row in (frame.iloc[[k]], frame.iloc[k], frame.iloc[k].to_dict(), frame.iloc[[k]].to_dict("records")):
            np.testing.assert_array_equal(fitted.predict(row), expected[[k]])
        assert fitted.model_.predictor().predict(frame.iloc[k].to_dict()) == expected[k]


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_columns_of_categories_are_categorical(kind, tmp_path):
    frame = frame_of(CATEGORICAL[kind])
    fitted = SapwoodRegressor(**SMALL).fit(frame, Y)
    assert fitted.model_.schema.categorical_columns == (0,)
    check_same_rows(fitted, frame)
    fitted.save(tmp_path / "m.sapwood")
    np.testing.assert_array_equal(sapwood.load(tmp_path / "m.sapwood").predict(frame), fitted.predict(frame))


@pytest.mark.parametrize("kind", NUMERIC)
def test_columns_of_numbers_and_times_are_numeric(kind):
    frame = frame_of(NUMERIC[kind])
    fitted = SapwoodRegressor(**SMALL).fit(frame, Y)
    assert fitted.model_.schema.categorical_columns == ()
    check_same_rows(fitted, frame)


@pytest.mark.parametrize("kind", REFUSED)
def test_other_columns_are_refused_with_the_remedy(kind):
    column, message = REFUSED[kind]
    with pytest.raises((InputError, InputTypeError), match=message):
        SapwoodRegressor().fit(frame_of(column), Y)


@pytest.mark.parametrize("kind", ["intervals", "periods"])
def test_intervals_and_periods_can_be_named_as_categories(kind):
    column = REFUSED["intervals"][0] if kind == "intervals" else NUMERIC["periods"]
    check_same_rows(SapwoodRegressor(categorical_features=["x"], **SMALL).fit(frame_of(column), Y), frame_of(column))


def test_the_order_of_categories_does_not_matter():
    ordered, plain = (pd.Categorical(np.array(list("abcde"))[CODE], ordered=is_ordered) for is_ordered in (True, False))
    models = [SapwoodRegressor(**SMALL).fit(frame_of(column), Y).model_ for column in (ordered, plain)]
    assert models[0].fingerprint() == models[1].fingerprint()


# --- numbers as categories --------------------------------------------------------------------------------------------


def test_categories_of_numbers_are_accepted_where_training_had_numbers():
    frame = frame_of(CODE / 4)
    fitted = SapwoodRegressor(**SMALL).fit(frame, Y)
    as_category = frame.astype({"x": "category"})
    np.testing.assert_array_equal(fitted.predict(as_category), fitted.predict(frame))
    np.testing.assert_array_equal(fitted.predict(as_category[:1]), fitted.predict(frame[:1]))
    holes = as_category.assign(x=as_category["x"].where(CODE > 0))
    np.testing.assert_array_equal(fitted.predict(holes), fitted.predict(frame.assign(x=frame["x"].where(CODE > 0))))


def test_permutation_importance_takes_a_frame_with_categories_of_numbers():
    frame = frame_of(CODE).astype({"x": "category"})
    fitted = SapwoodRegressor(**SMALL).fit(frame_of(CODE), Y)
    found = permutation_importance(fitted, frame, Y, n_repeats=2, random_state=0).importances_mean
    assert found[0] > 0.5 > found[1]


def test_categories_of_strings_are_still_refused_for_numbers():
    fitted = SapwoodRegressor(**SMALL).fit(frame_of(CODE), Y)
    with pytest.raises(
        InputTypeError, match=r"column 'x' holds strings, but SapwoodRegressor expects a numeric column"
    ):
        fitted.predict(frame_of(pd.Categorical(CODE.astype(str))))


def test_declared_fractions_match_plain_ones_at_prediction():
    fitted = SapwoodRegressor(**SMALL).fit(frame_of(pd.Categorical((CODE - 2) / 10)), Y)
    plain = frame_of((CODE - 2) / 10)
    np.testing.assert_array_equal(fitted.predict(plain), fitted.predict(plain.astype({"x": "category"})))
    np.testing.assert_array_equal(fitted.predict(pl.from_pandas(plain)), fitted.predict(plain))
    assert fitted.predict({"x": -0.1, "noise": 0.0})[0] == pytest.approx(-1.0, abs=0.5)


def test_fractions_that_nobody_declared_are_still_refused():
    with pytest.raises(InputError, match=r"column 'x' holds .* not an integer and cannot be a category"):
        SapwoodRegressor(categorical_features=["x"]).fit(frame_of(CODE / 10), Y)


# --- categorical_features ---------------------------------------------------------------------------------------------

MIXED = pd.DataFrame({"city": np.array(list("abcde"))[CODE], "zip": CODE, "size": pd.Categorical(CODE), "age": NOISE})
SPECS = {
    "auto": ("auto", (0, 2)),
    "plus": (AutoCategorical(plus=["zip"]), (0, 1, 2)),
    "minus": (AutoCategorical(minus=["size"]), (0,)),
    "plus and minus": (AutoCategorical(plus="zip", minus=[2]), (0, 1)),
    "numbers": (AutoCategorical(plus=[1]), (0, 1, 2)),
    "a dict": ({"zip": True, "size": False}, (0, 1)),
    "names": (["city", "zip", "size"], (0, 1, 2)),
    "a list of numbers": ([0, 1], (0, 1)),
    "a mask": ([True, True, False, False], (0, 1)),
    "an array": (np.array([True, False, True, False]), (0, 2)),
}


@pytest.mark.parametrize("spec", SPECS)
def test_categorical_features_in_every_form(spec):
    chosen, expected = SPECS[spec]
    fitted = SapwoodRegressor(categorical_features=chosen, **SMALL).fit(MIXED, Y)
    assert fitted.model_.schema.categorical_columns == expected
    assert np.isfinite(fitted.predict(MIXED)).all()


def test_auto_with_exceptions_is_saved_and_loaded(tmp_path):
    fitted = SapwoodRegressor(categorical_features=AutoCategorical(plus=["zip"]), **SMALL).fit(MIXED, Y)
    fitted.save(tmp_path / "m.sapwood")
    assert SapwoodRegressor.load(tmp_path / "m.sapwood").categorical_features == AutoCategorical(plus=["zip"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (lambda: AutoCategorical(plus=["town"]), r"no column 'town'; the columns are 'city'"),
        (lambda: AutoCategorical(plus=["zip"], minus=["zip"]), r"'zip' is both in plus and in minus"),
        (lambda: {"zip": "yes"}, r"categorical_features must be .*AutoCategorical"),
        (lambda: "all", r"categorical_features must be"),
    ],
)
def test_wrong_categorical_features_are_refused(spec, message):
    with pytest.raises(ParameterError, match=message):
        SapwoodRegressor(categorical_features=spec()).fit(MIXED, Y)


def test_a_column_of_strings_cannot_be_numeric():
    with pytest.raises(InputTypeError, match=r"column 'city' holds strings"):
        SapwoodRegressor(categorical_features=AutoCategorical(minus=["city"])).fit(MIXED, Y)
