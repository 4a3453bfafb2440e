"""Fits with an effort: one model in one file, whatever the data and the other parameters."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss

import sapwood
from sapwood import Dataset, LastRows, SapwoodClassifier, SapwoodRegressor
from sapwood.boost.candidates import split_parts
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.learning_task import read_task
from sapwood.errors import ParameterError
from sapwood.objectives import GradientLoss
from sapwood.params.effort import EffortPlan

RNG = np.random.default_rng(5)
N = 400
X = RNG.normal(size=(N, 5))
Y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * RNG.normal(size=N)
CLASSES = np.digitize(Y, [0.0, 1.0])
QUICK = {"effort": "balanced", "n_estimators": 15}


@pytest.fixture(scope="module")
def fitted():
    return SapwoodRegressor().fit(X, Y)


def test_a_default_fit_blends_members_that_were_validated(fitted):
    *_, decision = fitted.model_.decisions
    assert fitted.params_["effort"] == "balanced"
    assert decision["choice"] == "blend"
    assert decision["candidates"] == ["leafwise", "symmetric"]
    assert set(decision["chosen"]) <= set(decision["losses"])
    assert sum(decision["chosen"].values()) == pytest.approx(1.0, abs=1e-3)
    assert "validation rows" in decision["why"]


def test_it_is_better_than_a_fast_fit(fitted):
    new = np.random.default_rng(6).normal(size=(2_000, 5))
    target = new[:, 0] * new[:, 1] + np.abs(new[:, 2])
    errors = [
        np.mean((model.predict(new) - target) ** 2) for model in (fitted, SapwoodRegressor(effort="fast").fit(X, Y))
    ]
    assert errors[0] < errors[1]


def test_the_model_is_one_file_with_its_decisions(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = sapwood.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.decisions == loaded.info()["decisions"] == fitted.model_.decisions
    assert loaded.fingerprint() == fitted.model_.fingerprint()


def test_the_first_rounds_are_an_average_too(fitted):
    stages = list(fitted.staged_predict(X))
    assert len(stages) == fitted.n_iter_
    errors = [np.mean((stage - Y) ** 2) for stage in stages]
    assert errors[0] > errors[len(errors) // 4] > errors[-1]
    assert np.allclose(stages[-1], fitted.predict(X))


@pytest.mark.parametrize("effort", ["balanced", "best"])
def test_the_model_does_not_depend_on_threads(effort):
    models = [SapwoodClassifier(effort=effort, n_estimators=20, n_jobs=n).fit(X, CLASSES).model_ for n in (1, 2, 3)]
    assert len({model.fingerprint() for model in models}) == 1


def test_fast_is_the_fit_without_members():
    fast, explicit = SapwoodRegressor(effort="fast").fit(X, Y), SapwoodRegressor(n_estimators=100).fit(X, Y)
    assert fast.model_.fingerprint() == explicit.model_.fingerprint()
    assert fast.model_.decisions == []


def test_best_averages_more_models_than_balanced():
    balanced, best = (SapwoodRegressor(effort=e, n_estimators=10).fit(X, Y).model_ for e in ("balanced", "best"))
    assert best.ensemble.n_trees > balanced.ensemble.n_trees


def test_best_replays_the_models_of_five_parts_and_adds_one_that_is_trained_on_all_rows(caplog):
    with caplog.at_level("INFO", logger="sapwood"):
        model = SapwoodRegressor(effort="best", n_estimators=10).fit(X, Y).model_
    n_kept = len(model.decisions[-1]["chosen"])
    messages = [record.getMessage() for record in caplog.records]
    assert sum("replayed on all rows" in message for message in messages) == 5 * n_kept
    assert sum("refit on all rows for" in message for message in messages) == n_kept


def test_a_number_of_seconds_ends_in_time():
    model = SapwoodRegressor(effort=0.2).fit(X, Y)
    assert model.n_iter_ > 0
    assert model.params_["time_limit"] == 0.2


def test_the_first_member_is_kept_if_there_is_no_time_for_others():
    model = SapwoodRegressor(effort=1e-6).fit(X, Y)
    assert model.model_.decisions[-1]["chosen"] == {"leafwise": 1.0}


def test_validation_sets_of_the_user_take_the_place_of_rows_split_off():
    model = SapwoodRegressor(**QUICK).fit(X[:300], Y[:300], eval_set=(X[300:], Y[300:]))
    history = model.evals_result_["validation"]["rmse"]
    assert len(history) == model.n_iter_
    assert history[-1] == pytest.approx(np.sqrt(np.mean((model.predict(X[300:]) - Y[300:]) ** 2)))
    assert SapwoodRegressor().fit(X, Y, eval_set=(X, Y)).params_["effort"] == "fast"


def test_parameters_of_the_user_hold_for_all_members():
    model = SapwoodRegressor(growth="levelwise", max_depth=2, **QUICK).fit(X, Y).model_
    assert model.ensemble.node_depths().max() <= 2
    assert len(model.decisions[-1]["candidates"]) <= 2


def test_members_that_the_other_parameters_exclude_are_left_out():
    model = SapwoodRegressor(min_child_samples=7, **QUICK).fit(X, Y).model_
    assert model.decisions[-1]["candidates"] == ["leafwise"]
    assert "only candidate" in model.decisions[-1]["why"]


@pytest.mark.parametrize("monotone", [None, [1, 0, 0, 0, 0]])
def test_constraints_hold(monotone):
    model = SapwoodRegressor(monotone_constraints=monotone, **QUICK).fit(X, Y)
    line = np.zeros((50, 5))
    line[:, 0] = np.linspace(-2, 2, 50)
    assert (np.diff(model.predict(line)) >= 0).all() or monotone is None


def test_categories_of_all_members_are_joined():
    frame = pd.DataFrame(X).rename(columns=str)
    frame["city"] = np.array(["a", "b", "c", "d", "e", "f"], dtype=object)[RNG.integers(0, 6, N)]
    frame["code"] = [f"id{k % 90}" for k in range(N)]
    y = Y + frame["city"].map({"a": 0, "b": 2, "c": 4, "d": -1, "e": 3, "f": 9})
    for effort in ("balanced", "best"):
        model = SapwoodRegressor(effort=effort, n_estimators=60).fit(frame, y)
        assert np.corrcoef(model.predict(frame), y)[0, 1] > 0.9
        again = sapwood.train({"effort": effort, "n_estimators": 60}, frame, y)
        assert again.fingerprint() == model.model_.fingerprint()
        frame_with_new = frame.assign(city="new")
        assert np.isfinite(model.predict(frame_with_new)).all()


def test_sparse_tables_datasets_weights_groups_offsets_and_time():
    weight = np.where(np.arange(N) % 7 == 0, 0.0, 1.0)
    sparse = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    assert np.isfinite(SapwoodRegressor(**QUICK).fit(sparse, Y).predict(sparse)).all()
    assert SapwoodRegressor(**QUICK).fit(Dataset(X), Y).model_.decisions
    weighted = SapwoodRegressor(**QUICK).fit(X, Y, sample_weight=weight).model_
    assert weighted.info()["n_rows"] <= (weight > 0).sum()
    assert SapwoodRegressor(**QUICK).fit(X, Y, groups=np.arange(N) // 40).model_.decisions
    assert SapwoodRegressor(**QUICK).fit(X, Y, init_score=np.full(N, 0.5)).model_.decisions
    timed = SapwoodRegressor(has_time=True, **QUICK).fit(X, Y).model_
    assert f"{N // 5} validation rows" in timed.decisions[-1]["why"]


def test_one_group_leaves_nothing_to_validate_on():
    model = SapwoodRegressor().fit(X, Y, groups=np.zeros(N, dtype=int))
    assert model.model_.decisions == []
    assert model.params_["effort"] == "fast"


@pytest.mark.parametrize("objective", ["absolute", "quantile", "poisson", "huber"])
def test_other_losses_are_blended_on_their_own_metric(objective):
    model = SapwoodRegressor(objective=objective, **QUICK).fit(X, np.abs(Y))
    assert np.isfinite(model.predict(X)).all()


def test_a_metric_of_which_more_is_better_is_maximised():
    model = SapwoodClassifier(eval_metric="auc", **QUICK).fit(X, Y > 0).model_
    decision = model.decisions[-1]
    assert all(0.5 < value <= 1.0 for value in decision["losses"].values())


@pytest.mark.parametrize(
    "params, arguments",
    [
        ({"checkpoint": "x"}, {}),
        ({"boosting": "forest"}, {}),
        ({"init": 0.0}, {}),
        ({}, {"init_model": SapwoodRegressor(n_estimators=2).fit(X, Y)}),
    ],
)
def test_what_needs_one_model_is_refused_with_the_remedy(params, arguments):
    with pytest.raises(ParameterError, match="use effort='fast'"):
        SapwoodRegressor(effort="best", **params).fit(X, Y, **arguments)


def test_a_target_of_differences_and_products_is_learned_as_such():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(3_000, 4))
    y = np.sin(3.0 * (rows[:, 0] - rows[:, 1])) + rows[:, 2] * rows[:, 3]
    model = SapwoodRegressor(**QUICK).fit(rows, y).model_
    assert {"f0 − f1", "f2 · f3"} <= set(model.metadata["numeric_crosses"]["kept"])
    crosses, _ = model.decisions
    assert (crosses["choice"], crosses["chosen"]) == ("numeric crosses", "with")
    assert crosses["losses"]["with"] < crosses["losses"]["without"]


def test_several_classes_share_trees():
    model = SapwoodClassifier(n_estimators=40, effort="balanced").fit(X, CLASSES)
    assert model.model_.ensemble.width == 3
    assert log_loss(CLASSES, model.predict_proba(X)) < 0.6


# --- no default that fails --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:no tree could be split")
@pytest.mark.parametrize("n_rows", [2, 7, 50, 120])
def test_a_few_rows_are_enough(n_rows):
    assert np.isfinite(SapwoodRegressor().fit(X[:n_rows], Y[:n_rows]).predict(X)).all()
    y = np.arange(n_rows) % 2
    assert np.isfinite(SapwoodClassifier().fit(X[:n_rows], y).predict_proba(X)).all()


def test_classes_of_one_row_are_kept_in_training():
    y = np.zeros(N, dtype=int)
    y[:3] = [1, 2, 3]
    model = SapwoodClassifier(**QUICK).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert np.isfinite(model.predict_proba(X)).all()


def test_rare_classes_and_many_classes():
    rare = (np.arange(3_000) % 1_000 == 0).astype(int)
    assert np.isfinite(SapwoodClassifier().fit(RNG.normal(size=(3_000, 3)), rare).predict_proba(X[:, :3])).all()
    many = SapwoodClassifier(n_estimators=30, effort="balanced").fit(X, np.arange(N) % 30)
    assert many.predict_proba(X).shape == (N, 30)


def test_500_rows_of_2000_columns_take_seconds():
    wide = np.random.default_rng(8).normal(size=(700, 2_000))
    y = wide[:, 3] + wide[:, 4] + np.random.default_rng(9).normal(size=700) > 0.0
    start = time.process_time()
    model = SapwoodClassifier(n_jobs=1).fit(wide[:500], y[:500])
    # 2 to 6 s on one core; with 255 bins and 64 leaves per tree it would be more than a minute.
    assert time.process_time() - start < 40.0
    assert model.score(wide[500:], y[500:]) > 0.65


def test_unique_ids_do_not_spoil_what_other_columns_tell():
    frame = pd.DataFrame({"id": [f"r{k}" for k in range(N)], "x": X[:, 0], "c": (X[:, 1] > 0.0).astype(str)})
    y = X[:, 0] + (X[:, 1] > 0.0) > 0.5
    model = SapwoodClassifier(random_state=0).fit(frame[: N // 2], y[: N // 2])
    assert model.score(frame[N // 2 :], y[N // 2 :]) > 0.9


def test_many_columns_and_rows_in_the_order_of_time():
    wide = RNG.normal(size=(300, 2_000))
    y = wide[:, 7] > 0
    model = SapwoodClassifier(effort="balanced", n_estimators=20).fit(wide, y)
    assert model.score(wide, y) > 0.8
    assert [decision["choice"] for decision in model.model_.decisions] == ["blend"]  # crosses are not searched
    trend = np.arange(N) / N + 0.1 * Y
    assert np.isfinite(
        SapwoodRegressor(has_time=True, n_estimators=20, effort="balanced").fit(X, trend).predict(X)
    ).all()


@pytest.mark.filterwarnings("ignore:no tree could be split")
def test_constant_columns_unique_ids_and_a_constant_target():
    frame = pd.DataFrame({"constant": np.ones(N), "id": [f"r{k}" for k in range(N)], "x": X[:, 0]})
    assert np.isfinite(SapwoodRegressor(**QUICK).fit(frame, Y).predict(frame)).all()
    assert SapwoodRegressor().fit(X, np.full(N, 3.0)).predict(X).tolist() == [3.0] * N


@pytest.mark.parametrize(
    "has_time, fraction", [(False, 0.3), (True, 0.3), (True, LastRows(0.3)), (False, LastRows(0.3))]
)
def test_a_validation_fraction_gives_one_part_of_that_size(has_time, fraction):
    model = SapwoodRegressor(has_time=has_time, validation_fraction=fraction, **QUICK).fit(X, Y).model_
    assert f"{int(0.3 * N)} validation rows" in model.decisions[-1]["why"]


@pytest.mark.parametrize("table", [X, Dataset(X)], ids=["array", "dataset"])
def test_a_column_of_times_validates_on_the_rows_of_the_largest_times(table):
    task, rows = read_task(FitArguments(QUICK | {"has_time": 3}, table, Y, task="regression"))
    [mask] = split_parts(task, EffortPlan((), 1), rows)
    assert mask.sum() == N // 5
    assert X[mask, 3].min() > X[~mask, 3].max()
    model = SapwoodRegressor(has_time=3, **QUICK).fit(table, Y).model_
    assert f"{N // 5} validation rows" in model.decisions[-1]["why"]


@pytest.mark.parametrize("n_rare, n_parts", [(1, 4), (2, 5), (3, 5)])
def test_a_rare_class_does_not_make_the_parts_larger(n_rare, n_parts):
    y = np.arange(N) % 3
    y[:n_rare] = 3
    task, rows = read_task(FitArguments({"effort": "best"}, X, y, task="classification"))
    parts = split_parts(task, EffortPlan((), 5), rows)
    assert [part.sum() for part in parts] == [N // 5] * n_parts
    assert all(len(np.unique(y[~part])) == 4 for part in parts)


def test_each_part_has_both_of_two_classes():
    task, rows = read_task(FitArguments({"effort": "best"}, X, np.arange(N) < 3, task="classification"))
    assert [part[:3].sum() for part in split_parts(task, EffortPlan((), 5), rows)] == [1, 1, 1]


def test_a_loss_of_gradients_alone_has_all_candidates():
    loss = GradientLoss(lambda y, score: (score - y, np.ones_like(y)))
    model = SapwoodRegressor(objective=loss, eval_metric="rmse", **QUICK).fit(X, Y).model_
    assert [decision["candidates"] for decision in model.decisions] == [["leafwise", "symmetric"]]


@pytest.mark.filterwarnings("ignore:no tree could be split")
def test_rows_of_weight_zero_do_not_count():
    weight = np.arange(60) == 7
    assert SapwoodRegressor().fit(X[:60], Y[:60], sample_weight=weight).predict(X[:5]) == pytest.approx([Y[7]] * 5)
    weight = (np.arange(N) < 100).astype(float)
    weighted, alone = SapwoodRegressor(**QUICK).fit(X, Y, sample_weight=weight), SapwoodRegressor(**QUICK)
    assert np.allclose(weighted.predict(X), alone.fit(X[:100], Y[:100], sample_weight=weight[:100]).predict(X))
