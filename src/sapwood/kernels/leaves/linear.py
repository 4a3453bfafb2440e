"""Linear leaves: fit a ridge regression in every leaf.

The model of a leaf is fitted on its complete rows, those with a finite value of each of its features, its *terms*.
Values are scaled to [-1, 1] by their minimum and maximum in the leaf; gradients and hessians times such numbers are
summed in the same fixed point as gradients and hessians alone, so that sums do not depend on the order of rows. With
values centred at their mean, weighted by the hessians, intercept and slopes separate: the intercept is the leaf's
ordinary value, and the slopes solve the normal equations of the rest.

The sums of a leaf with k terms: rows, G, H; then for each term Σg u, Σh u and Σh u u' with itself and every term before
it.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.layout import GrowParams  # noqa: F401 (named in a signature)
from sapwood.kernels.split.gain import leaf_value
from sapwood.native.runtime.kernel import kernel, layout

ROWS, SUM_G, SUM_H, HEAD = range(4)
# A leaf with fewer rows for each coefficient of its model stays constant.
ROWS_PER_NUMBER = 2
# A term whose variance, after the terms before it, is at most this fraction of its squared range has no slope.
MIN_VARIANCE = 1e-10
MIN_RANGE, MAX_RANGE = 1e-290, 1e290


@layout
class LeafTerms(NamedTuple):
    """The terms (features) of the model of each leaf."""

    span: "i64[:,:]"  # (L, 2) positions of the leaf's rows
    start: "i64[:]"  # (L + 1) first term of the leaf
    feature: "i64[:]"  # (M) ascending within a leaf
    sums_start: "i64[:]"  # (L + 1) first of the leaf's sums


@kernel()
def read_terms(x, origin, column_stride, terms, leaf, out):
    """Copy the values of a leaf's terms in a row; return whether all are finite."""
    first = terms.start[leaf]
    is_finite = True
    for k in range(first, terms.start[leaf + 1]):
        value = np.float64(x[origin + terms.feature[k] * column_stride])
        out[k - first] = value
        is_finite = is_finite and value - value == 0.0
    return is_finite


@kernel(
    "f32[:], i64, i64, u32[:], LeafTerms, f64[:,:], f64[:,:,:]",
    "f64[:], i64, i64, u32[:], LeafTerms, f64[:,:], f64[:,:,:]",
)
def bound_terms(member, members, sync, x, row_stride, column_stride, rows, terms, buffer, out):
    """Write the smallest and largest value of each term in complete rows to ``out[member]``; ``buffer`` is scratch."""
    n = rows.shape[0]
    values, bounds = buffer[member], out[member]
    for k in range(bounds.shape[0]):
        bounds[k, 0] = np.inf
        bounds[k, 1] = -np.inf
    for leaf in range(terms.span.shape[0]):
        first = terms.start[leaf]
        begin = max(terms.span[leaf, 0], member * n // members)
        end = min(terms.span[leaf, 1], (member + 1) * n // members)
        for i in range(begin, end):
            if read_terms(x, np.int64(rows[i]) * row_stride, column_stride, terms, leaf, values):
                for k in range(first, terms.start[leaf + 1]):
                    bounds[k, 0] = min(bounds[k, 0], values[k - first])
                    bounds[k, 1] = max(bounds[k, 1], values[k - first])


@kernel(
    "f32[:], i64, i64, u32[:], LeafTerms, f32[:,:], f64[:], f64[:], f64[:,:], f64[:,:], i64[:,:]",
    "f64[:], i64, i64, u32[:], LeafTerms, f32[:,:], f64[:], f64[:], f64[:,:], f64[:,:], i64[:,:]",
)
def sum_terms(
    member, members, sync, x, row_stride, column_stride, rows, terms, pairs, weight, scale, unit, buffer, out
):
    """Write the sums of the member's slice of complete rows to ``out[member]``, in fixed point by ``scale``.

    ``unit`` holds the middle of each term's range and 1 / half its length; ``buffer`` is scratch.
    """
    n = rows.shape[0]
    values, sums = buffer[member], out[member]
    for j in range(sums.shape[0]):
        sums[j] = 0
    for leaf in range(terms.span.shape[0]):
        first, n_terms = terms.start[leaf], terms.start[leaf + 1] - terms.start[leaf]
        begin = max(terms.span[leaf, 0], member * n // members)
        end = min(terms.span[leaf, 1], (member + 1) * n // members)
        for i in range(begin, end):
            row = np.int64(rows[i])
            if not read_terms(x, row * row_stride, column_stride, terms, leaf, values):
                continue
            w = weight[row] if weight.shape[0] > 0 else 1.0
            g, h = w * np.float64(pairs[row, 0]) * scale[0], w * np.float64(pairs[row, 1]) * scale[1]
            base = terms.sums_start[leaf]
            sums[base + ROWS] += 1
            sums[base + SUM_G] += np.int64(np.rint(g))
            sums[base + SUM_H] += np.int64(np.rint(h))
            base += HEAD
            for j in range(n_terms):
                u = (values[j] - unit[first + j, 0]) * unit[first + j, 1]
                values[j] = min(max(u, -1.0), 1.0)
                sums[base] += np.int64(np.rint(g * values[j]))
                sums[base + 1] += np.int64(np.rint(h * values[j]))
                for m in range(j + 1):
                    sums[base + 2 + m] += np.int64(np.rint(h * values[j] * values[m]))
                base += 3 + j


@kernel()
def centre_sums(base, n_terms, sums, scale, mean, matrix, right):
    """Write the mean of each term of a leaf, and the normal equations of the slopes around these means.

    ``matrix`` holds the lower triangle row by row.
    """
    g, h = np.float64(sums[base + SUM_G]) / scale[0], np.float64(sums[base + SUM_H]) / scale[1]
    position = base + HEAD
    row_start = 0
    for j in range(n_terms):
        total = np.float64(sums[position + 1]) / scale[1]
        mean[j] = total / h
        right[j] = np.float64(sums[position]) / scale[0] - mean[j] * g
        for i in range(j + 1):
            matrix[row_start + i] = np.float64(sums[position + 2 + i]) / scale[1] - total * mean[i]
        row_start += j + 1
        position += 3 + j


@kernel()
def solve_ridge(n_terms, spread, ridge, matrix, right):
    """Solve (matrix + ridge · its diagonal) b = −right by Cholesky, in place; ``right`` becomes b.

    A term of which no more than ``MIN_VARIANCE`` of ``spread`` is left after the terms before it gets 0.
    """
    for j in range(n_terms):
        row_start = j * (j + 1) // 2
        pivot = matrix[row_start + j] * (1.0 + ridge)
        for i in range(j):
            column = i * (i + 1) // 2
            value = matrix[row_start + i]
            for m in range(i):
                value -= matrix[row_start + m] * matrix[column + m]
            matrix[row_start + i] = value / matrix[column + i] if matrix[column + i] > 0.0 else 0.0
            pivot -= matrix[row_start + i] * matrix[row_start + i]
        matrix[row_start + j] = np.sqrt(pivot) if pivot > MIN_VARIANCE * spread else 0.0
    for j in range(n_terms):
        row_start = j * (j + 1) // 2
        value = -right[j]
        for i in range(j):
            value -= matrix[row_start + i] * right[i]
        right[j] = value / matrix[row_start + j] if matrix[row_start + j] > 0.0 else 0.0
    for k in range(n_terms):
        j = n_terms - 1 - k
        position = j * (j + 1) // 2 + j
        value = right[j]
        for m in range(j + 1, n_terms):
            value -= matrix[m * (m + 1) // 2 + j] * right[m]
        right[j] = value / matrix[position] if matrix[position] > 0.0 else 0.0


@kernel("LeafTerms, i64[:], f64[:], f64[:,:], GrowParams, f64, f64[:,:], f64[:], f64[:,:]")
def solve_terms(member, members, sync, terms, sums, scale, unit, params, penalty, buffer, intercept, out):
    """Write the intercept of each leaf, and the centre and slope of each of its terms to ``out``.

    ``penalty`` is on squared slopes per standard deviation of the term in the leaf. With ``max_delta_step``, slopes are
    scaled down so that values keep it for all values of terms in the range of the leaf. ``buffer`` is scratch.
    """
    n_leaves = terms.span.shape[0]
    for leaf in range(member * n_leaves // members, (member + 1) * n_leaves // members):
        first, base = terms.start[leaf], terms.sums_start[leaf]
        n_terms = terms.start[leaf + 1] - first
        g, h = np.float64(sums[base + SUM_G]) / scale[0], np.float64(sums[base + SUM_H]) / scale[1]
        intercept[leaf] = leaf_value(g, h, params)
        for k in range(first, first + n_terms):
            out[k, 0] = unit[k, 0]
            out[k, 1] = 0.0
        if sums[base + ROWS] < ROWS_PER_NUMBER * (n_terms + 1) or h <= 0.0:
            continue
        mean, right = buffer[member, :n_terms], buffer[member, n_terms : 2 * n_terms]
        matrix = buffer[member, 2 * n_terms :]
        centre_sums(base, n_terms, sums, scale, mean, matrix, right)
        solve_ridge(n_terms, h, penalty / h, matrix, right)
        reach = 0.0
        for j in range(n_terms):
            reach += abs(right[j]) * (1.0 + abs(mean[j]))
        factor = 1.0
        limit = params.max_delta_step - abs(intercept[leaf])
        if params.max_delta_step > 0.0 and reach > limit:
            factor = max(limit, 0.0) / reach
        for j in range(n_terms):
            if unit[first + j, 1] > 0.0:
                out[first + j, 0] = unit[first + j, 0] + mean[j] / unit[first + j, 1]
                out[first + j, 1] = right[j] * factor * unit[first + j, 1]
