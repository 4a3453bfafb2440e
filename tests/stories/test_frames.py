"""Tables as users have them: other types, other columns, and what the errors say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError, SapwoodError
from tests.stories.people import QUICK, people


def test_nullable_types_and_strings_of_pandas():
    X, y, *_ = people()
    X = X.assign(
        age=X["age"].astype("Int64").mask(X["age"] > 60),
        flag=pd.array([True, None] * (len(X) // 2), dtype="boolean"),
        race=X["race"].astype("string"),
    )
    assert SapwoodClassifier(**QUICK).fit(X, y).score(X, y) > 0.75


def test_dates_and_durations():
    X, y, *_ = people()
    hours = pd.date_range("2020-01-01", periods=len(X), freq="h")
    local = hours.tz_localize("Europe/Oslo", nonexistent="shift_forward")
    X = X.assign(start=hours, spent=hours - hours[0], local=local)
    assert SapwoodClassifier(**QUICK).fit(X, y).predict(X).shape == (800,)


def test_polars_from_end_to_end():
    X, y, X_test, _ = people("polars")
    model = SapwoodClassifier(**QUICK).fit(X, pl.Series("income", y), eval_set=(X, y))
    assert model.feature_names_in_[0] == "age"
    assert isinstance(model.evals_frame(), pl.DataFrame)
    pandas = SapwoodClassifier(**QUICK).fit(*people()[:2])
    assert (model.predict_proba(X_test) == pandas.predict_proba(people()[2])).all()


def test_arrow_tables():
    pyarrow = pytest.importorskip("pyarrow", reason="reads an Arrow table")
    X, y, *_ = people()
    table = pyarrow.Table.from_pandas(X)
    expected = SapwoodClassifier(**QUICK).fit(X, y).predict(X)
    assert (SapwoodClassifier(**QUICK).fit(table, y).predict(table) == expected).all()


def test_labels_of_any_kind():
    X, y, X_test, _ = people()
    for labels in (np.where(y, "rich", "poor"), pd.Series(np.where(y, "rich", "poor")).astype("category"), y == 1):
        model = SapwoodClassifier(**QUICK).fit(X, labels)
        assert set(model.predict(X_test)) <= set(np.asarray(labels))


def test_columns_in_another_order_and_unknown_categories():
    X, y, X_test, _ = people()
    model = SapwoodClassifier(**QUICK).fit(X, y)
    assert (model.predict_proba(X_test[X_test.columns[::-1]]) == model.predict_proba(X_test)).all()
    moved = X_test.assign(native_country=["Atlantis"] * len(X_test))
    assert model.predict_proba(moved).shape == (300, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.drop(columns="age"), "age"),
        (lambda X: X.assign(shoe_size=42), "shoe_size"),
        (lambda X: X.assign(age="young"), "age"),
    ],
)
def test_columns_that_are_not_those_of_training_are_named(change, message):
    X, y, X_test, _ = people()
    with pytest.raises(SapwoodError, match=message):
        SapwoodClassifier(**QUICK).fit(X, y).predict(change(X_test))


def test_one_row_in_every_form():
    X, y, X_test, _ = people()
    model = SapwoodClassifier(**QUICK).fit(X, y)
    expected = model.predict(X_test)[0]
    for row in (X_test.iloc[[0]], X_test.iloc[0], dict(X_test.iloc[0])):
        assert model.predict(row).tolist() == [expected]


def test_habits_of_other_libraries_get_their_translation():
    X, y, X_test, y_test = people()
    for call, message in [
        (lambda: SapwoodClassifier(iterations=5), "n_estimators"),
        (lambda: SapwoodClassifier().set_params(num_leaves=5), "max_leaves"),
        (lambda: SapwoodClassifier().fit(X, y, cat_features=["race"]), "categorical_features"),
        (lambda: SapwoodClassifier().fit(X, y, eval_set=[(X_test, y_test)], verbose=False), "verbose"),
        (lambda: SapwoodClassifier(**QUICK).fit(X, y).save_model("m"), "save"),
    ]:
        with pytest.raises((SapwoodError, TypeError, AttributeError), match=message):
            call()


def test_attributes_before_fit_say_so():
    from sklearn.exceptions import NotFittedError

    for read in ("feature_importances_", "classes_", "best_iteration_", "evals_result_", "n_iter_", "model_"):
        with pytest.raises(NotFittedError, match=f"call fit before reading {read}|not fitted yet"):
            getattr(SapwoodClassifier(), read)
    assert not hasattr(SapwoodClassifier(), "model_")


def test_a_metric_of_two_classes_names_that_of_several():
    X, *_ = people()
    with pytest.raises(ParameterError, match="for several use 'f1_macro'"):
        SapwoodClassifier(eval_metric="f1").fit(X, X["race"].astype(str), eval_set=(X, X["race"].astype(str)))


def test_training_without_scikit_learn_habits():
    X, y, X_test, y_test = people()
    history: dict = {}
    params = {"objective": "binary", "eval_metric": ["auc", "f1"], **QUICK}
    model = sapwood.train(params, X, y, eval_set={"test": (X_test, y_test)}, evals_result=history)
    assert list(history["test"]) == ["auc", "f1"] and model.predict(X_test).shape == (300,)


def test_early_stopping_as_in_xgboost():
    X, y, X_test, y_test = people()
    metrics = ["log_loss", "auc"]
    model = SapwoodClassifier(n_estimators=300, learning_rate=0.5, early_stopping_rounds=5, eval_metric=metrics)
    model.fit(X, y, eval_set=[(X, y), (X_test, y_test)])
    assert model.best_score_ == min(model.evals_result_["validation_1"]["log_loss"]) and model.n_iter_ < 300


def test_a_list_of_lists():
    model = SapwoodRegressor(n_estimators=50, learning_rate=0.5).fit([[1, 2], [3, 4]] * 50, [1, 2] * 50)
    assert model.predict([[1, 2], [3, 4]]) == pytest.approx([1.0, 2.0], abs=0.1)
