"""Turn the pairs of rows that ranks share into integers, at the scales that one rank with all rows would find."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sapwood.distributed.workers import Workers
from sapwood.grow.fixed_point import scale_for
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_steps as steps
from sapwood.kernels.histogram import quantised_gradients as quantise
from sapwood.native.threads.team import Team


class Tables(NamedTuple):
    """Where the integers, their scales and what members find on the way are written."""

    rows: layout.RowPartition
    scales: layout.Scales
    scratch: layout.Scratch
    info: np.ndarray


def quantise_rows(
    tables: Tables, gradients: layout.Gradients, wide: int, draws: layout.RandomKey, team: Team, workers: Workers
) -> int:  # fmt: skip
    """Do what ``quantise.quantise`` does, ranks agreeing on what each step finds; return the status of all."""
    rows, scales, scratch, info = tables
    workers.begin("scales")
    n = int(workers.sum(np.array([len(rows.rows)], dtype=np.int64))[0])
    k = len(scales.exact)

    def found(step: int, table: np.ndarray) -> np.ndarray:
        team.run(steps.quantise_step, step, rows, gradients, wide, draws, scales, scratch, info)
        return table[:, : 2 * k].reshape(-1, k, 2)

    top = workers.max(np.append(found(steps.FIND_MAX, scratch.floats).max(axis=0), info[layout.STATUS]))
    if top[-1] != layout.OK:
        return int(top[-1])
    for place, bound in np.ndenumerate(top[:-1].reshape(k, 2)):
        scales.exact[place] = scale_for(quantise.EXACT_LIMIT, float(bound) * n, 2 * n)
    totals = workers.sum(found(steps.ADD_UP, scratch.ints).sum(axis=0))
    for (output, side), total in np.ndenumerate(totals):
        bound = float(total) / float(scales.exact[output, side]) * (1.0 + 1e-15)
        packed = quantise.PACKED_GRADIENT_LIMIT if side == 0 else quantise.PACKED_HESSIAN_LIMIT
        scales.histogram[output, side] = scale_for(quantise.EXACT_LIMIT if wide else packed, bound, n)
        scales.exact[output, side] = scale_for(quantise.EXACT_LIMIT, bound, n)
    ranges = found(steps.ROUND, scratch.ints)
    scales.hessian_range[:, 0] = -workers.max(-ranges[:, :, 0].min(axis=0))
    scales.hessian_range[:, 1] = workers.max(ranges[:, :, 1].max(axis=0))
    return layout.OK
