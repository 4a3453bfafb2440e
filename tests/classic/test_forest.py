"""Forests (T3): bagging, random forests, extra trees; against scikit-learn's, and by hand."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import sapwood
from sapwood.classic import SapwoodForestClassifier, SapwoodForestRegressor
from sapwood.errors import InputError, InputTypeError, ParameterError, SapwoodWarning
from tests.boost.examples import example, labelled
from tests.processes import PYTHONPATH

X, Y = example(600)
_, LABELS = labelled(600)
NEW_X, NEW_Y = example(2000, seed=1)
_, NEW_LABELS = labelled(2000, seed=1)
FEW = {"n_estimators": 10, "random_state": 0}
# scikit-learn lists the same ones for its forests: a row of weight 2 is not drawn as two rows are.
EXPECTED_FAILURES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are drawn at random, whatever their weight"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore:y has one class")
@parametrize_with_checks(
    [
        SapwoodForestClassifier(n_estimators=8),
        SapwoodForestRegressor(n_estimators=8),
        SapwoodForestRegressor(n_estimators=8, extra=True),
    ],
    expected_failed_checks=lambda estimator: {} if estimator.extra else EXPECTED_FAILURES,
)
def test_scikit_learn_accepts_the_forest(estimator, check):
    check(estimator)


@pytest.mark.parametrize("extra", [False, True])
def test_regression_is_as_good_as_scikit_learn(extra):
    kind = ExtraTreesRegressor if extra else RandomForestRegressor
    theirs = np.mean([kind(100, random_state=k, n_jobs=2).fit(X, Y).score(NEW_X, NEW_Y) for k in range(2)])
    ours = [SapwoodForestRegressor(extra=extra, random_state=k).fit(X, Y).score(NEW_X, NEW_Y) for k in range(2)]
    assert np.mean(ours) > theirs - 0.01


def test_classification_is_as_good_as_scikit_learn():
    theirs = RandomForestClassifier(100, random_state=0).fit(X, LABELS)
    ours = SapwoodForestClassifier(random_state=0).fit(X, LABELS)
    assert ours.score(NEW_X, NEW_LABELS) > theirs.score(NEW_X, NEW_LABELS) - 0.02
    assert list(ours.classes_) == list(theirs.classes_)
    np.testing.assert_allclose(ours.predict_proba(NEW_X).sum(axis=1), 1.0)
    assert abs(ours.predict_proba(NEW_X) - theirs.predict_proba(NEW_X)).mean() < 0.05


def test_a_single_tree_by_hand():
    """Gini of 3 of 5 rows: the split after x = 2 leaves pure leaves, with a gain of half the decrease, times 2 rows."""
    table, y = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    tree = SapwoodForestRegressor(n_estimators=1, bootstrap=False).fit(table, y).model_.ensemble[0]
    assert tree.feature.tolist() == [0, -1, -1] and tree.threshold[0] == 2.5
    assert tree.count.tolist() == [5, 2, 3]
    np.testing.assert_allclose(tree.value[:, 0], [0.0, -0.6, 0.4], atol=1e-12)
    assert tree.gain[0] == pytest.approx(0.5 * (5 * 0.6 * 0.4))  # half of Σ(y − mean)²
    labels = np.array(["a", "a", "b", "c", "c"])
    model = SapwoodForestClassifier(n_estimators=1, bootstrap=False, max_depth=1, max_features=None).fit(table, labels)
    np.testing.assert_allclose(model.predict_proba([[1.0], [5.0]]), [[1.0, 0.0, 0.0], [0.0, 1 / 3, 2 / 3]], atol=1e-12)
    # Σ over classes and sides of (rows of the class)² / rows: 4/2 + (1 + 4)/3, before (4 + 1 + 4)/5.
    assert model.model_.ensemble[0].gain[0] == pytest.approx(0.5 * (2 + 5 / 3 - 9 / 5))


def test_without_bootstrap_leaves_have_their_mean_and_trees_are_unlimited():
    forest = SapwoodForestRegressor(bootstrap=False, max_features=0.7, **FEW).fit(X, Y)
    np.testing.assert_allclose(forest.predict(X), Y, atol=1e-9)
    limited = SapwoodForestRegressor(min_samples_leaf=25, **FEW).fit(X, Y).model_
    leaf = limited.ensemble.feature < 0
    assert limited.ensemble.count[leaf].min() >= 25
    assert SapwoodForestRegressor(max_depth=3, **FEW).fit(X, Y).model_.ensemble.node_depths().max() == 3
    split = SapwoodForestRegressor(min_samples_split=0.2, **FEW).fit(X, Y).model_.ensemble
    assert split.count[split.feature >= 0].min() >= 120


@pytest.mark.parametrize("labels", [LABELS == "low", LABELS], ids=["two classes", "three classes"])
def test_out_of_bag_scores_and_importances_are_near_those_of_scikit_learn(labels):
    ours = SapwoodForestClassifier(oob_score=True, random_state=0).fit(X, labels)
    theirs = RandomForestClassifier(oob_score=True, random_state=0).fit(X, labels)
    assert abs(ours.oob_score_ - theirs.oob_score_) < 0.03
    assert ours.oob_decision_function_.shape == (600, len(theirs.classes_))
    assert abs(ours.oob_decision_function_ - theirs.oob_decision_function_).mean() < 0.08
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=0.03)
    spread = np.std([tree.feature_importances_ for tree in theirs.estimators_], axis=0)
    np.testing.assert_allclose(ours.feature_importances_std_, spread, atol=0.03)
    function = SapwoodForestClassifier(oob_score=balanced_accuracy_score, random_state=0).fit(X, labels)
    assert function.oob_score_ != ours.oob_score_


def test_out_of_bag_predictions_of_numbers():
    ours = SapwoodForestRegressor(oob_score=True, random_state=0).fit(X, Y)
    assert abs(ours.oob_score_ - ours.score(NEW_X, NEW_Y)) < 0.05
    assert ours.oob_prediction_.shape == (600,)


@pytest.mark.parametrize("params", [{}, {"extra": True}, {"max_bins": 400}], ids=str)
def test_the_same_bits_for_any_team_and_any_way_to_run_kernels(params, monkeypatch):
    prints = set()
    for size in ("1", "2", "3", "8"):
        monkeypatch.setenv("SAPWOOD_TEAM", size)
        forest = SapwoodForestClassifier(**FEW | params).fit(X, LABELS)
        prints.add(forest.model_.fingerprint())
    assert len(prints) == 1


def test_the_interpreter_grows_the_same_trees():
    code = (
        "import numpy as np\nfrom sapwood.classic import *\nfrom tests.boost.examples import *\n"
        "X, y = example(60)\n_, labels = labelled(60)\nX[::7, 1] = np.nan\n"
        "for f, t in ((SapwoodForestRegressor, y), (SapwoodForestClassifier, labels)):\n"
        "    for extra in (False, True):\n"
        "        print(f(n_estimators=2, random_state=0, extra=extra).fit(X, t).model_.fingerprint())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env=os.environ | {"SAPWOOD_KERNELS": mode, "PYTHONPATH": PYTHONPATH},
        ).stdout
        for mode in ("native", "python")
    }  # fmt: skip
    assert len(outputs) == 1


def test_warm_start_adds_trees_and_gives_the_forest_of_all():
    whole = SapwoodForestRegressor(n_estimators=12, random_state=0).fit(X, Y)
    warm = SapwoodForestRegressor(n_estimators=5, random_state=0, warm_start=True).fit(X, Y)
    warm.set_params(n_estimators=12).fit(X, Y)
    assert warm.model_.fingerprint() == whole.model_.fingerprint()
    with pytest.warns(SapwoodWarning, match="the forest has 12 trees already: nothing was fitted"):
        assert warm.fit(X, Y) is warm
    with pytest.raises(ParameterError, match="n_estimators=3 must be above 12"):
        warm.set_params(n_estimators=3).fit(X, Y)


def test_files_pickles_clones_explanations_and_slices(tmp_path):
    forest = SapwoodForestClassifier(**FEW).fit(X, LABELS)
    forest.save(tmp_path / "forest")
    again = SapwoodForestClassifier.load(tmp_path / "forest")
    for one in (again, pickle.loads(pickle.dumps(forest)), clone(forest).fit(X, LABELS)):
        np.testing.assert_array_equal(one.predict_proba(NEW_X), forest.predict_proba(NEW_X))
    assert again.get_params() == forest.get_params()
    model = sapwood.load(tmp_path / "forest")
    np.testing.assert_array_equal(model.predict(NEW_X), forest.predict(NEW_X))
    explained = forest.explain(NEW_X[:5])
    total = explained.values.sum(axis=1) + explained.base_values
    np.testing.assert_allclose(total, forest.predict_proba(NEW_X[:5]), atol=1e-9)
    trees = [forest.model_[k : k + 1].predict_proba(NEW_X) for k in range(10)]
    np.testing.assert_allclose(np.mean(trees, axis=0), forest.predict_proba(NEW_X), atol=1e-12)
    assert forest.apply(X).shape == (600, 10)
    assert forest.importance().sum() > 0


def test_missing_values_categories_sparse_tables_and_weights():
    holes = X.copy()
    holes[np.random.default_rng(0).uniform(size=X.shape) < 0.3] = np.nan
    holes[:, 2] = np.where(Y > 1.0, np.nan, 0.5)
    forest = SapwoodForestRegressor(**FEW).fit(holes, Y)
    assert forest.score(holes, Y) > 0.8
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=np.where(Y > 0, "far", "near"))
    frame.loc[::5, "city"] = "elsewhere"
    with_city = SapwoodForestRegressor(**FEW).fit(frame, Y)
    assert with_city.feature_names_in_.tolist() == ["a", "b", "c", "city"]
    assert with_city.feature_importances_[3] > 0.1
    sparse = np.where(X > 0.5, X, 0.0)
    dense, stored = (SapwoodForestRegressor(**FEW).fit(one, Y) for one in (sparse, scipy.sparse.csr_matrix(sparse)))
    np.testing.assert_array_equal(dense.predict(sparse), stored.predict(scipy.sparse.csr_matrix(sparse)))
    weight = np.where(Y > 0, 1.0, 0.0)
    only = SapwoodForestRegressor(**FEW).fit(X, Y, sample_weight=weight)
    assert only.predict(X).min() > 0
    heavy = SapwoodForestClassifier(class_weight={"low": 50.0}, min_samples_leaf=20, **FEW).fit(X, LABELS)
    assert np.mean(heavy.predict(NEW_X) == "low") > np.mean(NEW_LABELS == "low")
    equal = SapwoodForestRegressor(**FEW).fit(X, Y, sample_weight=np.full(600, 3.0))
    np.testing.assert_allclose(equal.predict(X), SapwoodForestRegressor(**FEW).fit(X, Y).predict(X), atol=1e-9)


def test_one_class_one_row_and_constant_columns():
    with pytest.warns(SapwoodWarning, match="y has one class"):
        forest = SapwoodForestClassifier(**FEW).fit(X, np.ones(600))
    assert (forest.predict(X) == 1.0).all()
    assert SapwoodForestRegressor(**FEW).fit([[1.0]], [3.0]).predict([[9.0]]).tolist() == [3.0]
    assert SapwoodForestRegressor(**FEW).fit(np.ones((50, 2)), Y[:50]).feature_importances_.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"criterion": "entropy"},
            "must be 'gini', got 'entropy': .* SapwoodClassifier.boosting='forest', objective='logistic'",
        ),
        ({"max_features": "auto "}, "max_features must be 'sqrt', 'log2'"),
        ({"max_features": 0}, "max_features must be"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be an integer of at least 1"),
        ({"min_samples_split": 1}, "min_samples_split must be an integer of at least 2"),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1"),
        ({"bootstrap": False, "oob_score": True}, "oob_score is not supported without bootstrap"),
        ({"bootstrap": False, "max_samples": 0.5}, "max_samples is not supported without bootstrap"),
        ({"bootstrap": False, "max_features": None}, "all trees would be the same"),
        ({"max_bins": 1}, "max_bins must be"),
        ({"extra": True, "max_bins": "nonsense"}, "max_bins must be"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ParameterError, match=message):
        SapwoodForestClassifier(**params).fit(X, LABELS)


def test_bad_targets_are_refused():
    with pytest.raises(InputError, match="y"):
        SapwoodForestRegressor(**FEW).fit(X, np.where(Y > 2, np.nan, Y))


def test_leaves_of_rows_of_tiny_weight_have_their_mean():
    table, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    weight = np.array([1e12, 1e-9, 1e12, 1e-9, 1.0, 1e-9])
    forest = SapwoodForestRegressor(n_estimators=1, bootstrap=False).fit(table, y, weight)
    np.testing.assert_allclose(forest.predict(table), y, atol=1e-3)


def test_one_feature_per_node_is_not_all_of_them():
    forest = SapwoodForestRegressor(bootstrap=False, max_features=1, **FEW).fit(X, Y)
    assert len({forest.model_[k : k + 1].fingerprint() for k in range(10)}) > 1
    with pytest.raises(ParameterError, match="all trees would be the same"):
        SapwoodForestRegressor(bootstrap=False, max_features=1.0).fit(X, Y)


def test_booleans_of_numpy_are_booleans():
    forest = SapwoodForestRegressor(extra=np.True_, oob_score=np.False_, **FEW).fit(X, Y)
    assert not hasattr(forest, "oob_score_")


def test_trees_without_a_split_do_not_count_in_importances():
    table, y = np.zeros((40, 2)), np.zeros(40)
    table[0, 0] = y[0] = 1.0  # trees without this row have no split
    forest = SapwoodForestRegressor(n_estimators=20, random_state=0).fit(table, y)
    assert 3 <= (forest.model_.ensemble.feature >= 0).sum() < 20
    assert forest.feature_importances_.tolist() == [1.0, 0.0]
    assert forest.feature_importances_std_.tolist() == [0.0, 0.0]


def test_logarithms_of_probabilities():
    forest = SapwoodForestClassifier(**FEW).fit(X, LABELS)
    np.testing.assert_allclose(np.exp(forest.predict_log_proba(NEW_X)), forest.predict_proba(NEW_X), atol=1e-12)


def test_the_out_of_bag_score_of_a_single_class_is_unknown():
    with pytest.warns(SapwoodWarning, match="y has one class"):
        forest = SapwoodForestClassifier(oob_score=True, **FEW).fit(X, np.ones(600))
    assert np.isnan(forest.oob_score_)
    assert forest.oob_decision_function_.shape == (600, 1) and np.isnan(forest.oob_decision_function_).all()


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (SapwoodForestClassifier, "max_leaf_nodes", "boosting='forest', max_leaves=..."),
        (SapwoodForestRegressor, "class_weight", "sample_weight of fit"),
        (SapwoodForestRegressor, "min_data_in_leaf", "use min_samples_leaf"),
        (SapwoodForestRegressor, "depth", "the parameters are .*max_depth"),
    ],
)
def test_unknown_parameters_are_errors_that_say_what_to_use(kind, name, message):
    with pytest.raises(InputTypeError, match=message):
        kind(**{name: 5})
    with pytest.raises(ParameterError, match=message):
        kind().set_params(**{name: 5})


@pytest.mark.parametrize(("max_features", "fraction"), [("sqrt", 2 / 6), (1, 1 / 6), (0.5, 0.5), (None, 1.0)])
def test_the_parameters_in_force_have_the_fraction_of_features_that_nodes_draw(max_features, fraction):
    forest = SapwoodForestRegressor(max_features=max_features, **FEW).fit(np.tile(X[:, :1], 6), Y)
    assert forest.params_["colsample_bynode"] == forest.model_.info()["params"]["colsample_bynode"] == fraction
