"""Quantise the gradients of rows that are split between workers, at the scales that one worker would find."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import Workers
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_steps
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import CallCache

Arrays = tuple[layout.RowPartition, layout.Gradients, int, layout.RandomKey, layout.Scales, layout.Scratch, np.ndarray]


@dataclass(frozen=True)
class TreeRows:
    """What the workers know together of the rows of a tree.

    ``max_weight`` is 0 if all rows have equal weights: a worker without rows cannot know.
    """

    status: int
    n_rows: int
    max_weight: float


def quantise_rows(arrays: Arrays, run: CallCache, workers: Workers) -> TreeRows:
    """Do what the kernel ``quantise`` does with these arrays, combining what each step finds.

    The ranges of hessians are still to be combined (``hessian_ranges``), which takes no exchange of its own.
    """
    rows, gradients, wide, _, scales, scratch, info = arrays
    workers.begin("scales")
    used = slice(None, 2 * len(scales.exact))  # a pair for each output
    run(distributed_steps.quantise_step, distributed_steps.FIND_MAX, *arrays)
    found = np.append(
        scratch.floats[:, used].max(axis=0),
        (info[layout.STATUS], gradients.weight.max(initial=0.0), len(rows.rows)),
    )
    of_workers = np.stack(workers.communicator.gather(found))
    top, n = of_workers[:, :-1].max(axis=0), int(of_workers[:, -1].sum())
    known = TreeRows(int(top[-2]), n, float(top[-1]))
    if known.status != layout.OK:
        return known
    scratch.floats[0, used] = top[:-2]
    distributed_steps.set_scales_step(distributed_steps.FIND_MAX, n, wide, scales, scratch)

    run(distributed_steps.quantise_step, distributed_steps.ADD_UP, *arrays)
    scratch.ints[0, used] = workers.sum(scratch.ints[:, used].sum(axis=0))
    distributed_steps.set_scales_step(distributed_steps.ADD_UP, n, wide, scales, scratch)

    run(distributed_steps.quantise_step, distributed_steps.ROUND, *arrays)
    return known


def hessian_ranges(n_outputs: int, scratch: layout.Scratch, workers: Workers) -> np.ndarray:
    """Return the ranges of hessians of this worker in its row of a matrix, which are summed to those of all workers."""
    ranges = scratch.ints[:, : 2 * n_outputs].copy()
    ranges[:, ::2] *= -1  # the maximum of these is the minimum
    of_workers = np.zeros((workers.communicator.size, 2 * n_outputs), np.int64)
    of_workers[workers.communicator.rank] = ranges.max(axis=0)
    return of_workers


def set_hessian_ranges(of_workers: np.ndarray, scales: layout.Scales, scratch: layout.Scratch) -> None:
    """Set the ranges of hessians of the rows of all workers."""
    used = slice(None, of_workers.shape[1])
    scratch.ints[0, used] = of_workers.max(axis=0)
    scratch.ints[0, used][::2] *= -1
    distributed_steps.set_scales_step(distributed_steps.ROUND, 0, 0, scales, scratch)
