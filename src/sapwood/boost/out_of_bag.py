"""Out-of-bag scores: how the rows that a tree was not grown on are predicted (``oob_score``).

A forest predicts each row by the mean of the trees that were grown without it. In boosting, the loss of the rows that a
round left out is compared before and after the round. Samples are drawn again, by the same numbers as in training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.sampling.base import Sampler, sample_number
from sapwood.boost.score_update import add_tree
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.errors import warn_user
from sapwood.grow.grown_tree import FittedTree
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.lazy_dataclass import dataclass
from sapwood.model.class_predictions import class_probabilities, most_probable_classes
from sapwood.objectives.base import Objective
from sapwood.params.declaration import BoostingParams


@dataclass(frozen=True, eq=False)
class OutOfBagScores:
    """Out-of-bag results of a training.

    ``scores`` (outputs, rows) are those of a forest, NaN for a row that every tree was grown on; None for boosting,
    which has a loss after each round (``losses``) and its decrease in the round (``improvements``).
    """

    scores: np.ndarray | None = None
    losses: tuple[float, ...] = ()
    improvements: tuple[float, ...] = ()

    def truncated(self, n_rounds: int) -> OutOfBagScores:
        """Return the results of the first rounds of boosting."""
        return OutOfBagScores(self.scores, self.losses[:n_rounds], self.improvements[:n_rounds])


class OutOfBag:
    """Scores the rows of a dataset by the trees that were grown without them."""

    def __init__(
        self,
        dataset: BinnedDataset,
        target: Target,
        objective: Objective,
        boost: BoostingParams,
        sampler: Sampler,
        first_round: int,
    ) -> None:
        self._dataset = dataset
        self._target = target
        self._objective = objective
        self._boost = boost
        self._sampler = sampler
        self._first_round = first_round
        self._team = sampler.context.team
        self._last_losses = np.empty(0)
        self._losses: list[float] = []
        self._improvements: list[float] = []

    @property
    def is_forest(self) -> bool:
        """Whether rows are predicted by a forest."""
        return self._boost.boosting == "forest"

    def begin(self, scores: np.ndarray) -> None:
        """Record the loss of all rows at the initial scores."""
        if not self.is_forest:
            self._last_losses = self._objective.loss(self._target.y, scores, self._team.run)

    def record_round(self, round: int, scores: np.ndarray) -> None:
        """Record the loss of the rows that no tree of a round was grown on, given the scores after it."""
        if self.is_forest:
            return
        losses = self._objective.loss(self._target.y, scores, self._team.run)
        left_out = np.logical_and.reduce([self._left_out(round, k) for k in range(self._boost.parallel_trees)])
        before, after = (self._mean(one, left_out) for one in (self._last_losses, losses))
        self._losses.append(after)
        self._improvements.append(before - after)
        self._last_losses = losses

    def results(self, rounds: Sequence[Sequence[FittedTree]], initial: np.ndarray) -> OutOfBagScores:
        """Return the results of the rounds of a model; ``initial`` (outputs, rows) are the scores before them."""
        if not self.is_forest:
            return OutOfBagScores(None, tuple(self._losses), tuple(self._improvements)).truncated(len(rounds))
        sums, counts = np.zeros_like(initial), np.zeros(initial.shape[1], dtype=np.int64)
        n_copies, added = self._boost.parallel_trees, np.empty_like(initial)
        for round, trees in enumerate(rounds):
            n_trees = len(trees) // n_copies
            for copy in range(n_copies):
                added[:] = 0.0
                for tree in trees[copy * n_trees : (copy + 1) * n_trees]:
                    add_tree(self._dataset, tree, added, self._team)
                left_out = self._left_out(round, copy)
                sums[:, left_out] += added[:, left_out]
                counts += left_out
        with np.errstate(invalid="ignore", divide="ignore"):  # trees are divided by their number in a round
            return OutOfBagScores(initial + n_copies * sums / counts)

    def _left_out(self, round: int, copy: int) -> np.ndarray:
        """Return a mask of the rows that the trees of a round were not grown on."""
        # The rows of samplers that are allowed here do not depend on gradients.
        sampled = self._sampler.draw(np.empty((0, 0, 2), np.float32), sample_number(self._first_round + round, copy))
        mask = np.ones(self._dataset.n_rows, dtype=bool)
        mask[sampled.rows] = False
        return mask

    def _mean(self, losses: np.ndarray, chosen: np.ndarray) -> float:
        if not chosen.any():
            return float("nan")
        weight = None if self._target.weight is None else self._target.weight[chosen]
        return fixed_mean(np.ascontiguousarray(losses[chosen]), weight, self._team.run)


@dataclass(frozen=True, eq=False)
class OutOfBagReport:
    """Out-of-bag results as attributes of an estimator has them.

    ``prediction`` has a number or probabilities of a forest for every row of X, NaN where there are none: for rows that
    every tree was grown on, of weight 0, or set aside. ``score`` is the accuracy or R² over the other rows, or what the
    user's function returns for them; for boosting, the last of the losses.
    """

    score: float
    prediction: np.ndarray | None = None
    losses: tuple[float, ...] = ()
    improvements: tuple[float, ...] = ()


def report_out_of_bag(
    found: OutOfBagScores,
    rows: LabeledRows,
    objective: Objective,
    classes: np.ndarray | None,
    function: Any,
) -> OutOfBagReport:
    """Return the out-of-bag results of a training on rows."""
    if found.scores is None:
        score = found.losses[-1] if found.losses else float("nan")
        return OutOfBagReport(score, None, found.losses, found.improvements)
    _warn_of_unknown(~np.isnan(found.scores[0]))
    score, of_rows = _predict(found.scores, rows.y, objective, classes, function)
    if rows.indices is None:
        return OutOfBagReport(score, of_rows)
    prediction = np.full((rows.table.n_rows, *of_rows.shape[1:]), np.nan)
    prediction[rows.indices] = of_rows
    return OutOfBagReport(score, prediction)


def _warn_of_unknown(known: np.ndarray) -> None:
    if not known.all():
        warn_user(
            f"{int((~known).sum())} of {len(known)} rows were in the sample of every tree, so that they have no "
            "out-of-bag prediction (NaN): raise n_estimators",
        )


def _predict(
    scores: np.ndarray, y: np.ndarray, objective: Objective, classes: np.ndarray | None, function: Any
) -> tuple[float, np.ndarray]:
    """Return the score of the predictions of out-of-bag scores (outputs, rows), and the predictions."""
    known = ~np.isnan(scores[0])
    response = objective.link.predict(np.ascontiguousarray(scores[:, known]))
    if classes is not None:
        response = class_probabilities(response, classes)
    prediction = np.full((len(known), *response.shape[1:]), np.nan)
    prediction[known] = response
    y = y[known]
    if classes is None:
        return _score(y, response, function, _r2), prediction
    labels = most_probable_classes(response, classes)
    return _score(classes[y.astype(np.intp)], labels, function, _accuracy), prediction


def _score(y: np.ndarray, prediction: np.ndarray, function: Any, default: Callable[..., float]) -> float:
    if len(y) == 0:
        return float("nan")
    return float((function if callable(function) else default)(y, prediction))


def _accuracy(y: np.ndarray, prediction: np.ndarray) -> float:
    return float(np.mean(y == prediction))


def _r2(y: np.ndarray, prediction: np.ndarray) -> float:
    """Return 1 − squared error over that of the mean; NaN if the targets are equal or predictions are several."""
    spread = float(np.square(y - y.mean()).sum())
    if prediction.ndim > 1 or spread == 0.0:
        return float("nan")
    return 1.0 - float(np.square(y - prediction).sum()) / spread
