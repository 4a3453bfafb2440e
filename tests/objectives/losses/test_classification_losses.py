"""Losses for classes, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood import SapwoodClassifier
from sapwood.errors import InputError, ParameterError
from sapwood.objectives import CrossEntropy, Exponential, Focal, Hinge, Logistic, OneVsAll, Softmax
from tests.objectives.loss_examples import pairs_of

LOG_3 = math.log(3)


@pytest.mark.parametrize(
    ("loss", "y", "expected"),
    [
        (Logistic(), 1.0, (math.log(4 / 3), -0.25, 0.1875)),
        (Logistic(), 0.0, (math.log(4), 0.75, 0.1875)),
        (CrossEntropy(), 0.5, (math.log(4) - LOG_3 / 2, 0.25, 0.1875)),
        (Exponential(), 1.0, (1 / 3, -1 / 3, 1 / 3)),
        (Exponential(), 0.0, (3.0, 3.0, 3.0)),
        (Hinge(), 1.0, (0.0, 0.0, 1.0)),
        (Hinge(), 0.0, (1 + LOG_3, 1.0, 1.0)),
        (Focal(0.0), 1.0, (math.log(4 / 3), -0.25, 0.1875)),
        (Focal(2.0), 1.0, (math.log(4 / 3) / 16, (1.5 * math.log(0.75) - 0.25) / 16,
                           0.75 / 16 * (5 / 4 + 2 * math.log(0.75) * (0.25 - 1.5)))),
        (Focal(1.0, 0.2), 0.0, (0.8 * 0.75 * math.log(4), -0.8 * 0.75 * (0.25 * math.log(0.25) - 0.75),
                                0.8 * 0.75 * 0.25 * (2.25 + math.log(0.25) / 2))),
    ],
    ids=repr,
)  # fmt: skip
def test_values_at_a_score_of_log_3_by_hand(loss, y, expected):
    targets, scores = np.array([y]), np.array([[LOG_3]])
    pair = pairs_of(loss, targets, scores)[0, 0]
    assert (loss.loss(targets, scores)[0], pair[0], pair[1]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("score", [-30.0, -2.0, 0.0, 0.5, 3.0, 30.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_both_spellings_of_the_logistic_loss_are_one(score, sign):
    """With targets -1 and 1 the loss is ln(1 + e^(-yF)) and its negative gradient y / (1 + e^(yF)) (A4)."""
    y, scores = np.array([(sign + 1) / 2]), np.array([[score]])
    assert Logistic().loss(y, scores)[0] == pytest.approx(math.log1p(math.exp(-sign * score)), rel=1e-12)
    negative_gradient = -pairs_of(Logistic(), y, scores)[0, 0, 0]
    assert negative_gradient == pytest.approx(sign / (1 + math.exp(sign * score)), rel=1e-6)


def test_the_weight_of_a_row_goes_from_0_well_on_its_side_to_1_for_a_gross_error():
    weights = np.abs(pairs_of(Logistic(), np.ones(3), np.array([[40.0, 0.0, -40.0]]))[0, :, 0])
    np.testing.assert_allclose(weights, [0.0, 0.5, 1.0], atol=1e-7)


def test_softmax_by_hand():
    scores = np.log([[1.0], [2.0], [5.0]])
    found = pairs_of(Softmax(3), np.array([2.0]), scores)[:, 0]
    p = np.array([0.125, 0.25, 0.625])
    np.testing.assert_allclose(found[:, 0], p - [0, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], 1.5 * p * (1 - p), rtol=1e-6)
    assert Softmax(3).loss(np.array([2.0]), scores)[0] == pytest.approx(-math.log(0.625))


def test_softmax_takes_another_curvature_factor():
    found = pairs_of(Softmax(3, curvature_factor=2.0), np.array([0.0]), np.zeros((3, 1)))
    np.testing.assert_allclose(found[:, 0, 1], 2 * (1 / 3) * (2 / 3), rtol=1e-6)


def test_one_vs_all_is_a_logistic_loss_per_class():
    scores = np.array([[LOG_3], [0.0]])
    found = pairs_of(OneVsAll(2), np.array([0.0]), scores)[:, 0]
    np.testing.assert_allclose(found, [[-0.25, 0.1875], [0.5, 0.25]], rtol=1e-6)
    assert OneVsAll(2).loss(np.array([0.0]), scores)[0] == pytest.approx(math.log(4 / 3) + math.log(2))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Logistic(), LOG_3),
        (CrossEntropy(), LOG_3),
        (Exponential(), LOG_3 / 2),
        (Hinge(), 1.0),
        (Focal(0.0), LOG_3),
    ],
    ids=repr,
)
def test_best_constants_of_three_in_four_by_hand(loss, expected):
    assert loss.best_constant(np.array([1.0, 1.0, 0.0, 1.0]))[0] == pytest.approx(expected, rel=1e-6)


def test_best_constants_of_several_classes_are_logarithms_of_shares():
    y = np.array([0.0, 1.0, 1.0, 2.0])
    np.testing.assert_allclose(Softmax(3).best_constant(y), np.log([0.25, 0.5, 0.25]))
    np.testing.assert_allclose(OneVsAll(3).best_constant(y), [-LOG_3, 0.0, -LOG_3], atol=1e-15)


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), Focal(), Hinge()], ids=repr)
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_one_class_alone_has_a_finite_constant(loss, y):
    constant = loss.best_constant(np.full(5, y))[0]
    assert np.isfinite(constant)
    assert (constant > 0) == (y == 1.0)


def test_a_class_without_rows_has_a_finite_constant():
    assert np.isfinite(Softmax(3).best_constant(np.array([0.0, 1.0]))).all()
    assert np.isfinite(OneVsAll(3).best_constant(np.array([0.0, 1.0]))).all()


def test_probabilities_by_hand():
    assert Logistic().link.predict(np.array([[LOG_3]]))[0] == pytest.approx(0.75)
    assert Exponential().link.predict(np.array([[LOG_3 / 2]]))[0] == pytest.approx(0.75)
    np.testing.assert_array_equal(Hinge().link.predict(np.array([[-2.0, -1.0, 0.0, 0.5, 3.0]])), [0, 0, 0.5, 0.75, 1])
    np.testing.assert_allclose(Softmax(2).link.predict(np.array([[0.0], [LOG_3]])), [[0.25, 0.75]])
    np.testing.assert_allclose(OneVsAll(2).link.predict(np.array([[LOG_3], [LOG_3]])), [[0.5, 0.5]])


def test_probabilities_of_extreme_scores_sum_to_1():
    scores = np.array([[-1e5, 1e5, -800.0], [-1e5, 0.0, -800.0], [-1e5, -1e5, 800.0]])
    for loss in (Softmax(3), OneVsAll(3)):
        np.testing.assert_allclose(loss.link.predict(scores).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        (Logistic(), 2.0),
        (Logistic(), 0.5),
        (CrossEntropy(), 1.5),
        (Hinge(), -1.0),
        (Softmax(3), 3.0),
        (OneVsAll(3), 0.5),
    ],
    ids=repr,
)
def test_targets_out_of_range_are_refused_by_row(loss, value):
    with pytest.raises(InputError, match=rf"row 2 is {value:g}; allowed is"):
        loss.check_target(np.array([0.0, 1.0, value]))


def test_the_logistic_loss_of_more_classes_is_softmax():
    assert Logistic().for_classes(2) is not None
    assert repr(Logistic().for_classes(3)) == repr(Softmax(3))


def test_losses_for_two_classes_refuse_more():
    with pytest.raises(ParameterError, match=r"'hinge' is not supported with 3 classes: .* two classes; use 'softmax'"):
        Hinge().for_classes(3)


def test_softmax_needs_the_number_of_classes():
    with pytest.raises(ParameterError, match="for_classes"):
        _ = Softmax().n_outputs


@pytest.mark.parametrize(("gamma", "alpha"), [(-1.0, None), (math.nan, None), (2.0, 0.0), (2.0, 1.0)])
def test_focal_settings_out_of_range_are_refused(gamma, alpha):
    with pytest.raises(ParameterError, match="allowed is"):
        Focal(gamma, alpha)


def test_hinge_starts_between_the_margins_where_every_row_has_a_gradient():
    y = np.array([0.0, 0.0, 0.0, 1.0])
    loss = Hinge()
    start, out = loss.initial_scores(y), np.empty((1, 4, 2), dtype=np.float32)
    assert start.tolist() == [-0.5]
    loss.pairs(y, np.repeat(start[:, None], 4, axis=1), out)
    assert out[0, :, 0].tolist() == [1.0, 1.0, 1.0, -1.0]


def test_hinge_from_its_initial_scores_is_as_good_on_average_as_from_other_constants():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * random.normal(size=1500) > 0).astype(float)
    train, test = slice(0, 1000), slice(1000, None)

    def loss(init) -> float:
        model = SapwoodClassifier(objective="hinge", n_estimators=40, init=init).fit(X[train], y[train])
        return float(np.mean(np.maximum(0.0, 1.0 - (2 * y[test] - 1) * model.predict_raw(X[test]))))

    assert loss(None) < 1.01 * np.mean([loss(0.0), loss(1.0), loss(-1.0)])
