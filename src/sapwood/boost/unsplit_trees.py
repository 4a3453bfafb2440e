"""Warn of a fit whose trees have no split: every row gets the same prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sapwood.errors import NoSplitWarning, warn_user
from sapwood.model.tree import LEAF

if TYPE_CHECKING:
    from sapwood.boost.labeled_rows import LabeledRows
    from sapwood.boost.learning_task import LearningTask
    from sapwood.boost.training_pipeline import Training


def warn_of_unsplit_trees(task: LearningTask, rows: LabeledRows, training: Training) -> None:
    """Issue one NoSplitWarning with the reason if trees were grown and none of them has a split."""
    ensemble, earlier = training.result.ensemble, training.init.model
    first_node = 0 if earlier is None else earlier.ensemble.n_nodes
    if ensemble.n_nodes == first_node or (ensemble.feature[first_node:] != LEAF).any():
        return
    warn_user(
        f"no tree could be split, so that all rows get the same prediction: {_reason(task, rows, training)}",
        NoSplitWarning,
    )


def _reason(task: LearningTask, rows: LabeledRows, training: Training) -> str:
    tree, n_rows = task.params.tree, training.n_rows
    if n_rows < 2 * tree.min_child_samples:
        remedy = f"set it to at most {n_rows // 2}" if n_rows > 1 else "train on more rows"
        return (
            f"{n_rows} rows cannot be divided into two leaves of at least min_child_samples={tree.min_child_samples} "
            f"rows; {remedy}"
        )
    if training.n_splittable == 0:
        return "every column is constant, or missing throughout; check X"
    if rows.workers.is_local and len(rows.y) and (rows.y == rows.y[0]).all():
        return f"all targets are {_label(task, rows.y[0])}; check y"
    limits = {name: getattr(tree, name) for name in ("min_child_weight", "min_split_gain", "reg_alpha", "max_depth")}
    given = ", ".join(f"{name}={value!r}" for name, value in limits.items() if value)
    return (
        f"no split of {n_rows} rows into leaves of at least min_child_samples={tree.min_child_samples} rows improves "
        f"the loss{f' with {given}' if given else ''}; lower these, or check whether the columns tell about the target"
    )


def _label(task: LearningTask, value: float) -> str:
    return repr(float(value)) if task.classes is None else repr(np.asarray(task.classes).tolist()[int(value)])
