"""Evaluate a loss that was recorded as a tape of operations, a block of rows at a time.

An instruction of the tape is (operation, destination, operands): destination and operands are registers, each of which
holds one number per row of the block, so that every operation is one vectorised loop on numbers in the L1 cache.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import exp, expm1, log, log1p, sigmoid, softplus, tanh
from sapwood.kernels.numeric.gradient_pairs import sign
from sapwood.native.runtime.kernel import kernel

BLOCK = 256  # rows

SCORE, ROW, CONSTANT = 0, 1, 2
ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM = 10, 11, 12, 13, 14, 15
LESS, LESS_EQUAL, EQUAL = 16, 17, 18
WHERE = 19
NEGATIVE, ABSOLUTE, SIGN, SQRT, RECIPROCAL = 30, 31, 32, 33, 34
EXP, EXPM1, LOG, LOG1P, TANH, SIGMOID, SOFTPLUS = 40, 41, 42, 43, 44, 45, 46


@kernel()
def apply_arithmetic(operation, work, m, d, a, b, c, width):
    """Write the result of an operation on registers a and b, or of a choice between b and c by a, to register d."""
    if operation == ADD:
        for j in range(width):
            work[m, d, j] = work[m, a, j] + work[m, b, j]
    elif operation == SUBTRACT:
        for j in range(width):
            work[m, d, j] = work[m, a, j] - work[m, b, j]
    elif operation == MULTIPLY:
        for j in range(width):
            work[m, d, j] = work[m, a, j] * work[m, b, j]
    elif operation == DIVIDE:
        for j in range(width):
            work[m, d, j] = work[m, a, j] / work[m, b, j]
    elif operation == MAXIMUM:
        for j in range(width):
            x = work[m, a, j]
            y = work[m, b, j]
            larger = x if x >= y else y
            work[m, d, j] = larger if x == x else x
    elif operation == MINIMUM:
        for j in range(width):
            x = work[m, a, j]
            y = work[m, b, j]
            smaller = x if x <= y else y
            work[m, d, j] = smaller if x == x else x
    elif operation == LESS:
        for j in range(width):
            work[m, d, j] = 1.0 if work[m, a, j] < work[m, b, j] else 0.0
    elif operation == LESS_EQUAL:
        for j in range(width):
            work[m, d, j] = 1.0 if work[m, a, j] <= work[m, b, j] else 0.0
    elif operation == EQUAL:
        for j in range(width):
            work[m, d, j] = 1.0 if work[m, a, j] == work[m, b, j] else 0.0
    else:
        for j in range(width):
            x = work[m, b, j]
            y = work[m, c, j]
            work[m, d, j] = x if work[m, a, j] != 0.0 else y


@kernel()
def apply_function(operation, work, m, d, a, width):
    """Write an elementary function of register a to register d."""
    if operation == NEGATIVE:
        for j in range(width):
            work[m, d, j] = -work[m, a, j]
    elif operation == ABSOLUTE:
        for j in range(width):
            work[m, d, j] = abs(work[m, a, j])
    elif operation == SIGN:
        for j in range(width):
            work[m, d, j] = sign(work[m, a, j])
    elif operation == SQRT:
        for j in range(width):
            work[m, d, j] = np.sqrt(work[m, a, j])
    elif operation == RECIPROCAL:
        for j in range(width):
            work[m, d, j] = 1.0 / work[m, a, j]
    elif operation == EXP:
        for j in range(width):
            work[m, d, j] = exp(work[m, a, j])
    elif operation == EXPM1:
        for j in range(width):
            work[m, d, j] = expm1(work[m, a, j])
    elif operation == LOG:
        for j in range(width):
            work[m, d, j] = log(work[m, a, j])
    elif operation == LOG1P:
        for j in range(width):
            work[m, d, j] = log1p(work[m, a, j])
    elif operation == TANH:
        for j in range(width):
            work[m, d, j] = tanh(work[m, a, j])
    elif operation == SIGMOID:
        for j in range(width):
            work[m, d, j] = sigmoid(work[m, a, j])
    else:
        for j in range(width):
            work[m, d, j] = softplus(work[m, a, j])


@kernel()
def run_block(code, scores, rows, start, work, m, width):
    """Run the tape for ``width`` rows from ``start`` in the registers of member m."""
    for step in range(code.shape[0]):
        operation = code[step, 0]
        d = np.uint64(code[step, 1])
        a = np.uint64(code[step, 2])
        if operation == SCORE:
            for j in range(width):
                work[m, d, j] = scores[0, start + j]
        elif operation == ROW:
            for j in range(width):
                work[m, d, j] = rows[a, start + j]
        elif operation < NEGATIVE:
            apply_arithmetic(operation, work, m, d, a, np.uint64(code[step, 3]), np.uint64(code[step, 4]), width)
        else:
            apply_function(operation, work, m, d, a, width)


@kernel()
def fill_constants(constants, work, m):
    """Write the constants to the first registers."""
    for k in range(constants.shape[0]):
        for j in range(BLOCK):
            work[m, k, j] = constants[k]


@kernel("i64[:,:], f64[:], f64[:,:], f64[:,:], f64[:,:,:], i64[:], f64[:,:]")
def run_tape(member, members, sync, code, constants, rows, scores, work, results, out):
    """Write the registers ``results`` of every row to the rows of ``out``."""
    n = scores.shape[1]
    n_blocks = (n + BLOCK - 1) // BLOCK
    m = np.uint64(member)
    fill_constants(constants, work, m)
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = np.uint64(b * BLOCK)
        width = np.uint64(min(n - b * BLOCK, BLOCK))
        run_block(code, scores, rows, start, work, m, width)
        for k in range(results.shape[0]):
            register = np.uint64(results[k])
            for j in range(width):
                out[k, start + j] = work[m, register, j]
