"""Linear models in leaves: fit a ridge regression per leaf.

A leaf's model is fitted on its complete rows, those with a finite value of each of its features. Values are moved into
[-1, 1] by their least and largest value in the leaf; gradients and hessians times such numbers sum up in the same
fixed point as gradients and hessians alone, so that the sums depend on no order of rows. Intercept and slopes part when
values are taken from their mean, weighted by the hessians: the intercept is then the leaf's ordinary value, and the
slopes solve the normal equations of what remains.

The sums of a leaf with k features: rows, G, H; then for each feature Σg u, Σh u and Σh u u' with itself and every
feature before it.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.layout import GrowParams  # noqa: F401 (named in a signature)
from sapwood.kernels.split.gain import leaf_value
from sapwood.native.runtime.kernel import kernel, layout

ROWS, SUM_G, SUM_H, HEAD = range(4)
# A leaf with fewer rows for each number of its model stays constant.
ROWS_PER_NUMBER = 2
# A feature whose variance, after the features before it, is at most this part of its squared range has no slope.
MIN_VARIANCE = 1e-10
MIN_RANGE, MAX_RANGE = 1e-290, 1e290


@layout
class LeafTerms(NamedTuple):
    """The features of each leaf's model."""

    span: "i64[:,:]"  # (L, 2) positions of the leaf's rows
    start: "i64[:]"  # (L + 1) first feature of the leaf
    feature: "i64[:]"  # (M) ascending within a leaf
    place: "i64[:]"  # (L + 1) first of the leaf's sums


@kernel()
def read_terms(x, origin, column_stride, terms, leaf, out):
    """Copy a row's values of a leaf's features; tell whether all are finite."""
    first = terms.start[leaf]
    finite = True
    for k in range(first, terms.start[leaf + 1]):
        value = np.float64(x[origin + terms.feature[k] * column_stride])
        out[k - first] = value
        finite = finite and value - value == 0.0
    return finite


@kernel(
    "f32[:], i64, i64, u32[:], LeafTerms, f64[:,:], f64[:,:,:]",
    "f64[:], i64, i64, u32[:], LeafTerms, f64[:,:], f64[:,:,:]",
)
def bound_terms(member, members, sync, x, row_stride, column_stride, order, terms, work, out):
    """Write the least and largest value of each term, over complete rows, to ``out[member]``; ``work`` is room."""
    n = order.shape[0]
    values, bounds = work[member], out[member]
    for k in range(bounds.shape[0]):
        bounds[k, 0] = np.inf
        bounds[k, 1] = -np.inf
    for leaf in range(terms.span.shape[0]):
        first = terms.start[leaf]
        begin = max(terms.span[leaf, 0], member * n // members)
        end = min(terms.span[leaf, 1], (member + 1) * n // members)
        for i in range(begin, end):
            if read_terms(x, np.int64(order[i]) * row_stride, column_stride, terms, leaf, values):
                for k in range(first, terms.start[leaf + 1]):
                    bounds[k, 0] = min(bounds[k, 0], values[k - first])
                    bounds[k, 1] = max(bounds[k, 1], values[k - first])


@kernel(
    "f32[:], i64, i64, u32[:], LeafTerms, f32[:,:], f64[:], f64[:], f64[:,:], f64[:,:], i64[:,:]",
    "f64[:], i64, i64, u32[:], LeafTerms, f32[:,:], f64[:], f64[:], f64[:,:], f64[:,:], i64[:,:]",
)
def sum_terms(member, members, sync, x, row_stride, column_stride, order, terms, pairs, weight, scale, unit, work, out):
    """Write the sums of the member's share of complete rows to ``out[member]``, in steps of 1 / ``scale``.

    ``unit`` holds the middle of each term's range and 1 / half its length; ``work`` is room.
    """
    n = order.shape[0]
    values, sums = work[member], out[member]
    for j in range(sums.shape[0]):
        sums[j] = 0
    for leaf in range(terms.span.shape[0]):
        first, n_terms = terms.start[leaf], terms.start[leaf + 1] - terms.start[leaf]
        begin = max(terms.span[leaf, 0], member * n // members)
        end = min(terms.span[leaf, 1], (member + 1) * n // members)
        for i in range(begin, end):
            row = np.int64(order[i])
            if not read_terms(x, row * row_stride, column_stride, terms, leaf, values):
                continue
            w = weight[row] if weight.shape[0] > 0 else 1.0
            g, h = w * np.float64(pairs[row, 0]) * scale[0], w * np.float64(pairs[row, 1]) * scale[1]
            at = terms.place[leaf]
            sums[at + ROWS] += 1
            sums[at + SUM_G] += np.int64(np.rint(g))
            sums[at + SUM_H] += np.int64(np.rint(h))
            at += HEAD
            for j in range(n_terms):
                u = (values[j] - unit[first + j, 0]) * unit[first + j, 1]
                values[j] = min(max(u, -1.0), 1.0)
                sums[at] += np.int64(np.rint(g * values[j]))
                sums[at + 1] += np.int64(np.rint(h * values[j]))
                for m in range(j + 1):
                    sums[at + 2 + m] += np.int64(np.rint(h * values[j] * values[m]))
                at += 3 + j


@kernel()
def centre_sums(at, n_terms, sums, scale, mean, matrix, right):
    """From a leaf's sums, the mean of each term, and the normal equations of the slopes around these means.

    ``matrix`` holds the lower triangle row by row.
    """
    g, h = np.float64(sums[at + SUM_G]) / scale[0], np.float64(sums[at + SUM_H]) / scale[1]
    place = at + HEAD
    line = 0
    for j in range(n_terms):
        total = np.float64(sums[place + 1]) / scale[1]
        mean[j] = total / h
        right[j] = np.float64(sums[place]) / scale[0] - mean[j] * g
        for i in range(j + 1):
            matrix[line + i] = np.float64(sums[place + 2 + i]) / scale[1] - total * mean[i]
        line += j + 1
        place += 3 + j


@kernel()
def solve_ridge(n_terms, spread, ridge, matrix, right):
    """Solve (matrix + ridge · its diagonal) b = −right by Cholesky, in place; ``right`` becomes b.

    A term of which no more than ``LEAST_SPREAD`` of ``spread`` is left after the terms before it gets 0.
    """
    for j in range(n_terms):
        line = j * (j + 1) // 2
        pivot = matrix[line + j] * (1.0 + ridge)
        for i in range(j):
            column = i * (i + 1) // 2
            value = matrix[line + i]
            for m in range(i):
                value -= matrix[line + m] * matrix[column + m]
            matrix[line + i] = value / matrix[column + i] if matrix[column + i] > 0.0 else 0.0
            pivot -= matrix[line + i] * matrix[line + i]
        matrix[line + j] = np.sqrt(pivot) if pivot > MIN_VARIANCE * spread else 0.0
    for j in range(n_terms):
        line = j * (j + 1) // 2
        value = -right[j]
        for i in range(j):
            value -= matrix[line + i] * right[i]
        right[j] = value / matrix[line + j] if matrix[line + j] > 0.0 else 0.0
    for back in range(n_terms):
        j = n_terms - 1 - back
        place = j * (j + 1) // 2 + j
        value = right[j]
        for m in range(j + 1, n_terms):
            value -= matrix[m * (m + 1) // 2 + j] * right[m]
        right[j] = value / matrix[place] if matrix[place] > 0.0 else 0.0


@kernel("LeafTerms, i64[:], f64[:], f64[:,:], GrowParams, f64, f64[:,:], f64[:], f64[:,:]")
def solve_terms(member, members, sync, terms, sums, scale, unit, rules, penalty, work, intercept, out):
    """Write each leaf's intercept, and the centre and slope of each of its terms to ``out``; a slope of 0 is none.

    ``penalty`` is on squared slopes per standard deviation of the feature in the leaf. Where answers have a largest
    size, slopes are made as flat as it takes to keep it for all values between those of the leaf. ``work`` is room.
    """
    n_leaves = terms.span.shape[0]
    for leaf in range(member * n_leaves // members, (member + 1) * n_leaves // members):
        first, at = terms.start[leaf], terms.place[leaf]
        n_terms = terms.start[leaf + 1] - first
        g, h = np.float64(sums[at + SUM_G]) / scale[0], np.float64(sums[at + SUM_H]) / scale[1]
        intercept[leaf] = leaf_value(g, h, rules)
        for k in range(first, first + n_terms):
            out[k, 0] = unit[k, 0]
            out[k, 1] = 0.0
        if sums[at + ROWS] < ROWS_PER_NUMBER * (n_terms + 1) or h <= 0.0:
            continue
        mean, right, matrix = work[member, :n_terms], work[member, n_terms : 2 * n_terms], work[member, 2 * n_terms :]
        centre_sums(at, n_terms, sums, scale, mean, matrix, right)
        solve_ridge(n_terms, h, penalty / h, matrix, right)
        reach = 0.0
        for j in range(n_terms):
            reach += abs(right[j]) * (1.0 + abs(mean[j]))
        factor = 1.0
        limit = rules.max_delta_step - abs(intercept[leaf])
        if rules.max_delta_step > 0.0 and reach > limit:
            factor = max(limit, 0.0) / reach
        for j in range(n_terms):
            if unit[first + j, 1] > 0.0:
                out[first + j, 0] = unit[first + j, 0] + mean[j] / unit[first + j, 1]
                out[first + j, 1] = right[j] * factor * unit[first + j, 1]
