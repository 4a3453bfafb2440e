"""Losses of the user's own (A5, N4)."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.objectives import CustomLoss, GradientLoss, Softmax, mean_loss, resolve, restore
from tests.objectives.loss_examples import every_loss, name_of, pairs_of, targets

FORMULAS = {
    "squared": lambda y, f: 0.5 * (y - f) ** 2,
    "poisson": lambda y, f: np.exp(f) - y * f,
    "gamma": lambda y, f: f + y * np.exp(-f),
    "tweedie": lambda y, f: np.exp(0.5 * f) / 0.5 + y * np.exp(-0.5 * f) / 0.5,
    "msle": lambda y, f: 0.5 * (f - np.log1p(y)) ** 2,
    "logistic": lambda y, f: np.logaddexp(0, f) - y * f,
    "exponential": lambda y, f: np.exp(-(2 * y - 1) * f),
    "expectile": lambda y, f: np.where(f > y, 0.25, 0.25) * (f - y) ** 2,
}
ABSOLUTE = CustomLoss(lambda y, f: np.abs(y - f))


def squared_at_the_ends(y, f):
    """Squared error for high and low targets, absolute error for the middle."""
    return np.where(np.abs(y) > 1, 0.5 * (y - f) ** 2, np.abs(y - f))


@pytest.mark.parametrize("loss", [loss for loss in every_loss()[:18] if loss.name in FORMULAS], ids=name_of)
def test_a_formula_gives_what_the_built_in_loss_gives(loss):
    custom = CustomLoss(FORMULAS[loss.name])
    y, scores = targets(loss, 300), np.random.default_rng(1).normal(size=(1, 300))
    np.testing.assert_allclose(pairs_of(custom, y, scores), pairs_of(loss, y, scores), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(custom.loss(y, scores), loss.loss(y, scores), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(custom.best_constant(y), loss.best_constant(y), rtol=1e-6, atol=1e-9)
    weight = np.random.default_rng(2).uniform(size=300)
    np.testing.assert_allclose(custom.best_constant(y, weight), loss.best_constant(y, weight), rtol=1e-6, atol=1e-9)


def test_a_function_is_an_objective():
    loss = resolve(squared_at_the_ends)
    assert isinstance(loss, CustomLoss)
    assert loss.default_metric == "loss"


def test_squared_at_the_ends_and_absolute_in_the_middle():
    y, scores = np.array([3.0, 0.5, 0.5]), np.array([[1.0, 2.5, 0.0]])
    loss = resolve(squared_at_the_ends)
    width = (2.0 + 0.5) / 2  # the mean absolute error of the rows in the middle
    found = pairs_of(loss, y, scores)[0]
    np.testing.assert_allclose(found, [[-2.0, 1.0], [1.0, 1 / width], [-1.0, 1 / width]], rtol=1e-6)
    np.testing.assert_allclose(loss.loss(y, scores), [2.0, 2.0, 0.5])


def test_the_stand_in_curvature_follows_the_unit_of_the_target():
    y, scores = np.array([1.0, 2.0, 4.0]), np.zeros((1, 3))
    small, large = pairs_of(ABSOLUTE, y, scores), pairs_of(ABSOLUTE, 1000 * y, scores)
    np.testing.assert_allclose(small[0, :, 1], 1000 * large[0, :, 1], rtol=1e-6)


def test_a_straight_loss_below_0_is_bent_over_the_width_of_the_targets():
    y = np.array([1.0, 2.0, 6.0])
    found = pairs_of(CustomLoss(lambda y, f: -f * y), y, np.ones((1, 3)))
    np.testing.assert_allclose(found[0, :, 1], y / 2, rtol=1e-6)


def test_negative_curvature_becomes_positive():
    y, scores = np.zeros(4), np.array([[0.5, 2.0, 10.0, -3.0]])
    found = pairs_of(CustomLoss(lambda y, f: np.log1p((y - f) ** 2)), y, scores)
    curvature = 2 * (1 - scores**2) / (1 + scores**2) ** 2
    np.testing.assert_allclose(found[..., 1], np.abs(curvature), rtol=1e-6)


def test_a_flat_loss_has_the_least_hessian():
    found = pairs_of(CustomLoss(lambda y, f: np.maximum(0, np.abs(y - f) - 1)), np.zeros(1), np.zeros((1, 1)))
    np.testing.assert_allclose(found, [[[0.0, 1e-16]]], rtol=1e-6)


def test_the_best_constant_of_an_absolute_loss_is_the_median():
    assert ABSOLUTE.best_constant(np.array([8.0, 1.0, 3.0, 2.0, 900.0]))[0] == pytest.approx(3.0)


def test_the_best_constant_is_found_in_a_limited_domain():
    loss = CustomLoss(lambda y, f: f - y * np.log(f))
    assert loss.best_constant(np.array([2.0, 4.0]))[0] == pytest.approx(3.0)


@pytest.mark.parametrize("y", [0.0, 1.0])
def test_the_best_constant_of_one_class_is_finite(y):
    constant = CustomLoss(FORMULAS["logistic"]).best_constant(np.full(9, y))[0]
    assert 15 < abs(constant) < 100


def test_the_constant_does_not_depend_on_the_order_of_rows():
    y = np.random.default_rng(3).normal(size=500)
    order = np.random.default_rng(4).permutation(500)
    loss = CustomLoss(lambda y, f: np.log1p((y - f) ** 2))
    assert loss.best_constant(y)[0] == loss.best_constant(y[order])[0]


def test_a_loss_that_is_never_finite_is_refused():
    with pytest.raises(ParameterError, match="not finite at any"):
        CustomLoss(lambda y, f: f + np.log(-1.0 - f * f)).best_constant(np.zeros(3))


@pytest.mark.parametrize(
    "loss",
    [lambda y, f: (f - y.mean()) ** 2, lambda y, f: (f - y) ** 2 / len(y), lambda y, f: (f - np.sort(y)) ** 2],
)
def test_a_loss_that_mixes_rows_is_refused(loss):
    y = np.random.default_rng(0).normal(size=100)
    with pytest.raises(ParameterError, match="alone"):
        CustomLoss(loss).check_target(y)


def test_an_array_of_the_length_of_the_table_is_refused():
    given = np.ones(100)
    with pytest.raises(ParameterError, match="50 of the 100 rows"):
        CustomLoss(lambda y, f: given * (f - y) ** 2).check_target(np.zeros(100))


@pytest.mark.parametrize("loss", [lambda y, f: y, lambda y, f: 3.0, lambda y, f: f > y, lambda y, f: None])
def test_a_function_without_the_score_is_refused(loss):
    with pytest.raises(ParameterError, match="does not depend on the score"):
        CustomLoss(loss).check_target(np.arange(4.0))


def test_targets_that_are_not_numbers_are_refused():
    with pytest.raises(InputError, match="row 1"):
        ABSOLUTE.check_target(np.array([1.0, np.nan]))


def test_numpy_functions_without_a_kernel_are_evaluated_by_numpy():
    y = np.random.default_rng(5).normal(size=20_000)
    scores = np.random.default_rng(6).normal(size=(1, 20_000))
    found = pairs_of(CustomLoss(lambda y, f: 1 - np.cos(y - f)), y, scores)
    np.testing.assert_allclose(found[0, :, 0], np.sin(scores[0] - y), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[0, :, 1], np.abs(np.cos(scores[0] - y)), rtol=1e-5, atol=1e-7)


def test_changed_targets_are_seen_by_the_next_fit():
    loss, y, scores = CustomLoss(FORMULAS["squared"]), np.zeros(3), np.zeros((1, 3))
    pairs_of(loss, y, scores)
    y[:] = 1.0
    loss.check_target(y)
    np.testing.assert_array_equal(pairs_of(loss, y, scores)[0, :, 0], -1.0)


def test_two_classes_get_the_logit_link():
    loss = CustomLoss(FORMULAS["logistic"]).for_classes(2)
    assert (loss.task, loss.link.name) == ("binary", "logit")
    with pytest.raises(ParameterError, match="3 classes"):
        loss.for_classes(3)


def test_a_link_is_named():
    assert CustomLoss(FORMULAS["poisson"], link="log").link.name == "log"
    with pytest.raises(ParameterError, match="link='probit'"):
        CustomLoss(FORMULAS["poisson"], link="probit")


def test_copies_work_on_their_own():
    y, scores = np.arange(3.0), np.zeros((1, 3))
    loss = CustomLoss(squared_at_the_ends)
    expected = pairs_of(loss, y, scores)
    for again in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        np.testing.assert_array_equal(pairs_of(again, y, scores), expected)


def test_files_do_not_keep_functions():
    assert ABSOLUTE.settings() == {"link": "identity"}
    with pytest.raises(ParameterError, match="pass the function again"):
        restore("custom", {"link": "identity"})


def test_the_mean_loss_is_its_metric():
    assert mean_loss(ABSOLUTE, np.array([1.0, 3.0]), np.zeros((1, 2)), np.array([1.0, 3.0])) == 2.5


def logistic_pairs(y, f):
    p = 1 / (1 + np.exp(-f))
    return p - y, p * (1 - p)


def test_a_function_that_returns_two_things_gives_gradient_and_hessian():
    loss = resolve(logistic_pairs)
    assert isinstance(loss, GradientLoss)
    found = pairs_of(loss, np.array([1.0]), np.array([[math.log(3)]]))
    np.testing.assert_allclose(found, [[[-0.25, 0.1875]]], rtol=1e-6)


def test_gradients_start_from_the_given_constant():
    loss = GradientLoss(logistic_pairs, link="logit", constant=0.5)
    np.testing.assert_array_equal(loss.best_constant(np.zeros(3)), [0.5])
    assert (loss.link.name, loss.settings()) == ("logit", {"link": "logit", "constant": 0.5})
    assert loss.for_classes(2).settings() == loss.settings()


def test_given_hessians_are_kept_above_0():
    found = pairs_of(GradientLoss(lambda y, f: (f - y, -1.0)), np.zeros(2), np.zeros((1, 2)))
    np.testing.assert_allclose(found[0, :, 1], 1e-16, rtol=1e-6)


def test_gradients_of_a_wrong_shape_are_refused():
    with pytest.raises(ParameterError, match=r"hessian of shape \(3,\) for 2 rows"):
        pairs_of(GradientLoss(lambda y, f: (f - y, np.ones(3))), np.zeros(2), np.zeros((1, 2)))
    with pytest.raises(ParameterError, match="tuple"):
        pairs_of(GradientLoss(lambda y, f: f - y), np.zeros(2), np.zeros((1, 2)))


def test_the_scores_given_to_a_function_are_its_own():
    scores = np.zeros((1, 2))

    def greedy(y, f):
        f += 1
        return f, f

    pairs_of(GradientLoss(greedy), np.zeros(2), scores)
    np.testing.assert_array_equal(scores, 0.0)


def test_gradients_have_no_loss_to_measure():
    with pytest.raises(ParameterError, match="eval_metric"):
        GradientLoss(logistic_pairs).loss(np.zeros(1), np.zeros((1, 1)))
    assert GradientLoss(logistic_pairs).default_metric == "rmse"


def test_a_tuple_from_a_loss_is_explained():
    with pytest.raises(ParameterError, match="GradientLoss"):
        CustomLoss(lambda y, f: (f, f)).check_target(np.zeros(4))


# --- several classes --------------------------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(400, 3))
LABELS = np.array(["b", "a", "d", "c"])[np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])]


def softmax_derivatives(y, f):
    """As users of XGBoost and LightGBM write it."""
    e = np.exp(f - f.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    gradient = p.copy()
    gradient[np.arange(len(y)), y.astype(int)] -= 1.0
    return gradient, p * (1.0 - p)


def softmax_loss(y, f):
    top = f.max(axis=1, keepdims=True)
    return np.log(np.exp(f - top).sum(axis=1)) + top[:, 0] - f[np.arange(len(y)), y]


def fit(objective, **more):
    return SapwoodClassifier(objective=objective, n_estimators=5, **more).fit(X, LABELS, eval_set=(X, LABELS))


def test_derivatives_of_several_classes_give_the_model_of_the_loss():
    frequencies = np.unique(LABELS, return_counts=True)[1] / len(LABELS)
    given = fit(GradientLoss(softmax_derivatives, constant=np.log(frequencies)))
    expected = fit(Softmax(curvature_factor=1.0))
    np.testing.assert_allclose(given.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    assert given.evals_result_["validation"]["log_loss"][-1] < 0.9


def test_a_loss_of_several_classes_is_differentiated():
    expected = fit(Softmax(curvature_factor=1.0))
    given = fit(softmax_loss)
    np.testing.assert_allclose(given.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    losses = [fitted.evals_result_["validation"][name] for fitted, name in ((given, "loss"), (expected, "log_loss"))]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)


def test_the_derivatives_of_several_classes_are_those_of_finite_differences():
    y, scores = np.array([0.0, 2.0, 1.0]), np.random.default_rng(1).normal(size=(3, 3))
    loss = CustomLoss(lambda y, f: np.sqrt(1.0 + f.sum(axis=1) ** 2) + np.exp(f[:, 1]) * f[:, 0] - f[:, 2] * y)
    pairs = pairs_of(loss.for_classes(3), y, scores)
    step = 1e-4
    for k in range(3):
        up, down = scores.copy(), scores.copy()
        up[k], down[k] = up[k] + step, down[k] - step
        at = [loss.for_classes(3).loss(y, one) for one in (up, scores, down)]
        np.testing.assert_allclose(pairs[k, :, 0], (at[0] - at[2]) / (2 * step), rtol=1e-4)
        np.testing.assert_allclose(pairs[k, :, 1], np.abs(at[0] - 2 * at[1] + at[2]) / step**2, rtol=1e-2)


def test_functions_are_told_apart_by_scores_of_several_classes():
    assert isinstance(resolve(softmax_derivatives), GradientLoss)
    assert isinstance(resolve(softmax_loss), CustomLoss)


@pytest.mark.parametrize("link", ["softmax", "one_vs_all"])
def test_two_classes_may_have_a_score_each(link):
    loss = CustomLoss(softmax_loss, link=link)
    fitted = SapwoodClassifier(objective=loss, n_estimators=2).fit(X, X[:, 0] > 0)
    assert fitted.model_.n_outputs == 2
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(ParameterError, match="loss for classes"):
        SapwoodRegressor(objective=loss).fit(X, X[:, 0])


def test_a_score_per_class_needs_a_link_of_several_scores():
    with pytest.raises(ParameterError, match="link='log' is that of one score, but 4 classes"):
        fit(GradientLoss(softmax_derivatives, link="log"))


@pytest.mark.parametrize("flat", [lambda f: f.ravel(), lambda f: f.T, lambda f: f[:, 0]])
def test_derivatives_of_several_classes_have_a_row_per_row(flat):
    with pytest.raises(ParameterError, match=r"allowed is the shape \(400, 4\), one number per row and class"):
        fit(GradientLoss(lambda y, f: (flat(f), flat(f))))


def test_a_constant_per_class_has_as_many_values():
    with pytest.raises(ParameterError, match="constant has 2 values; allowed is a number or 4"):
        fit(GradientLoss(softmax_derivatives, constant=[0.0, 1.0]))


@pytest.mark.parametrize("loss", [lambda y, f: f[1:, 0], lambda y, f: f.sum(axis=0), lambda y, f: f[:, 0] * f.sum()])
def test_a_loss_of_several_classes_that_mixes_rows_is_refused(loss):
    with pytest.raises(ParameterError, match="custom objective"):
        fit(CustomLoss(loss))


@pytest.mark.parametrize("more", [{"boosting": "ordered"}, {"leaf_steps": 3}, {"growth": "symmetric"}], ids=str)
def test_a_loss_of_several_classes_goes_with_other_options(more):
    fitted = fit(softmax_loss, **more)
    expected = fit(Softmax(curvature_factor=1.0), **more)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), atol=1e-5)
