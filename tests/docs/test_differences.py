"""The statements of docs/differences.md."""

from __future__ import annotations

import inspect
import warnings

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError, SapwoodWarning
from sapwood.objectives import Quantile

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 3))
Y = X[:, 0] + X[:, 1] * X[:, 2]
QUIET = {"verbose": -1, "n_jobs": 1}


def used_together(fitted: SapwoodRegressor) -> set[frozenset[int]]:
    """Return the sets of features on the paths of all trees."""
    found = set()
    for tree in fitted.model_.ensemble:
        paths = {0: frozenset()}
        for node in range(len(tree.feature)):
            if tree.feature[node] < 0:
                found.add(paths[node])
                continue
            left = int(tree.left[node])
            paths[left] = paths[left + 1] = paths[node] | {int(tree.feature[node])}
    return found


def test_gains_have_the_factor_one_half():
    params = {"n_estimators": 1, "max_depth": 1, "learning_rate": 1.0, "reg_lambda": 1.0}
    ours = SapwoodRegressor(min_child_samples=1, split_search="exact", **params).fit(X, Y)
    peer = xgboost.XGBRegressor(tree_method="exact", min_child_weight=0, **params).fit(X, Y)
    gain = peer.get_booster().trees_to_dataframe()["Gain"][0]
    assert gain == pytest.approx(2.0 * ours.model_.trees["gain"][0], rel=1e-4)


def test_importances_are_fractions_of_the_total_gain():
    fitted = SapwoodRegressor(n_estimators=5).fit(X, Y)
    gain = np.asarray(fitted.importance("total_gain"))
    np.testing.assert_allclose(fitted.feature_importances_, gain / gain.sum())
    assert lightgbm.LGBMRegressor().importance_type == "split"


def test_the_default_quantile_is_the_median():
    assert Quantile().level == 0.5
    assert SapwoodRegressor(objective="quantile", n_estimators=20).fit(X, Y).predict(X).mean() == pytest.approx(
        np.median(Y), abs=0.3
    )


def test_scores_of_custom_losses_pass_the_link_of_a_classifier():
    def logistic(y, f):
        p = 1.0 / (1.0 + np.exp(-f))
        return p - y, p * (1.0 - p)

    labels = (Y > 0).astype(int)
    fitted = SapwoodClassifier(objective=logistic, n_estimators=20).fit(X, labels)
    probability = fitted.predict_proba(X)
    assert (probability >= 0.0).all() and (probability <= 1.0).all()
    peer = lightgbm.LGBMClassifier(objective=logistic, n_estimators=20, **QUIET).fit(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.min(peer.predict_proba(X)) < 0.0


def test_the_training_rows_never_stop_training_early():
    noise = RANDOM.normal(size=600)
    fitted = SapwoodRegressor(n_estimators=300, early_stopping_rounds=5)
    fitted.fit(X[:300], noise[:300], eval_set=[(X[300:], noise[300:]), (X[:300], noise[:300])])
    assert fitted.n_iter_ < 100


def test_columns_in_no_group_are_used_alone():
    alone = SapwoodRegressor(interaction_constraints=[[0]], n_estimators=60).fit(X, Y)
    assert all(len(path) <= 1 for path in used_together(alone))
    grouped = SapwoodRegressor(interaction_constraints=[[0], [1, 2]], n_estimators=60).fit(X, Y)
    assert frozenset({1, 2}) in used_together(grouped)
    peer = HistGradientBoostingRegressor(interaction_cst=[{0}], max_iter=10).fit(X, Y)
    both = HistGradientBoostingRegressor(interaction_cst=[{0}, {1, 2}], max_iter=10).fit(X, Y)
    np.testing.assert_array_equal(peer.predict(X), both.predict(X))


def test_minus_one_is_a_category():
    codes = np.tile([-1, 0, 1, 2], 150).astype(float)[:, None]
    target = np.where(codes[:, 0] == -1, 5.0, 0.0)
    fitted = SapwoodRegressor(categorical_features=[0], category_encoding="one_hot", n_estimators=50).fit(codes, target)
    assert fitted.predict([[-1.0]])[0] > 4.0
    assert fitted.predict([[np.nan]])[0] < 1.0
    peer = lightgbm.LGBMRegressor(n_estimators=50, **QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(codes, target, categorical_feature=[0])
        assert peer.predict([[-1.0]])[0] == peer.predict([[np.nan]])[0]


def test_missing_values_that_training_never_saw_go_where_most_rows_go():
    step = np.concatenate([np.zeros(100), np.ones(500)])[:, None]
    fitted = SapwoodRegressor(n_estimators=1, learning_rate=1.0, reg_lambda=0.0).fit(step, step[:, 0])
    assert fitted.predict([[np.nan]])[0] == fitted.predict([[1.0]])[0]
    peer = lightgbm.LGBMRegressor(n_estimators=1, **QUIET).fit(step, step[:, 0])
    assert peer.predict([[np.nan]])[0] == peer.predict([[0.0]])[0]


def test_rounds_that_cannot_split_are_trained():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert SapwoodRegressor(n_estimators=7).fit(X[:30], Y[:30]).n_iter_ == 7
        assert lightgbm.LGBMRegressor(n_estimators=7, **QUIET).fit(X[:30], Y[:30]).booster_.num_trees() < 7


def test_classes_are_sorted():
    labels = np.array(["b", "c", "a"])[np.digitize(Y, [-0.5, 0.5])]
    assert SapwoodClassifier(n_estimators=1).fit(X, labels).classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"Invalid classes|[Ii]nvalid"):
        xgboost.XGBClassifier(n_estimators=1).fit(X, np.where(Y > 0, 5, 7))


def test_one_class_is_a_constant_model():
    with pytest.warns(SapwoodWarning, match="y has one class"):
        assert SapwoodClassifier().fit(X, ["a"] * 600).predict(X[:1]).tolist() == ["a"]


def test_monotone_constraints_of_several_classes_are_refused():
    with pytest.raises(ParameterError, match="monotone probabilities"):
        SapwoodClassifier(monotone_constraints=[1, 0, 0]).fit(X, np.digitize(Y, [-0.5, 0.5]))


def test_leaves_have_at_least_twenty_rows():
    nodes = SapwoodRegressor(n_estimators=3).fit(X, Y).model_.trees
    assert nodes["count"][nodes["feature"] < 0].min() >= 20


def test_the_seed_is_fixed():
    sampled = {"subsample": 0.5, "n_estimators": 3}
    prints = {SapwoodRegressor(**sampled).fit(X, Y).model_.fingerprint() for _ in range(2)}
    assert len(prints) == 1
    assert SapwoodRegressor(random_state=None, **sampled).fit(X, Y).model_.fingerprint() not in prints


def test_weights_do_not_change_the_metrics_of_validation_sets():
    weighted = SapwoodRegressor(n_estimators=3).fit(X, Y, sample_weight=np.abs(Y) + 1.0, eval_set=(X, Y))
    rmse = float(np.sqrt(np.mean((weighted.predict(X) - Y) ** 2)))
    assert weighted.evals_result_["validation"]["rmse"][-1] == pytest.approx(rmse, rel=1e-9)
    assert "eval_sample_weight" in inspect.signature(weighted.fit).parameters
