"""Trees with vector leaves whose splits are searched on projections of the gradients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

from sapwood import SapwoodClassifier
from sapwood.errors import ParameterError
from sapwood.objectives import OneVsAll, Softmax

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2_600, 5))
Y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-1.5, -0.7, -0.2, 0.2, 0.7, 1.5])
SHARED = {"objective": Softmax(vector_leaves=True), "n_estimators": 20}


def fit(rows=X, y=Y, **params):
    return SapwoodClassifier(**(SHARED | {"sketch_outputs": 3} | params)).fit(rows, y)


@pytest.mark.parametrize("growth", ["leafwise", "levelwise", "symmetric"])
@pytest.mark.parametrize("precision", ["packed", "wide"])
def test_the_model_is_nearly_as_good_and_does_not_depend_on_threads(growth, precision):
    models = [fit(growth=growth, precision=precision, n_jobs=n) for n in (1, 2, 3)]
    assert len({model.model_.fingerprint() for model in models}) == 1
    full = fit(growth=growth, precision=precision, sketch_outputs=None)
    losses = [log_loss(Y, model.predict_proba(X)) for model in (models[0], full)]
    assert losses[0] != losses[1]
    assert losses[0] < 1.25 * losses[1] < 1.2


def test_leaf_values_are_those_of_the_true_gradients():
    ensemble = fit(n_estimators=1, learning_rate=1.0, reg_lambda=2.0).model_.ensemble
    leaves = ensemble.feature < 0
    expected = -ensemble.gradient[leaves] / (ensemble.hessian[leaves] + 2.0)
    assert np.allclose(ensemble.value[leaves], expected, rtol=1e-6)
    frequency = np.bincount(Y) / len(Y)
    assert np.allclose(ensemble.gradient[0], 0.0, atol=1e-3)
    assert np.allclose(ensemble.hessian[0], len(Y) * frequency * (1 - frequency) * 7 / 6, rtol=1e-5)


def test_as_many_directions_as_classes_search_the_classes_themselves():
    assert fit(sketch_outputs=7).model_.fingerprint() == fit(sketch_outputs=None).model_.fingerprint()
    assert fit(sketch_outputs=6).model_.fingerprint() != fit(sketch_outputs=None).model_.fingerprint()


@pytest.mark.parametrize(
    "params",
    [
        {"sampling": "goss"},
        {"sampling": "mvs", "subsample": 0.3},
        {"subsample": 0.7, "colsample_bytree": 0.6},
        {"boosting": "dart"},
        {"boosting": "ordered", "ordered_scoring": False},
        {"growth": "symmetric", "leaf_steps": 3},
        {"random_strength": 1.0},
        {"objective": OneVsAll(vector_leaves=True)},
        {"preset": "catboost", "objective": "softmax"},
        {"early_stopping_rounds": 5, "validation_fraction": 0.2, "refit": "replay"},
        {"sketch_outputs": 1},
    ],
    ids=str,
)
def test_it_goes_with_other_options(params):
    models = [fit(n_jobs=n, **({"n_estimators": 12} | params)) for n in (1, 2)]
    assert models[0].model_.fingerprint() == models[1].model_.fingerprint()
    assert log_loss(Y, models[0].predict_proba(X)) < 1.75


def test_weights_and_sparse_tables():
    weight = np.where(X[:, 3] > 0, 2.0, 1.0)
    weighted = SapwoodClassifier(**SHARED, sketch_outputs=3).fit(X, Y, sample_weight=weight)
    assert log_loss(Y, weighted.predict_proba(X)) < 1.2
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    assert fit(sparse.csr_matrix(rows)).model_.fingerprint() == fit(rows).model_.fingerprint()


def test_a_checkpoint_resumes_with_the_same_directions(tmp_path):
    def crash(progress):
        if progress.round == 3:
            raise RuntimeError

    path = str(tmp_path / "run")
    with pytest.raises(RuntimeError):
        fit(n_estimators=8, checkpoint=path, callbacks=[crash])
    assert fit(n_estimators=8, checkpoint=path).model_.fingerprint() == fit(n_estimators=8).model_.fingerprint()


@pytest.mark.parametrize(
    "params, match",
    [
        ({"objective": "softmax"}, "vector_leaves=True"),
        ({"split_search": "exact"}, "unset sketch_outputs"),
        ({"boosting": "ordered"}, "ordered_scoring=False"),
        ({"sketch_outputs": 0}, "an integer from 1 to 64"),
    ],
)
def test_what_it_does_not_go_with_is_refused(params, match):
    with pytest.raises(ParameterError, match=match):
        fit(**params)
