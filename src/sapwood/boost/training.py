"""Train a model: rounds of gradients, a tree for each output, and new scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sapwood.boost.checkpoint.checkpoint import Checkpoint
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.rounds import TrainingContext, make_booster, run_rounds
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.transformer import DerivedFeature
from sapwood.log import logger
from sapwood.model.ensemble import Ensemble
from sapwood.native.threads.team import training_team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params

__all__ = ["TrainResult", "Target", "train"]


@dataclass(frozen=True, eq=False)
class TrainResult:
    """What training brings: trees, the constants they start from, and how it went.

    ``best_iteration`` counts rounds, those of an earlier model included; ``best_score`` is None without validation
    rows; ``stopped`` says why training ended; ``restored_seconds`` are the seconds of training that a checkpoint saved.
    ``columns`` are made of categories for the trees, behind those of the dataset.
    """

    ensemble: Ensemble
    base_scores: np.ndarray
    best_iteration: int
    best_score: float | None = None
    stopped: str = "n_estimators"
    evals: Mapping[str, Mapping[str, list[float]]] = field(default_factory=dict)
    restored_seconds: float = 0.0
    columns: tuple[DerivedFeature, ...] = ()


def train(
    dataset: BinnedDataset,
    target: Target,
    objective: Objective,
    params: Params,
    start: InitialScores | None = None,
    evaluation: Evaluation | None = None,
) -> TrainResult:
    """Add ``n_estimators`` rounds of trees to the start, each fitted to the gradients left by those before.

    Training may end sooner (``params.watch``). With early stopping the trees are those of the best round, else all.
    """
    team = training_team(params.run.n_jobs, dataset.n_rows, dataset.n_features)
    if start is None:
        start = InitialScores(objective.initial_scores(target.y, target.weight, team.run))
    if evaluation is None:
        evaluation = Evaluation((), (), objective)
    work = TrainingContext.make(dataset, target, objective, params, start)
    boosting = make_booster(work, evaluation)
    with Checkpoint.open(dataset, target, params, start, evaluation) as checkpoint:
        size = f"{dataset.n_rows} rows, {dataset.n_features} features, {objective.n_outputs} output(s)"
        logger.info("training begins: %s, objective %s, %d thread(s)", size, objective.name, team.size)
        done, best, stopped = run_rounds(work, boosting, evaluation, checkpoint)
        logger.info("training ended after %d rounds: %s", done, stopped)
    kept = best.round if best.patience is not None and best.score is not None else done
    return TrainResult(
        ensemble=start.joined(boosting.build(kept)),
        base_scores=start.base_scores,
        best_iteration=start.n_rounds + (done if best.score is None else best.round),
        best_score=best.score,
        stopped=stopped,
        evals=evaluation.history,
        restored_seconds=checkpoint.state.elapsed,
        columns=tuple(work.assembler.sets.columns),
    )
