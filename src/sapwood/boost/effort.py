"""Fit with an effort: the candidates that its plan and the data allow, and the rows that they are validated on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sapwood.boost.candidate_training import CandidateTask, Split
from sapwood.boost.candidates import fit_candidates, split_parts
from sapwood.boost.compatibility_context import fit_context
from sapwood.boost.eval_sets import monitored_set
from sapwood.boost.evaluation import eval_metrics, evaluate
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.trained_model import make_model
from sapwood.boost.training_pipeline import Training
from sapwood.errors import SapwoodError
from sapwood.lazy_dataclass import dataclass
from sapwood.params.compatibility import check_compatibility
from sapwood.params.effort import FAST, Candidate, FitFacts, effort_plan

Sets = Mapping[str, LabeledRows]


@dataclass(frozen=True, eq=False)
class PlannedFit:
    """Candidates, and the training and validation rows of each part.

    ``sets`` are the validation sets of the user. If there are any, one of them is the validation part, and candidates
    are not refitted. ``adds_refit`` is that of the plan.
    """

    candidates: Sequence[CandidateTask]
    rows: LabeledRows
    splits: Sequence[Split]
    sets: Sets
    held_out: Sets
    adds_refit: bool = False

    def train(self, start_time: float) -> Training:
        """Train the candidates and return their blend, with its history on the sets of the user."""
        training = fit_candidates(
            self.candidates, self.rows, self.splits, start_time, refits=not self.sets, adds_refit=self.adds_refit
        )
        sets = {**self.sets, **self.held_out}
        if not sets:
            return training
        history = _history(self.candidates[0].task, training, sets)
        return replace(training, result=replace(training.result, evals=history))


def plan_fit(
    task: LearningTask, rows: LabeledRows, sets: Sets, held_out: Sets, arguments: FitArguments
) -> PlannedFit | None:  # fmt: skip
    """Return the candidates and splits of a fit; None if its effort is "fast", or if no rows can be split off."""
    n_classes, n_categorical = 0 if task.classes is None else len(task.classes), len(task.schema.categorical_columns)
    table, params = rows.table, task.params
    n_rows = task.n_rows if rows.weight is None else int(np.count_nonzero(rows.weight > 0.0))
    has_outputs = params.tree.split_search != "exact" and params.boost.ordered_scoring is not True
    shares_histograms = task.objective.vector_leaves and has_outputs
    facts = FitFacts(
        n_rows, n_classes, n_categorical, params.categories.has_time is not False, table.n_features, table.is_sparse,
        shares_histograms, task.objective.has_loss,
    )  # fmt: skip
    plan = effort_plan(task.params.task.effort, facts)
    if plan is None:
        return None
    if rows.weight is not None:
        rows = rows.take(rows.weight > 0.0)
    if sets:
        watched = monitored_set(task, rows, sets)
        splits = [] if watched is None else [(rows, sets[watched])]
    else:
        splits = [(rows.take(~mask), rows.take(mask)) for mask in split_parts(task, plan, rows)]
    candidates = _compatible_candidates(plan.candidates, task, rows, arguments)
    return PlannedFit(candidates, rows, splits, sets, held_out, plan.adds_refit) if splits else None


def without_effort(task: LearningTask) -> LearningTask:
    """Return the task with the defaults of the effort "fast"."""
    if task.params.task.effort == FAST:
        return task
    return replace(task, given={**task.given, "effort": FAST}).with_defaults({})


def _compatible_candidates(
    candidates: Sequence[Candidate], task: LearningTask, rows: LabeledRows, arguments: FitArguments
) -> list[CandidateTask]:
    """Return the candidates that go with the parameters of the user and the data; each set of parameters once."""
    found: dict[str, CandidateTask] = {}
    for candidate in candidates:
        try:
            own = task.with_defaults(candidate.values)
            check_compatibility(fit_context(own, rows, arguments))
        except SapwoodError:
            continue
        found.setdefault(repr(own.params), CandidateTask(candidate.name, own))
    return list(found.values()) or [CandidateTask("default", task)]


def _history(task: LearningTask, training: Training, sets: Sets) -> dict[str, dict[str, list[float]]]:
    """Return the metrics of the model on sets after every round."""
    model = make_model(task, training)
    metrics = eval_metrics(task.params.evaluation.eval_metric, task.objective, task.metric_task)
    history: dict[str, dict[str, list[float]]] = {}
    for name, rows in sets.items():
        offset = np.zeros((model.n_outputs, 1)) if rows.init_score is None else rows.init_score
        history[name] = {metric.name: [] for metric in metrics}
        for raw in model.staged_predict_raw(rows.selected_table, task.params.run.n_jobs):
            scores = np.ascontiguousarray(raw.T).reshape(model.n_outputs, -1) + offset
            for metric, value in evaluate(metrics, task.objective, rows.target, scores).items():
                history[name][metric].append(value)
    return history
