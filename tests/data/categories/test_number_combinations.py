"""Numeric columns cut into bins and combined with categorical columns."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sapwood
from sapwood import Crossing, SapwoodClassifier, SapwoodRegressor
from sapwood.data.tables.table import read_table
from sapwood.errors import ModelFileError, ParameterError
from sapwood.model.io import safetensors_file, serialize
from sapwood.model.io.safetensors_file import parse_json
from sapwood.model.predict.row_transformer import RowTransformer

STUMPS = {"category_encoding": "ordered", "n_estimators": 20, "learning_rate": 0.5, "max_leaves": 2, "n_jobs": 1}
COMBINED = STUMPS | {"max_combination": Crossing(2, number_levels=8)}


def drawn(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The target is whether a category is odd or else a number is above its median; neither predicts it alone."""
    source = np.random.default_rng(seed)
    level, amount = source.integers(0, 10, n), source.normal(size=n)
    rows = pd.DataFrame({"amount": amount, "kind": [f"k{k}" for k in level], "other": source.choice(list("abc"), n)})
    y = (level % 2 == 1) ^ (amount > 0.0)
    rows.loc[source.uniform(size=n) < 0.05, "amount"] = np.nan
    rows.loc[source.uniform(size=n) < 0.05, "kind"] = None
    return rows, y.astype(int)


ROWS, Y = drawn(2000, 0)
TEST, Y_TEST = drawn(1000, 1)


@pytest.fixture(scope="module")
def fitted() -> SapwoodClassifier:
    return SapwoodClassifier(**COMBINED).fit(ROWS, Y)


def test_stumps_learn_a_category_that_turns_a_number_around(fitted):
    alone = SapwoodClassifier(**STUMPS, max_combination=2).fit(ROWS, Y)
    assert fitted.score(TEST, Y_TEST) > 0.85 > 0.7 > alone.score(TEST, Y_TEST)
    assert (0, 1) in fitted.model_.transformer.sources
    assert "amount × kind (ordered)" in fitted.model_.column_names


def test_the_cuts_are_quantiles_of_the_numbers(fitted):
    cuts = fitted.model_.transformer.cuts
    assert list(cuts) == [0]
    shares = np.histogram(ROWS["amount"].dropna(), [-np.inf, *cuts[0], np.inf])[0] / ROWS["amount"].count()
    np.testing.assert_allclose(shares, 1 / 8, atol=0.01)


def test_a_file_and_any_frame_give_the_same_answers(fitted, tmp_path):
    expected = fitted.predict_proba(TEST)[:, 1]
    fitted.save(tmp_path / "m.sapwood")
    loaded = sapwood.load(tmp_path / "m.sapwood")
    frame = pl.from_pandas(TEST)
    shuffled = frame.select("other", "kind", "amount")
    for rows in (TEST, frame, shuffled, frame.to_arrow(), TEST.to_numpy(object)):
        np.testing.assert_array_equal(loaded.predict_response(rows), expected)
    np.testing.assert_array_equal([loaded.predict_response(TEST.iloc[k : k + 1])[0] for k in range(20)], expected[:20])
    assert loaded.fingerprint() == fitted.model_.fingerprint()


def test_one_row_at_a_time_is_answered_alike(fitted):
    transformer, schema = fitted.model_.transformer, fitted.model_.schema
    rows = TEST.iloc[:50].to_numpy(object)
    table = np.concatenate([m for _, m in transformer.transform(read_table(rows)).matrices(100)])
    by_row, found = RowTransformer(transformer, schema), np.empty_like(table)
    for row, out in zip(rows, found, strict=True):
        by_row.write(row, out)
    np.testing.assert_array_equal(found, table)


def test_missing_unseen_and_extreme_values_are_predicted(fitted):
    combined = next(c for c in fitted.model_.transformer.columns if not isinstance(c, int) and len(c.sources) == 2)
    rows = pd.DataFrame(
        {"amount": [np.nan, 0.5, np.inf, -np.inf, 9.0], "kind": ["k1", "new", "k1", "k1", "k1"], "other": ["a"] * 5}
    )
    values = combined.values(fitted.model_.transformer.codes(read_table(rows)))
    assert values[1] == combined.prior
    assert values[2] == values[4] < 0.2
    assert values[3] > 0.8
    missing = ROWS["amount"].isna() & (ROWS["kind"] == "k1")
    assert values[0] == pytest.approx((Y[missing].sum() + Y.mean()) / (missing.sum() + 1))


def test_zeros_that_are_missing_are_so_in_combinations():
    rows = ROWS.fillna({"amount": 0.0})
    zeros = SapwoodClassifier(**COMBINED, zero_as_missing=True).fit(rows, Y)
    plain = SapwoodClassifier(**COMBINED).fit(ROWS, Y)
    np.testing.assert_array_equal(zeros.predict_proba(TEST.fillna({"amount": 0.0})), plain.predict_proba(TEST))


def test_a_constrained_number_is_not_combined():
    fitted = SapwoodClassifier(**COMBINED, monotone_constraints={"amount": 1}).fit(ROWS, Y)
    assert not fitted.model_.transformer.cuts
    assert not [sources for sources in fitted.model_.transformer.sources if len(sources) > 1 and 0 in sources]


def test_a_number_that_tells_nothing_is_left_out():
    y = (ROWS["kind"] == "k1").astype(int)
    assert not SapwoodClassifier(**COMBINED).fit(ROWS, y).model_.transformer.cuts


def test_a_continued_model_keeps_its_cuts(fitted):
    rows, y = drawn(500, 3)
    rows = rows.assign(amount=rows["amount"] * 3.0)
    longer = SapwoodClassifier(**COMBINED).fit(rows, y, init_model=fitted)
    np.testing.assert_array_equal(longer.model_.transformer.cuts[0], fitted.model_.transformer.cuts[0])
    without = SapwoodClassifier(**STUMPS).fit(rows, y, init_model=fitted)
    n = fitted.n_iter_
    np.testing.assert_array_equal(without.model_.predict_raw(TEST, iterations=n), fitted.model_.predict_raw(TEST))


@pytest.mark.parametrize("given", [{"columns": 0}, {"columns": 9}, {"number_levels": 1}, {"number_levels": 256}])
def test_what_cannot_be_combined_is_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        Crossing(**given)


def test_only_numbers_and_combinations_are_taken():
    with pytest.raises(ParameterError, match="a Crossing object"):
        SapwoodRegressor(max_combination="2").fit(ROWS, Y)


def test_files_with_cuts_have_their_own_version_and_others_the_one_they_had(fitted):
    def version(model) -> int:
        data = serialize.to_bytes(model)
        return parse_json(safetensors_file.read(io.BytesIO(data), len(data))[0], "metadata")["version"]

    assert version(fitted.model_) == 6
    assert version(SapwoodClassifier(**STUMPS).fit(ROWS, Y).model_) == 2


DAMAGES = {
    "no list": (lambda d, t: d["recipe"].pop("cut"), "is derived from"),
    "no tensor": (lambda d, t: t.pop("cuts_0"), "cannot be read"),
    "a category": (lambda d, t: (d["recipe"].update(cut=[1]), t.update(cuts_1=t["cuts_0"])), "not numeric"),
    "no column": (lambda d, t: (d["recipe"].update(cut=[9]), t.update(cuts_9=t["cuts_0"])), "not numeric"),
    "a text": (lambda d, t: d["recipe"].update(cut=["0"]), "not numeric"),
    "no numbers": (lambda d, t: d["recipe"].update(cut=3), "cannot be read"),
    "descending": (lambda d, t: t.update(cuts_0=t["cuts_0"][::-1].copy()), "ascend"),
    "not a number": (lambda d, t: t.update(cuts_0=np.full(3, np.nan)), "ascend"),
    "integers": (lambda d, t: t.update(cuts_0=np.arange(3)), "ascend"),
    "a matrix": (lambda d, t: t.update(cuts_0=np.zeros((2, 2))), "ascend"),
    "alone": (
        lambda d, t: next(c for c in d["recipe"]["columns"] if type(c) is dict).update(sources=[0]),
        "derived from",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_cuts_are_refused(fitted, name):
    change, message = DAMAGES[name]
    data = serialize.to_bytes(fitted.model_)
    text, tensors = safetensors_file.read(io.BytesIO(data), len(data))
    described, tensors = parse_json(text, "metadata"), dict(tensors)
    change(described, tensors)
    with pytest.raises(ModelFileError, match=message):
        serialize.from_bytes(safetensors_file.write(json.dumps(described), tensors))
