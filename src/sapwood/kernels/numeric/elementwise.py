"""Elementary functions of every value of an array."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import exp, expm1, log, log1p, log_cosh, sigmoid, softplus, tanh
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import Kernel, Run, kernel, run_serial


def apply_elementwise(kernel: Kernel, values: np.ndarray, run: Run = run_serial) -> np.ndarray:
    """Return ``kernel``, one of the kernels below, of each of ``values``, in the same shape."""
    flat = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
    out = np.empty_like(flat)
    run(kernel, flat, out)
    return out.reshape(values.shape)


@kernel("f64[:], f64[:]")
def exp_values(member, members, sync, values, out):
    """Write e^x of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = exp(values[i])


@kernel("f64[:], f64[:]")
def expm1_values(member, members, sync, values, out):
    """Write e^x - 1 of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = expm1(values[i])


@kernel("f64[:], f64[:]")
def log_values(member, members, sync, values, out):
    """Write the natural logarithm of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = log(values[i])


@kernel("f64[:], f64[:]")
def log1p_values(member, members, sync, values, out):
    """Write log(1 + x) of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = log1p(values[i])


@kernel("f64[:], f64[:]")
def sigmoid_values(member, members, sync, values, out):
    """Write 1 / (1 + e^-x) of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = sigmoid(values[i])


@kernel("f64[:], f64[:]")
def softplus_values(member, members, sync, values, out):
    """Write log(1 + e^x) of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = softplus(values[i])


@kernel("f64[:], f64[:]")
def tanh_values(member, members, sync, values, out):
    """Write the hyperbolic tangent of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = tanh(values[i])


@kernel("f64[:], f64[:]")
def log_cosh_values(member, members, sync, values, out):
    """Write log(cosh(x)) of each of ``values`` to ``out``."""
    n = values.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = log_cosh(values[i])
