"""Categorical columns from the table to the model file and back."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sapwood
from sapwood import Dataset, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, InputTypeError, ModelFileError, ParameterError, SchemaError
from sapwood.model.io import safetensors_file, serialize
from sapwood.model.io.safetensors_file import parse_json
from sapwood.objectives import Softmax
from sapwood.params.encodings import ENCODINGS, Ordered, Partition

SMALL = {"n_estimators": 8, "max_leaves": 8}


def frame(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A column of eight categories that matters, one of two, a number, and ids."""
    source = np.random.default_rng(seed)
    effects = np.random.default_rng(99).normal(size=8)
    letter = source.integers(0, 8, n)
    side = source.integers(0, 2, n)
    x = source.normal(size=n)
    y = 2 * effects[letter] + np.where(side == 1, x, -x) + 0.3 * source.normal(size=n)
    X = pd.DataFrame(
        {
            "letter": np.array(list("abcdefgh"), dtype=object)[letter],
            "x": x,
            "side": np.array(["left", "right"], dtype=object)[side],
            "number": source.integers(0, 30, n),
        }
    )
    X.loc[source.uniform(size=n) < 0.1, "letter"] = None
    return X, y


X, Y = frame()
LABELS = np.digitize(Y, [-1.0, 1.0])


def error(estimator, rows: pd.DataFrame, y: np.ndarray) -> float:
    return float(np.mean((estimator.predict(rows) - y) ** 2))


@pytest.mark.parametrize("encoding", ["auto", *ENCODINGS])
def test_every_encoding_learns_from_a_category(encoding):
    test, y = frame(400, 1)
    fitted = SapwoodRegressor(category_encoding=encoding, **SMALL).fit(X, Y)
    without = SapwoodRegressor(**SMALL).fit(X[["x", "number"]], Y)
    assert error(fitted, test, y) < 0.9 * error(without, test[["x", "number"]], y)


@pytest.mark.parametrize("encoding", sorted(set(ENCODINGS) - {"leave_one_out"}))  # it tells the target of few rows
@pytest.mark.parametrize("labels", [LABELS > 1, LABELS], ids=["binary", "multiclass"])
def test_every_encoding_serves_classes(encoding, labels):
    fitted = SapwoodClassifier(category_encoding=encoding, **SMALL).fit(X, labels)
    assert fitted.score(X, labels) > 1.1 * np.bincount(labels.astype(int)).max() / len(labels)


def test_the_model_describes_the_encoding_of_each_column_and_the_reason():
    chosen = SapwoodRegressor(category_encoding={"side": "frequency"}, **SMALL).fit(X, Y).model_.encodings
    assert chosen["side"] == {"levels": 2, "encoding": ["frequency"], "reason": "as asked by category_encoding"}
    assert (chosen["letter"]["levels"], "8 levels" in chosen["letter"]["reason"]) == (8, True)
    assert set(chosen) == {"letter", "side"}


def test_importance_is_that_of_the_users_columns():
    fitted = SapwoodRegressor(category_encoding=["ordered", "one_hot", "frequency"], **SMALL).fit(X, Y)
    assert fitted.model_.n_columns > 4
    assert len(fitted.feature_importances_) == 4
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)
    assert np.argmax(fitted.feature_importances_) == 0
    assert fitted.importance("weight").sum() == np.count_nonzero(fitted.model_.ensemble.feature >= 0)


def test_splits_on_sets_are_drawn_with_their_categories():
    text = SapwoodRegressor(category_encoding="partition", **SMALL).fit(X, Y).model_.to_text()
    assert "letter in {'" in text


def test_trees_are_drawn_with_the_categories_they_split_on():
    text = SapwoodRegressor(category_encoding="one_hot", **SMALL).fit(X, Y).model_.to_text()
    assert "letter not in {'a'}" in text


CONTAINERS = {
    "pandas category": lambda X: X.astype({"letter": "category", "side": "category"}),
    "pandas string": lambda X: X.astype({"letter": "string"}),
    "polars": pl.from_pandas,
    "polars categorical": lambda X: pl.from_pandas(X).with_columns(pl.col("letter").cast(pl.Categorical)),
    "arrow": pa.Table.from_pandas,
    "arrow dictionary": lambda X: pa.Table.from_pandas(X.astype({"letter": "category"})),
    "objects": lambda X: X.to_numpy(dtype=object),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_container_changes_neither_model_nor_predictions(name):
    """N2."""
    expected = SapwoodRegressor(**SMALL).fit(X, Y)
    other = SapwoodRegressor(**SMALL).fit(CONTAINERS[name](X), Y)
    assert other.model_.fingerprint() == expected.model_.fingerprint()
    np.testing.assert_array_equal(expected.model_.predict(CONTAINERS[name](X)), expected.predict(X))


@pytest.mark.parametrize("members", ["1", "2", "3", "8"])
@pytest.mark.parametrize("boosting", ["plain", "ordered"])
@pytest.mark.parametrize("encoding", ["auto", "partition", "ordered", "leave_one_out", "holdout", "greedy"])
def test_any_number_of_threads_trains_the_same_model(monkeypatch, members, encoding, boosting):
    """N2."""
    params = {"category_encoding": encoding, "boosting": boosting} | SMALL
    expected = SapwoodClassifier(**params).fit(X, LABELS).model_.fingerprint()
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    assert SapwoodClassifier(**params).fit(X, LABELS).model_.fingerprint() == expected


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["auto", *ENCODINGS])
def test_the_file_is_the_same_model(tmp_path, encoding):
    fitted = SapwoodClassifier(category_encoding=encoding, **SMALL).fit(X, LABELS)
    fitted.save(tmp_path / "m.sapwood")
    loaded = sapwood.load(tmp_path / "m.sapwood")
    assert loaded.fingerprint() == fitted.model_.fingerprint()
    assert loaded.encodings == fitted.model_.encodings
    np.testing.assert_array_equal(loaded.predict_proba(pl.from_pandas(X)), fitted.predict_proba(X))
    assert pickle.loads(pickle.dumps(fitted)).model_.fingerprint() == loaded.fingerprint()


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_loaded_file_predicts_rows_of_any_container_alike(tmp_path, name):
    orders = {"category_encoding": Ordered(permutations=2, bins=16), "boosting": "ordered", "max_combination": 2}
    fitted = SapwoodRegressor(**SMALL | orders).fit(X, Y)
    fitted.save(tmp_path / "m.sapwood")
    loaded = sapwood.load(tmp_path / "m.sapwood")
    np.testing.assert_array_equal(loaded.predict(CONTAINERS[name](X)), fitted.predict(X))


def test_a_fresh_process_predicts_without_data_frame_libraries(tmp_path):
    fitted = SapwoodRegressor(**SMALL).fit(X, Y)
    fitted.save(tmp_path / "m.sapwood")
    program = (
        "import sys, sapwood, json; model = sapwood.load(sys.argv[1]);"
        "rows = json.loads(sys.argv[2]); print(json.dumps(model.predict(rows).tolist()));"
        "print(*[m for m in ('pandas', 'polars', 'pyarrow', 'narwhals', 'sklearn') if m in sys.modules])"
    )
    rows = X.iloc[:5].astype(object).where(X.iloc[:5].notna(), None).to_numpy().tolist()
    command = [sys.executable, "-c", program, str(tmp_path / "m.sapwood"), json.dumps(rows)]
    done = subprocess.run(command, env=os.environ.copy(), capture_output=True, text=True, check=True)
    predictions, imported = done.stdout.splitlines()
    assert json.loads(predictions) == fitted.predict(X.iloc[:5]).tolist()
    assert imported == ""


def damage(change) -> bytes:
    """A file whose recipe was changed, with a fresh checksum."""
    model = SapwoodRegressor(**SMALL).fit(X, Y).model_
    object.__setattr__(model, "metadata", {})
    data = serialize.to_bytes(model)
    text, tensors = safetensors_file.read(io.BytesIO(data), len(data))
    described = parse_json(text, "metadata")
    tensors = dict(tensors)
    change(described, tensors)
    return safetensors_file.write(json.dumps(described), tensors)


DAMAGES = {
    "no recipe": (lambda d, t: d.pop("recipe"), "no categories"),
    "foreign category": (lambda d, t: d["recipe"].update(categories=[0, 1]), "categories are of columns"),
    "foreign source": (lambda d, t: d["recipe"]["columns"][0].update(sources=[1]), "is derived from"),
    "unknown kind": (lambda d, t: d["recipe"]["columns"][0].update(kind="magic"), "magic"),
    "no such table": (lambda d, t: d["recipe"]["columns"][0].update(sums="nowhere"), "cannot be read"),
    "short table": (lambda d, t: t.update(table_0=t["table_0"][:-1].copy()), "differ in length"),
    "infinite": (lambda d, t: t.update(table_0=t["table_0"] + np.inf), "not finite"),
    "ends": (lambda d, t: t.update(levels_0_ends=t["levels_0_ends"] + 1), "do not divide"),
    "fewer columns": (lambda d, t: d["recipe"]["columns"].pop(), "outside|each numeric column"),
    "a number in its place": (lambda d, t: d["recipe"]["columns"].__setitem__(0, 1), "each numeric column"),
    "not an object": (lambda d, t: d.update(recipe=[1]), "cannot be read"),
    "no such set": (lambda d, t: d["recipe"]["columns"][-1].update(set=10**6), "no set of categories 1000000"),
    "no sets": (lambda d, t: t.pop("table_sets"), "cannot be read"),
    "sets of floats": (lambda d, t: t.update(table_sets=t["table_sets"] * 0.5), "not of type int64"),
    "short sets": (lambda d, t: t.update(table_sets=t["table_sets"][:, :3].copy()), "bins of the categories"),
    "a rank beyond": (lambda d, t: t.update(table_0=t["table_0"] + 300.0), "bins of the categories"),
    "a rank below": (lambda d, t: t.update(table_0=t["table_0"] - 9.0), "negative|bins of the categories"),
    "half a rank": (lambda d, t: t.update(table_0=t["table_0"] + 0.5), "bins of the categories"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_transformer_is_refused(name):
    change, message = DAMAGES[name]
    with pytest.raises(ModelFileError, match=message):
        serialize.from_bytes(damage(change))


# --- categories -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_new_categories_and_missing_values_are_predicted(encoding):
    fitted = SapwoodRegressor(category_encoding=encoding, **SMALL).fit(X, Y)
    rows = X.iloc[:4].copy()
    rows["letter"] = ["never seen", None, "a", ""]
    rows["side"] = [None, "left", "centre", "right"]
    assert np.isfinite(fitted.predict(rows)).all()


def test_a_column_that_is_missing_throughout_changes_nothing():
    with_empty = X.assign(empty=pd.Series([None] * len(X), dtype="string"))
    plain, other = (SapwoodRegressor(**SMALL).fit(rows, Y) for rows in (X, with_empty))
    np.testing.assert_array_equal(plain.predict(X), other.predict(with_empty))


def test_a_column_of_unique_ids_hardly_matters():
    """C3: ids are all at the prior in training and at prediction."""
    source = np.random.default_rng(5)
    names = {seed: [f"id{seed}-{k}" for k in source.permutation(3000)] for seed in (0, 1)}
    (train, y), (test, y_test) = (frame(3000, seed) for seed in (0, 1))
    plain = SapwoodRegressor(**SMALL).fit(train, y)
    other = SapwoodRegressor(**SMALL).fit(train.assign(id=names[0]), y)
    assert error(other, test.assign(id=names[1]), y_test) < 1.01 * error(plain, test, y_test)


def test_integers_may_be_categories_by_name_or_number():
    by_name = SapwoodRegressor(categorical_features=["letter", "side", "number"], **SMALL).fit(X, Y)
    by_number = SapwoodRegressor(categorical_features=[0, 2, 3], **SMALL).fit(X, Y)
    assert by_name.model_.fingerprint() == by_number.model_.fingerprint()
    assert by_name.model_.schema.kinds == ("category", "number", "category", "category")
    texts = X.assign(number=X["number"].astype(str))
    np.testing.assert_array_equal(by_name.predict(texts), by_name.predict(X))
    np.testing.assert_array_equal(by_name.predict(X.astype({"number": float})), by_name.predict(X))


# --- with everything else ---------------------------------------------------------------------------------------------


def test_ordered_statistics_may_follow_the_rows_or_a_column_of_time():
    source = np.random.default_rng(3)
    time = source.permutation(len(X))
    ordered = {"category_encoding": "ordered", **SMALL}
    by_column = SapwoodRegressor(has_time="when", **ordered).fit(X.assign(when=time), Y)
    order = np.argsort(time)
    by_row = SapwoodRegressor(has_time=True, **ordered).fit(X.assign(when=time).iloc[order], Y[order])
    random = SapwoodRegressor(**ordered).fit(X.assign(when=time), Y)
    tables = [f.model_.transformer.columns[0].sums for f in (by_column, by_row, random)]
    np.testing.assert_array_equal(tables[0], tables[1])
    assert by_column.model_.fingerprint() != random.model_.fingerprint()


def test_the_first_row_of_time_knows_nothing():
    rows = pd.DataFrame({"c": ["a"] * 50})
    y = np.concatenate([np.zeros(25), np.ones(25)])
    fitted = SapwoodRegressor(has_time=True, category_encoding=Ordered(priors=(0.0,)), n_estimators=1).fit(rows, y)
    assert fitted.model_.transformer.columns[0].sums[1] == 25.0


def test_validation_rows_take_no_part_in_statistics():
    test, y = frame(100, 1)
    watched = SapwoodRegressor(**SMALL).fit(X, Y, eval_set=(test, y))
    assert watched.model_.fingerprint() == SapwoodRegressor(**SMALL).fit(X, Y).model_.fingerprint()
    assert watched.evals_result_["validation"]["rmse"][-1] == pytest.approx(np.sqrt(error(watched, test, y)))


@pytest.mark.parametrize("encoding", ["auto", "holdout", "one_hot"])
def test_early_stopping_refit_and_weights_work_with_categories(encoding):
    weight = np.where(np.arange(len(Y)) % 5 == 0, 0.0, 1.5)
    fitted = SapwoodRegressor(
        category_encoding=encoding, early_stopping_rounds=2, validation_fraction=0.2, refit=True, **SMALL
    )
    fitted.fit(X, Y, sample_weight=weight)
    assert error(fitted, X, Y) < 0.8 * Y.var()


def test_cross_validation_and_datasets_take_categories():
    dataset = Dataset(X, max_bins=16)
    from_dataset = SapwoodRegressor(**SMALL).fit(dataset, Y)
    assert from_dataset.model_.fingerprint() == SapwoodRegressor(max_bins=16, **SMALL).fit(X, Y).model_.fingerprint()
    result = sapwood.cv(SapwoodRegressor(**SMALL), dataset, Y, cv=3)
    assert result.scores["rmse"].mean() < Y.std()
    with pytest.raises(ParameterError, match=r"categorical_features=\[3\] is not supported with a Dataset .*=\[0, 2\]"):
        SapwoodRegressor(categorical_features=[3]).fit(dataset, Y)


def test_a_continued_model_adds_categories_and_keeps_its_predictions():
    early = X["letter"] != "h"
    first = SapwoodRegressor(**SMALL).fit(X[early], Y[early])
    second = SapwoodRegressor(**SMALL).fit(X, Y, init_model=first)
    np.testing.assert_array_equal(second.model_.predict_raw(X, iterations=8), first.predict(X))
    assert error(second, X, Y) < error(first, X, Y)
    assert second.model_.transformer.vocabularies[0].categories[-1] == "h"
    reloaded = serialize.from_bytes(serialize.to_bytes(second.model_))
    np.testing.assert_array_equal(reloaded.predict(X), second.predict(X))


@pytest.mark.parametrize(
    "params", [{"split_search": "exact"}, {"growth": "symmetric"}, {"growth": "levelwise"}, {"max_bins": 300}]
)
def test_every_growth_and_search_takes_categories(params):
    assert error(SapwoodRegressor(n_estimators=8, **params).fit(X, Y), X, Y) < 0.6 * Y.var()


def test_a_row_at_a_time_is_predicted_as_in_a_table():
    fitted = SapwoodRegressor(**SMALL).fit(X, Y)
    one = fitted.model_.predictor()
    for k in range(20):
        assert one.predict(X.iloc[k].tolist()) == fitted.predict(X.iloc[[k]])[0]


PARTITION_REFUSED = [
    {"growth": "symmetric"},
    {"split_search": "exact"},
    {"leaf_model": "linear"},
    {"category_encoding": {"letter": "partition", "side": Partition(max_levels=1)}},
]


@pytest.mark.parametrize("params", PARTITION_REFUSED, ids=str)
def test_a_partition_that_cannot_be_is_refused(params):
    with pytest.raises(ParameterError, match=rf"{next(iter(params))}"):
        SapwoodRegressor(**{"category_encoding": "partition"} | SMALL | params).fit(X, Y)
    with pytest.raises(ParameterError, match=r"category_encoding.*vector_leaves"):
        SapwoodClassifier(category_encoding="partition", objective=Softmax(vector_leaves=True)).fit(X, LABELS)


@pytest.mark.parametrize("params", [{"growth": "symmetric"}, {"leaf_model": "linear"}, {"split_search": "exact"}])
def test_auto_has_something_for_every_kind_of_tree(params):
    assert SapwoodRegressor(**SMALL | params).fit(X, Y).model_.encodings["letter"]["encoding"][0] == "ordered"
    assert SapwoodRegressor(**SMALL).fit(X, Y).model_.encodings["letter"]["encoding"] == ["partition"]


@pytest.mark.parametrize(
    "params",
    [{"subsample": 0.6}, {"boosting": "dart"}, {"reg_alpha": 0.5}, {"objective": "absolute"}, {"precision": "packed"}],
    ids=str,
)
def test_sets_of_categories_predict_the_same_in_training_and_prediction(params):
    test, y = frame(200, 1)
    fitted = SapwoodRegressor(category_encoding="partition", eval_metric="rmse", **SMALL | params)
    fitted.fit(X, Y, eval_set=(test, y))
    assert fitted.evals_result_["validation"]["rmse"][-1] == pytest.approx(np.sqrt(error(fitted, test, y)))


def test_a_checkpoint_keeps_sets_of_categories(tmp_path):
    params = {"category_encoding": "partition", "checkpoint": tmp_path / "c", "checkpoint_every": 2, "max_leaves": 8}
    SapwoodRegressor(n_estimators=4, **params).fit(X, Y)
    plain = SapwoodRegressor(n_estimators=4, category_encoding="partition", max_leaves=8).fit(X, Y)
    again = SapwoodRegressor(n_estimators=4, **params).fit(X, Y)
    assert again.model_.fingerprint() == plain.model_.fingerprint()


def test_a_leaf_has_its_least_number_of_rows_on_both_sides_of_a_set():
    ensemble = (
        SapwoodRegressor(category_encoding="partition", n_estimators=5, min_child_samples=30).fit(X, Y).model_.ensemble
    )
    assert ensemble.count[ensemble.feature < 0].min() >= 30


def test_interactions_are_kept_to_the_users_columns():
    fitted = SapwoodRegressor(interaction_constraints=[["letter"], ["x", "side"]], **SMALL).fit(X, Y)
    sources = fitted.model_.transformer.sources
    for tree in fitted.model_.ensemble:
        met = {sources[f][0] for f in tree.feature if f >= 0}
        assert met <= {0} or met <= {1, 2} or met <= {3}


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = [
    ({"monotone_constraints": {"letter": 1}}, ParameterError, "the categorical column 'letter'"),
    ({"categorical_features": None}, InputTypeError, "'letter' holds strings"),
    ({"categorical_features": ["letter", "side", "x"]}, InputError, "column 'x' holds .* not an integer"),
    ({"category_encoding": {"x": "ordered"}}, ParameterError, "'x' is a numeric column"),
    ({"category_encoding": {"z": "ordered"}}, ParameterError, "no column 'z'"),
    ({"category_encoding": "magic"}, ParameterError, "category_encoding must be"),
    ({"has_time": "letter", "category_encoding": "ordered"}, InputError, "the categorical column 'letter': .* time"),
]


@pytest.mark.parametrize(("params", "kind", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(params, kind, message):
    with pytest.raises(kind, match=message):
        SapwoodRegressor(**SMALL | params).fit(X, Y)


def test_columns_must_stay_what_they_were():
    fitted = SapwoodRegressor(**SMALL).fit(X, Y)
    with pytest.raises(InputError, match=r"column 'letter' holds 0.5"):
        fitted.predict(X.assign(letter=0.5))
    with pytest.raises(InputTypeError, match="column 'x' holds strings"):
        fitted.predict(X.assign(x="text"))
    with pytest.raises(SchemaError, match="categorical columns"):
        SapwoodRegressor(categorical_features=["letter", "side", "number"]).fit(X, Y, init_model=fitted)


# --- permutations and the preset --------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"growth": "symmetric"}, {"subsample": 0.7}, {"leaf_model": "linear"}])
def test_several_permutations_train_one_model(monkeypatch, params):
    several = SapwoodRegressor(category_encoding=Ordered(permutations=3), **SMALL | params).fit(X, Y)
    one = SapwoodRegressor(category_encoding=Ordered(), **SMALL | params).fit(X, Y)
    assert several.model_.fingerprint() != one.model_.fingerprint()
    assert error(several, X, Y) < 0.7 * Y.var()
    monkeypatch.setenv("SAPWOOD_TEAM", "3")
    again = SapwoodRegressor(category_encoding=Ordered(permutations=3), **SMALL | params).fit(X, Y)
    assert again.model_.fingerprint() == several.model_.fingerprint()


def test_exact_search_has_one_permutation():
    with pytest.raises(ParameterError, match=r"Ordered.permutations=2.* is not supported with split_search='exact'"):
        SapwoodRegressor(category_encoding=Ordered(permutations=2), split_search="exact").fit(X, Y)


def test_the_catboost_preset_takes_its_learning_rate_from_rows_and_rounds():
    fitted = SapwoodRegressor(preset="catboost", n_estimators=30).fit(X, Y)
    params = fitted.model_.metadata["params"]
    assert params["learning_rate"] == pytest.approx(
        min(0.5, np.exp(0.158 * np.log(400) - 4.287 - 0.813 * np.log(0.03)))
    )
    assert (params["max_depth"], params["sampling"], params["max_combination"]) == (6, "mvs", 4)
    assert error(fitted, X, Y) < 0.4 * Y.var()
    assert SapwoodRegressor(preset="catboost", n_estimators=3, learning_rate=0.2).fit(X, Y).model_.metadata["params"][
        "learning_rate"
    ] == pytest.approx(0.2)


def test_a_statistic_may_have_bins_of_its_own():
    random = np.random.default_rng(0)
    X = random.integers(0, 50, (500, 1)).astype(str).astype(object)
    y = random.normal(size=500)
    fitted = SapwoodRegressor(category_encoding=Ordered(bins=4), min_child_samples=1, n_estimators=20).fit(X, y)
    trees = fitted.model_.ensemble
    cuts = np.unique(trees.threshold[trees.feature >= 0])
    assert len(cuts) == 3
    np.testing.assert_allclose(np.diff(cuts), cuts[1] - cuts[0])


def test_exact_search_has_no_bins_for_statistics_either():
    with pytest.raises(ParameterError, match="bins of its own is not supported with split_search='exact'"):
        SapwoodRegressor(category_encoding=Ordered(bins=4), split_search="exact").fit(X, Y)


@pytest.mark.parametrize("bins", [1, 256, 2.5])
def test_bins_of_a_statistic_are_a_small_number(bins):
    with pytest.raises(ParameterError, match="Ordered: bins must be an integer from 2 to 255"):
        Ordered(bins=bins)


def test_trees_of_several_permutations_predict_new_rows_as_well_as_those_of_one():
    """Each permutation has its own leaf values; with those of another, residuals would mislead the next trees."""
    random = np.random.default_rng(1)
    codes = random.integers(0, 30, (3000, 3))
    effect = random.normal(size=(3, 30))
    signal = effect[0, codes[:, 0]] + effect[1, codes[:, 1]] * effect[2, codes[:, 2]]
    X, y = codes.astype(str).astype(object), signal + random.normal(size=3000)
    found = []
    for permutations in (1, 2, 4):
        model = SapwoodRegressor(category_encoding=Ordered(permutations=permutations), n_estimators=60)
        found.append(np.mean((model.fit(X[:2000], y[:2000]).predict(X[2000:]) - signal[2000:]) ** 2))
    assert max(found[1:]) < 1.05 * found[0]


@pytest.mark.parametrize("guard", [{"min_level_rows": 400}, {"min_group_rows": 2000}], ids=str)
def test_guards_keep_categories_together(guard):
    fitted = SapwoodRegressor(category_encoding=Partition(**guard), **SMALL).fit(X, Y)
    free = SapwoodRegressor(category_encoding="partition", **SMALL).fit(X, Y)
    assert fitted.model_.fingerprint() != free.model_.fingerprint()
