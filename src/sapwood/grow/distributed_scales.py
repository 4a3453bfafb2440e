"""Quantise the gradients of rows that are split between workers, at the scales that one worker would find."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import Workers
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_steps
from sapwood.native.threads.team import Team

Arrays = tuple[layout.RowPartition, layout.Gradients, int, layout.RandomKey, layout.Scales, layout.Scratch, np.ndarray]


def quantise_rows(arrays: Arrays, team: Team, workers: Workers) -> tuple[int, float]:
    """Do what the kernel ``quantise`` does with these arrays, combining what each step finds.

    Return the status and the largest weight, 0 if all rows have equal weights: a worker without rows cannot know.
    """
    rows, gradients, wide, _, scales, scratch, info = arrays
    workers.begin("scales")
    sizes = workers.gather_rows(np.array([[float(len(rows.rows))], [gradients.weight.max(initial=0.0)]]))
    n, max_weight = int(sizes[0].sum()), float(sizes[1].max())
    used = slice(None, 2 * len(scales.exact))  # a pair for each output

    team.run(distributed_steps.quantise_step, distributed_steps.FIND_MAX, *arrays)
    top = workers.max(np.append(scratch.floats[:, used].max(axis=0), info[layout.STATUS]))
    if top[-1] != layout.OK:
        return int(top[-1]), max_weight
    scratch.floats[0, used] = top[:-1]
    distributed_steps.set_scales_step(distributed_steps.FIND_MAX, n, wide, scales, scratch)

    team.run(distributed_steps.quantise_step, distributed_steps.ADD_UP, *arrays)
    scratch.ints[0, used] = workers.sum(scratch.ints[:, used].sum(axis=0))
    distributed_steps.set_scales_step(distributed_steps.ADD_UP, n, wide, scales, scratch)

    team.run(distributed_steps.quantise_step, distributed_steps.ROUND, *arrays)
    ranges = scratch.ints[:, used].copy()
    ranges[:, ::2] *= -1  # the maximum of these is the minimum
    scratch.ints[0, used] = workers.max(ranges.max(axis=0))
    scratch.ints[0, used][::2] *= -1
    distributed_steps.set_scales_step(distributed_steps.ROUND, n, wide, scales, scratch)
    return layout.OK, max_weight
