"""Boosting: rounds by hand, rounds of the slow grower, and gradients that are no numbers."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import sapwood
from sapwood import SapwoodRegressor
from sapwood.boost.rounds import TrainResult, boost
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.errors import InputError, ParameterError, TrainingError
from sapwood.native.threads import team
from sapwood.objectives import Softmax, Squared
from sapwood.objectives.registry import resolve
from sapwood.params.declaration import BoostingParams, Params, TreeParams
from tests.boost.examples import example
from tests.reference.grower import SlowGrower, TooCloseError
from tests.reference.quantise import finest_scale, quantise_slowly

FREE = TreeParams(max_leaves=2, min_child_samples=1, min_child_weight=0.0, reg_lambda=0.0, precision="wide")


def fit(
    X, y, tree=FREE, n_estimators=2, learning_rate=0.5, weight=None, objective="squared"
) -> tuple[BinnedDataset, TrainResult]:
    dataset = BinnedDataset.build(read_table(np.asarray(X, dtype=float)))
    params = Params(tree=tree, boost=BoostingParams(n_estimators=n_estimators, learning_rate=learning_rate))
    target = Target(np.asarray(y, dtype=float), weight)
    loss = resolve(objective) if isinstance(objective, str) else objective
    return dataset, boost(dataset, target, loss, params)


def leaf_values(tree, X) -> np.ndarray:
    """What a tree answers to each row."""
    found = []
    for x in X:
        node = 0
        while tree.feature[node] >= 0:
            goes_left = x[tree.feature[node]] <= tree.threshold[node]
            node = tree.left[node] + (0 if goes_left else 1)
        found.append(tree.value[node, 0])
    return np.array(found)


def test_squared_error_is_residual_fitting_by_hand():
    """A1, A7: F_0 is the mean; tree k answers η times the mean of y − F_{k−1} in its leaves."""
    X = [[1.0], [2.0], [3.0], [4.0]]
    _, result = fit(X, [1.0, 2.0, 5.0, 8.0])
    assert result.base_scores.tolist() == [4.0]
    first, second = result.ensemble
    # Residuals -3, -2, 1, 4: cut in the middle, means -2.5 and 2.5.
    assert leaf_values(first, X).tolist() == [-1.25, -1.25, 1.25, 1.25]
    # Residuals of F_1 = 2.75, 2.75, 5.25, 5.25 are -1.75, -0.75, -0.25, 2.75: the last is cut off.
    assert leaf_values(second, X).tolist() == [-2.75 / 3 * 0.5] * 3 + [2.75 * 0.5]
    assert second.gradient.tolist() == [0.0, 2.75, -2.75]
    assert second.gain[0] == pytest.approx(0.5 * (2.75**2 / 3 + 2.75**2))


@settings(max_examples=25)
@given(st.integers(5, 60), st.integers(0, 10**6))
def test_every_leaf_answers_the_mean_of_what_is_left(n, seed):
    """A7, with any number of rows; gradients are float32, hence not to the last bit."""
    source = np.random.default_rng(seed)
    X, y = source.normal(size=(n, 3)), source.normal(size=n)
    _, result = fit(X, y, TreeParams(**vars(FREE) | {"max_leaves": 5}), n_estimators=4, learning_rate=0.3)
    scores = np.full(n, result.base_scores[0])
    for tree in result.ensemble:
        answers = leaf_values(tree, X)
        for answer in np.unique(answers):
            rows = answers == answer
            assert answer == pytest.approx(0.3 * np.mean(y[rows] - scores[rows]), abs=1e-6)
        scores += answers


@settings(max_examples=40)
@given(st.integers(4, 40), st.integers(0, 10**6), st.booleans(), st.sampled_from(["packed", "wide"]))
def test_training_is_rounds_of_the_slow_grower(n, seed, weighted, precision):
    """The same splits and the same bits in all values, three rounds long."""
    source = np.random.default_rng(seed)
    X = source.integers(0, 6, (n, 2)).astype(float)
    y = source.normal(size=n)
    weight = source.uniform(0.5, 2.0, n) if weighted else None
    tree_params = TreeParams(max_leaves=4, min_child_samples=2, reg_lambda=0.5, precision=precision)
    dataset, result = fit(X, y, tree_params, n_estimators=3, learning_rate=0.3, weight=weight)
    scores = np.full((1, n), result.base_scores[0])
    pairs = np.empty((1, n, 2), dtype=np.float32)
    scale = 1.0 if weight is None else float(finest_scale(2**62, Fraction(float(weight.max()) * n), n))
    for round, tree in enumerate(result.ensemble):
        Squared().pairs(y, scores, pairs)
        quantised = quantise_slowly(pairs[0], weight, dataset.row_ids, precision == "wide", (0, round))
        grower = SlowGrower(dataset.columns.T, dataset.n_bins, quantised, tree_params)
        try:
            slow = grower.grow()
        except TooCloseError:
            reject()
        grower.answer(slow, pairs[0], weight, scale)
        assert tree.feature.tolist() == [-1 if node.cut is None else node.cut.feature for node in slow.nodes]
        assert tree.value[:, 0].tolist() == [node.value * 0.3 for node in slow.nodes]
        assert tree.count.tolist() == [len(node.rows) for node in slow.nodes]
        for node, low in zip(slow.nodes, tree.value[:, 0], strict=True):
            if not node.left:
                scores[0, node.rows] += low


# --- gradients that are no numbers ------------------------------------------------------------------------------------


class SpoiltSquared(Squared):
    """Squared error whose gradients go bad in one row, some rounds on."""

    name = "spoilt"

    def __init__(self, round: int, row: int, value: float, side: int = 0) -> None:
        self.bad = round, row, value, side
        self.rounds = 0

    def pairs(self, y, scores, out, run=None):
        super().pairs(y, scores, out)
        self.rounds += 1
        round, row, value, side = self.bad
        if self.rounds == round:
            out[0, row, side] = value


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("precision", ["packed", "wide"])
def test_a_gradient_that_is_no_number_is_an_error_that_names_tree_and_row(value, side, precision):
    X = np.arange(30.0)[:, None]
    tree = TreeParams(max_leaves=4, min_child_samples=1, precision=precision)
    with pytest.raises(TrainingError, match=r"^round 3: the gradient of row 17, times its weight, is not"):
        fit(X, X[:, 0] % 7, tree, 5, objective=SpoiltSquared(3, 17, value, side))


def test_the_round_that_is_named_counts_rounds_not_trees():
    class Spoilt(Softmax):
        def pairs(self, y, scores, out, run=None):
            super().pairs(y, scores, out)
            out[2, 7, 0] = np.nan if np.any(scores != scores[:, :1]) else out[2, 7, 0]

    X = np.arange(30.0)[:, None]
    tree = TreeParams(max_leaves=4, min_child_samples=1)
    with pytest.raises(TrainingError, match=r"^round 2: the gradient of row 7"):
        fit(X, X[:, 0] // 10, tree, 3, objective=Spoilt(n_classes=3))


@pytest.mark.parametrize("growth", ["leafwise", "levelwise", "symmetric"])
@pytest.mark.parametrize("precision", ["packed", "wide"])
def test_weights_beyond_all_bounds_are_an_error_and_tiny_ones_are_only_weights(growth, precision):
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.sin(3 * X[:, 0])
    tree = {"growth": growth, "precision": precision, "min_child_weight": 0.0, "reg_lambda": 0.0, "max_depth": 3}
    plain = SapwoodRegressor(n_estimators=1, **tree).fit(X, y)
    for factor in (1e-180, 1e-120, 1e50):
        scaled = SapwoodRegressor(n_estimators=1, **tree).fit(X, y, sample_weight=np.full(200, factor))
        np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-3, atol=1e-4)
    with pytest.raises(InputError, match=r"between 1e-200 and 1e.70"):
        SapwoodRegressor(n_estimators=1, **tree).fit(X, y, sample_weight=np.full(200, 1e130))


def test_an_empty_leaf_of_a_symmetric_tree_does_not_end_it():
    X = np.random.default_rng(0).normal(size=(300, 1))  # one column: most sides of a cut are empty
    fitted = SapwoodRegressor(n_estimators=1, growth="symmetric", max_depth=5, reg_lambda=0.0, precision="packed")
    assert fitted.fit(X, np.sin(5 * X[:, 0])).model_.ensemble[0].depth == 5


def test_the_row_that_is_named_is_that_of_the_table_though_rows_without_weight_were_dropped():
    X, weight = np.arange(30.0)[:, None], np.ones(30)
    weight[:5] = 0.0
    dataset = BinnedDataset.build(read_table(X), weight)
    target = Target(X[5:, 0], weight[5:])
    with pytest.raises(TrainingError, match="row 17,"):
        boost(dataset, target, SpoiltSquared(1, 12, np.nan), Params())


def test_a_callback_sees_every_round_and_can_stop_training():
    seen = []

    def stop_after_three(progress):
        seen.append((progress.round, progress.n_rounds, len(progress.evals["validation"]["rmse"])))
        assert progress.elapsed > 0.0
        return progress.round == 3

    fitted = SapwoodRegressor(n_estimators=10, callbacks=stop_after_three).fit(*example(), eval_set=example(seed=1))
    assert seen == [(1, 10, 1), (2, 10, 2), (3, 10, 3)]
    assert (fitted.stopped_, fitted.n_iter_) == ("callback", 3)


def test_all_callbacks_are_called_and_only_true_stops():
    seen = []
    callbacks = [lambda progress: seen.append(progress.round) or 1, lambda progress: seen.append(-progress.round)]
    fitted = SapwoodRegressor(n_estimators=2, callbacks=callbacks).fit(*example())
    assert seen == [1, -1, 2, -2]
    assert fitted.stopped_ == "n_estimators"


def test_an_exception_of_a_callback_leaves_fit():
    class PrunedError(Exception):
        pass

    def prune(progress):
        raise PrunedError

    made = SapwoodRegressor(callbacks=[prune])
    with pytest.raises(PrunedError):
        made.fit(*example())
    assert not hasattr(made, "model_")


def test_what_is_no_function_is_no_callback():
    with pytest.raises(ParameterError, match="callbacks must be a function or a list of them, got"):
        SapwoodRegressor(callbacks=["print"]).fit(*example())


def test_the_time_limit_ends_training_after_at_least_one_round():
    fitted = SapwoodRegressor(n_estimators=1000, time_limit=1e-9).fit(*example())
    assert (fitted.stopped_, fitted.n_iter_) == ("time_limit", 1)


def test_the_time_limit_is_kept():
    slow = SapwoodRegressor(n_estimators=10_000, time_limit=0.3, callbacks=lambda progress: time.sleep(0.02))
    start = time.perf_counter()
    slow.fit(*example())
    assert slow.stopped_ == "time_limit"
    assert 0.25 < time.perf_counter() - start < 3.0


class ChangingShare:
    """Gives a team one member, two, three, one …: another number each time that it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def part_of(self, size: int) -> int:
        self.asked += 1
        return 1 + self.asked % size


@pytest.mark.parametrize(
    "params",
    [
        {"growth": "symmetric", "max_depth": 4},
        {"growth": "levelwise", "max_depth": 4},
        {"split_search": "exact"},
        {"sampling": "goss"},
        {"sampling": "mvs", "subsample": 0.5},
        {"subsample": 0.5, "colsample_bynode": 0.5},
        {"leaf_model": "linear"},
        {"leaf_steps": 3, "boosting": "ordered"},
        {"objective": Softmax(vector_leaves=True), "sketch_outputs": 2},
        {"objective": "quantile", "bundle": True},
    ],
    ids=str,
)
def test_the_number_of_members_may_change_from_round_to_round(params, monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 6)) * (rng.random((3000, 6)) < 0.7)
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=3000)
    y = np.digitize(y, [-0.5, 0.5]) if "sketch_outputs" in params else y
    params = {"effort": "fast", "n_estimators": 12, **params}
    monkeypatch.setenv("SAPWOOD_TEAM", "3")
    expected = sapwood.train(params, X, y).fingerprint()
    share = ChangingShare()
    monkeypatch.setattr(team, "current_share", lambda: share)
    assert sapwood.train(params, X, y).fingerprint() == expected
    assert share.asked > 12
