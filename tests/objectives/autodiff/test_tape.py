"""Recorded losses, against NumPy evaluating the same function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.native.runtime.kernel import run_serial
from sapwood.objectives.autodiff.dual_numbers import Dual
from sapwood.objectives.autodiff.tape import Tape, Trace, UnsupportedOperationError
from sapwood.objectives.autodiff.traced_loss import NumPyLoss, TapeLoss
from tests.objectives.autodiff.test_dual_numbers import EXPRESSIONS, evaluate

RANDOM = np.random.default_rng(0)
N = 600
Y, F = RANDOM.normal(size=N), RANDOM.normal(size=(1, N))
LOSSES = {
    "logistic": lambda y, f: np.logaddexp(0, f) - (y > 0) * f,
    "logistic by hand": lambda y, f: np.log(1 + np.exp(-np.sign(y) * f)),
    "cauchy": lambda y, f: np.log1p((y - f) ** 2),
    "pseudo-huber": lambda y, f: np.sqrt(1 + (y - f) ** 2) - 1,
    "squared and absolute": lambda y, f: np.where(np.abs(y) > 1, 0.5 * (y - f) ** 2, np.abs(y - f)),
    "asymmetric": lambda y, f: np.where(f > y, 2.0, 1.0) * (f - y) ** 2,
    "powers": lambda y, f: np.abs(y - f) ** 1.5 + (f - y) ** 4 + np.exp(f) ** -1,
    "row powers": lambda y, f: (1 + f**2) ** (np.abs(y) + 0.3),
    "clipped": lambda y, f: np.clip(f - y, -1, 1) * f + np.tanh(f) / (1 + np.exp(-f)),
    "truths": lambda y, f: np.where((f > y) & ~(f > 1) | (f != f), f * f, np.expm1(f)),
    "truths of y": lambda y, f: np.where((y > 0) | (y < -1), f * f, -np.minimum(f, y)),
    "straight": lambda y, f: y * f,
    "scaled": lambda y, f: (f - y) * (f - y) / 3,
    "cosine": lambda y, f: np.cos(f - y),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_recorded_loss_is_what_numpy_makes_of_it(name):
    twin = NumPyLoss(LOSSES[name], Y, 0.7)
    if name == "cosine":
        with pytest.raises(UnsupportedOperationError):
            TapeLoss(LOSSES[name], Y, 0.7)
        return
    recorded = TapeLoss(LOSSES[name], Y, 0.7)
    pairs, expected = np.full((1, N, 2), 7, dtype=np.float32), np.full((1, N, 2), 8, dtype=np.float32)
    recorded.pairs(F, pairs, run_serial)
    twin.pairs(F, expected, run_serial)
    np.testing.assert_allclose(recorded.value(F, run_serial), twin.value(F, run_serial), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        recorded.derivatives(F, run_serial), twin.derivatives(F, run_serial), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(pairs, expected, rtol=1e-5, atol=1e-9)


@settings(max_examples=60)
@given(EXPRESSIONS, st.floats(-2, 2), st.floats(-2, 2))
def test_random_expressions_are_recorded_as_they_are(tree, y, f):
    trace = Trace(3)
    try:
        got = evaluate(tree, np.array([y, 0.5, 0.0]), Dual(trace.score(), 1.0, 0.0), exact=False)
    except UnsupportedOperationError:
        return
    if not isinstance(got, Dual):
        return
    numbers = [trace.number(part) for part in (got.value, got.first, got.second)]
    tape = Tape(trace, numbers, np.array(trace.rows) if trace.rows else np.zeros((1, 1)))
    scores = np.array([[f, 0.25, -1.0]])
    twin = evaluate(tree, np.array([y, 0.5, 0.0]), Dual(scores[0], 1.0, 0.0), exact=False)
    for found, expected in zip(tape.run(scores, run_serial), (twin.value, twin.first, twin.second), strict=True):
        np.testing.assert_allclose(found, np.broadcast_to(expected, 3), rtol=1e-8, atol=1e-8)


def test_a_team_gives_the_bits_of_one_thread():
    recorded = TapeLoss(LOSSES["cauchy"], Y, 0.7)

    def on_three(kernel, *args):
        with np.errstate(all="ignore"):
            for member in (1, 2, 0):
                kernel.function(member, 3, None, *args)

    pairs, expected = np.empty((2, 1, N, 2), dtype=np.float32)
    recorded.pairs(F, pairs, on_three)
    recorded.pairs(F, expected, run_serial)
    np.testing.assert_array_equal(pairs.view(np.int32), expected.view(np.int32))


def test_equal_operations_are_recorded_once():
    trace = Trace(4)
    score = trace.score()
    assert (np.exp(score) + 2.0).number == (np.exp(score) + 2.0).number
    assert len(trace.operations) == 4


def test_registers_are_used_again():
    trace = Trace(4)
    x = trace.score()
    for _ in range(50):
        x = np.tanh(x)
    assert Tape(trace, [x.number], np.zeros((1, 1))).n_registers == 2


def test_no_operation_writes_what_it_reads():
    trace = Trace(N)
    value = LOSSES["powers"](Y, Dual(trace.score(), 1.0, 0.0))
    numbers = [trace.number(part) for part in (value.value, value.first, value.second)]
    for operation, destination, *operands in Tape(trace, numbers, np.array(trace.rows)).code.tolist():
        if operation >= 10:
            n_operands = 1 if operation >= 30 else 3 if operation == 19 else 2
            assert destination not in operands[:n_operands]


def test_arrays_of_another_length_are_not_recorded():
    with pytest.raises(UnsupportedOperationError):
        Trace(4).score() + np.ones(3)
