"""Ordered boosting (C6), and the prediction shift that it takes away (C7)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost.boosters.ordered import OrderedBooster, find_gradient_sources, make_prefix_models, prefix_sizes
from sapwood.boost.boosters.plain import Booster, DatasetView
from sapwood.boost.checkpoint.checkpoint import Checkpoint
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.interrupt import Interruption
from sapwood.boost.leaf_refit import LeafRefit
from sapwood.boost.rounds import TrainingContext, add_round, make_booster
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.distributed.row_order import RowOrder
from sapwood.errors import ParameterError
from sapwood.objectives import Squared
from sapwood.params.resolve import resolve_params

STUMPS = {
    "n_estimators": 2, "learning_rate": 1.0, "max_leaves": 2, "min_child_samples": 1, "min_child_weight": 0.0,
    "reg_lambda": 0.0,
}  # fmt: skip
SLOPES = np.array([4.0, 1.0])
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
N, TIMES = 16, 250


def run(X: np.ndarray, y: np.ndarray, n_rounds: int, weight: np.ndarray | None = None, **params) -> Booster:
    """Train rounds from initial scores of zero; return the booster."""
    resolved = resolve_params(STUMPS | params, len(y), "regression")
    dataset = BinnedDataset.build(read_table(X))
    order = np.random.default_rng(len(y)).permutation(len(y)).astype(np.uint32)
    dataset = dataclasses.replace(dataset, permutation=RowOrder(order, len(y)))
    context = TrainingContext.make(dataset, Target(y, weight), Squared(), resolved, InitialScores(np.zeros(1)))
    booster = make_booster(context, Evaluation((), (), Squared()))
    for round in range(n_rounds):
        assert add_round(context, booster, Checkpoint(None, 10.0), round, Interruption())
    return booster


def samples(seed: int):
    random = np.random.default_rng(seed)
    for _ in range(TIMES):
        X = random.integers(0, 2, (N, 2)).astype(float)
        yield X, X @ SLOPES


def assert_mean(values: list[float] | np.ndarray, expected: float) -> None:
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 3.0 * error


def second_slope(predict) -> float:
    at = predict(CORNERS)
    return float(np.mean([at[1] - at[0], at[3] - at[2]])) - SLOPES[1]


def test_two_stumps_of_the_same_sample_fall_short_of_the_slope():
    """C7: by c2 / (n − 1)."""
    found = [second_slope(SapwoodRegressor(init=0.0, **STUMPS).fit(X, y).predict) for X, y in samples(0)]
    assert_mean(found, -SLOPES[1] / (N - 1))
    assert np.mean(found) < -3.0 * np.std(found) / np.sqrt(len(found))


def test_two_stumps_of_two_samples_meet_the_slope():
    found = []
    for (X, y), (X2, y2) in zip(samples(1), samples(2), strict=False):
        one = SapwoodRegressor(init=0.0, **STUMPS | {"n_estimators": 1})
        first = one.fit(X, y)
        rest = y2 - first.predict(X2)
        second = SapwoodRegressor(init=0.0, **STUMPS | {"n_estimators": 1}).fit(X2, rest)
        found.append(second_slope(lambda rows, a=first, b=second: a.predict(rows) + b.predict(rows)))
    assert_mean(found, 0.0)


def slope_of(rest: np.ndarray, side: np.ndarray) -> np.ndarray:
    """The slope of a stump: the difference of the means of both sides."""
    return (rest * side).sum(axis=-1) / side.sum(axis=-1) - (rest * ~side).sum(axis=-1) / (~side).sum(axis=-1)


def test_with_a_model_for_every_row_residuals_have_the_slope():
    """C7, idealised ordered boosting: the residual of row i is taken from a stump of the rows before it.

    E[r | x2 = 1] − E[r | x2 = 0] = c2, as rows before i do not know x2 of row i. The means of *one* sample know a
    little of it: with m of its n rows at x2 = 1, the others have (m − x2)/(n − 1) on average, so that a stump fitted to
    the residuals of one sample is too steep by c2/(n − 1) where there are rows before (nearly everywhere).
    """
    random = np.random.default_rng(3)
    X = random.integers(0, 2, (40_000, N, 2)).astype(float)
    y = X @ SLOPES
    rest, served = np.empty_like(y), np.empty_like(y)
    for i in range(N):
        same = X[:, :i, 0] == X[:, i : i + 1, 0]
        rest[:, i] = y[:, i] - (same * y[:, :i]).sum(axis=1) / np.maximum(1, same.sum(axis=1))
        served[:, i] = same.any(axis=1)
    side = X[:, :, 1] == 1.0
    blocks = [
        slope_of(r.reshape(-1), s.reshape(-1)) for r, s in zip(np.split(rest, 80), np.split(side, 80), strict=True)
    ]
    assert_mean(np.array(blocks) - SLOPES[1], 0.0)
    fits = (side.sum(axis=1) > 0) & (side.sum(axis=1) < N)
    too_steep = slope_of(rest[fits], side[fits]) - SLOPES[1]
    assert_mean(too_steep, SLOPES[1] * served.mean() / (N - 1))


class RecordingRefit(LeafRefit):
    """Records the predictions of each model at the corners."""

    def values(self, grown, node_of_row, output):
        sums, values = super().values(grown, node_of_row, output)
        corner = np.zeros(4, dtype=int)
        if len(grown.feature) > 1:
            corner = 1 + (CORNERS[:, grown.feature[0]] == 1.0)
        lines = np.arange(self.models.n_models)[:, None] * len(grown.feature) + corner
        self.predictions = getattr(self, "predictions", 0.0) + values[lines, 0]
        return sums, values


def shifts(samples, served) -> np.ndarray:
    """Per sample and corner: the residuals of training rows there, less those of fresh rows, summed over rows.

    ``served(X, y)`` are the predictions (rows, corners) that the model of each row has for each corner.
    """
    found = []
    for X, y in samples:
        is_there = (X @ [2.0, 1.0])[:, None] == np.arange(4)
        rest = CORNERS @ SLOPES - served(X, y)
        found.append(np.sum((is_there - 0.25) * rest, axis=0))
    return np.array(found)


def ordered_predictions(X: np.ndarray, y: np.ndarray, n_rounds: int) -> np.ndarray:
    made = run(X, y, n_rounds, boosting="ordered")
    assert isinstance(made, OrderedBooster)
    [refit], [source] = made.refits, made.gradient_sources
    assert isinstance(refit, RecordingRefit)
    return refit.predictions[np.searchsorted(refit.models.start, source, side="right") - 1]


def plain(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    model = SapwoodRegressor(init=0.0, **STUMPS | {"n_estimators": 1}).fit(X, y)
    return np.tile(model.predict(CORNERS), (len(y), 1))


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_residuals_of_training_rows_are_those_of_fresh_rows(n_rounds, monkeypatch):
    """C7, the practical form: E[y − M(x) | x] over training rows is that over fresh ones."""
    monkeypatch.setattr("sapwood.boost.boosters.ordered.LeafRefit", RecordingRefit)
    for of_corner in shifts(samples(4), lambda X, y: ordered_predictions(X, y, n_rounds)).T:
        assert_mean(of_corner, 0.0)


def test_residuals_of_the_plain_machine_are_not_those_of_fresh_rows():
    found = shifts(samples(4), plain)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0)) > 3.0 * error).any()


def test_parts_double_and_end_before_the_last_row():
    assert prefix_sizes(1) == [0]
    assert prefix_sizes(5) == [0, 1, 2, 4]
    assert prefix_sizes(640) == [0, 10, 20, 40, 80, 160, 320]
    assert prefix_sizes(641) == [0, 10, 20, 40, 80, 160, 320, 640]


def test_every_row_is_served_by_the_longest_part_before_it():
    order = np.array([3, 0, 4, 1, 2], dtype=np.uint32)
    dataset = dataclasses.replace(BinnedDataset.build(read_table(np.zeros((5, 1)))), permutation=RowOrder(order, 5))
    models = make_prefix_models(DatasetView(dataset, np.zeros((1, 5))), Target(np.arange(5.0)))
    assert models.n_train.tolist() == [0, 1, 2, 4]
    assert models.start.tolist() == [0, 1, 3, 7, 12]
    own = find_gradient_sources(models)
    # Places 0 to 4 of the order are served by the prefixes of 0, 1, 2, 2 and 4 rows.
    assert own[order].tolist() == [0, 2, 5, 6, 11]
    assert (models.rows[own] == np.arange(5)).all()


def slow_ordered(X, y, order, n_rounds, rate, weight=None):
    """The scores of the supporting models by plain loops: stumps of one feature, split at ½."""
    w = np.ones(len(y)) if weight is None else weight
    sizes = prefix_sizes(len(y))
    scores = np.zeros((len(sizes), len(y)))
    for _ in range(n_rounds):
        for k, size in enumerate(sizes):
            body = order[:size]
            new = scores[k].copy()
            for side in (0.0, 1.0):
                mine = body[X[body, 0] == side]
                if len(mine):
                    step = np.sum(w[mine] * (y[mine] - scores[k, mine])) / np.sum(w[mine])
                    new[X[:, 0] == side] += rate * step
            scores[k] = new
    return scores


@pytest.mark.parametrize("weighted", [False, True])
def test_supporting_models_equal_plain_loops(weighted):
    random = np.random.default_rng(5)
    X, y = random.integers(0, 2, (23, 1)).astype(float), random.normal(size=23)
    weight = random.gamma(1.0, size=23) if weighted else None
    made = run(X, y, 3, weight, boosting="ordered", ordered_scoring=False, learning_rate=0.5)
    assert isinstance(made, OrderedBooster)
    models = made.refits[0].models
    order = made.state.dataset.permutation.permutation
    slow = slow_ordered(X, y, order, 3, 0.5, weight)
    for k in range(models.n_models):
        part = slice(models.start[k], models.start[k + 1])
        np.testing.assert_allclose(models.scores[0, part], slow[k, models.rows[part]], atol=1e-6)


@pytest.mark.parametrize("growth", ["leafwise", "levelwise", "symmetric"])
def test_leaf_values_come_from_all_rows_whatever_was_drawn(growth):
    random = np.random.default_rng(6)
    X = random.normal(size=(400, 3))
    y = X[:, 0] + random.normal(size=400)
    model = SapwoodRegressor(
        boosting="ordered",
        growth=growth,
        subsample=0.5,
        n_estimators=1,
        max_leaves=8,
        learning_rate=1.0,
        reg_lambda=0.0,
    ).fit(X, y)
    leaf = model.apply(X)[:, 0]
    assert model.model_.ensemble.count[0] == 400
    for one in np.unique(leaf):
        np.testing.assert_allclose(model.predict(X)[leaf == one], y[leaf == one].mean(), rtol=1e-6, atol=1e-7)


def test_has_time_fits_supporting_models_to_the_first_rows():
    random = np.random.default_rng(7)
    X, y = random.normal(size=(300, 2)), random.normal(size=300)
    # With ordered scoring trees also split on the time itself: rows of a leaf without earlier rows have no response.
    params = {"boosting": "ordered", "n_estimators": 5, "ordered_scoring": False}
    by_row = SapwoodRegressor(**params, has_time=True).fit(X, y)
    X2 = np.column_stack([X, np.arange(300.0)])
    by_column = SapwoodRegressor(**params, has_time=2, interaction_constraints=[[0, 1]]).fit(X2, y)
    assert np.array_equal(by_row.predict(X), by_column.predict(X2))
    at_random = SapwoodRegressor(**params).fit(X, y)
    assert not np.array_equal(by_row.predict(X), at_random.predict(X))


def test_a_continued_training_gives_no_worse_scores_than_its_start():
    random = np.random.default_rng(8)
    X = random.normal(size=(500, 4))
    y = (X[:, 0] + X[:, 1] + random.normal(size=500) > 0).astype(int)
    first = SapwoodClassifier(boosting="ordered", n_estimators=10).fit(X, y)
    second = SapwoodClassifier(boosting="ordered", n_estimators=10).fit(X, y, init_model=first)
    assert second.n_iter_ == 20
    assert second.score(X, y) >= first.score(X, y)


def test_linear_leaves_are_refused():
    with pytest.raises(ParameterError, match=r"boosting='ordered'.*leaf_model"):
        SapwoodRegressor(boosting="ordered", leaf_model="linear").fit(np.zeros((5, 1)), np.arange(5.0))
