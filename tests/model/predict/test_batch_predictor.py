from __future__ import annotations

import threading

import numpy as np

from sapwood.model.predict import batch_predictor
from sapwood.model.predict.tree_packing import pack_trees
from tests.model.example_models import class_model, regression_model
from tests.model.forests import random_ensemble, random_rows

ROWS = random_rows(np.random.default_rng(0), 40, 4)


def test_threads_may_predict_tables_at_once():
    model = class_model(3)
    x = random_rows(np.random.default_rng(1), 2000, 4)
    expected, found = model.predict(x), []
    threads = [threading.Thread(target=lambda: found.append(model.predict(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for prediction in found:
        np.testing.assert_array_equal(prediction, expected)


def test_few_rows_start_no_threads(monkeypatch):
    monkeypatch.delenv("SAPWOOD_TEAM", raising=False)
    before = threading.active_count()
    regression_model().predict(ROWS)
    assert threading.active_count() == before


def test_blocks_are_shorter_where_rows_are_wide():
    narrow = pack_trees(random_ensemble(np.random.default_rng(0), 5, n_features=4))
    wide = pack_trees(random_ensemble(np.random.default_rng(0), 99, n_features=900, leaves=(20, 30)))
    assert batch_predictor.block_rows(narrow, np.dtype(np.float32)) == batch_predictor.MAX_BLOCK_ROWS
    assert batch_predictor.block_rows(wide, np.dtype(np.float64)) == batch_predictor.MIN_BLOCK_ROWS


def test_a_call_takes_fewer_rows_the_more_trees_there_are():
    packed = pack_trees(random_ensemble(np.random.default_rng(0), 400))
    many, few = (
        batch_predictor.rows_per_call(packed, range(400), 2),
        batch_predictor.rows_per_call(packed, range(10), 2),
    )
    assert 512 <= many < few
    assert batch_predictor.rows_per_call(packed, range(0), 1) > 0
