"""Train candidates on parts of the rows, those of small tables side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from sapwood.boost.early_stopping import INTERRUPTED
from sapwood.boost.interrupt import InterruptedBeforeFirstRound, Interruption
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.trained_model import make_model
from sapwood.boost.training_pipeline import PreparedTraining, Training, prepare_training
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import mode
from sapwood.native.threads.side_by_side import Outcome, run_side_by_side
from sapwood.native.threads.team import count_threads

VALIDATION = "validation"
# Fits on tables of more cells (rows times features) are not run side by side: each of them keeps all cores busy, and
# several take more memory than one.
MAX_CELLS_SIDE_BY_SIDE = 1 << 23

Value = TypeVar("Value")
Split = tuple[LabeledRows, LabeledRows]  # training rows and validation rows


@dataclass(frozen=True, eq=False)
class CandidateTask:
    """The name of a candidate, and its task."""

    name: str
    task: LearningTask


@dataclass(frozen=True, eq=False)
class Part:
    """Validation rows, and the candidates trained on other rows with their scores (outputs, rows) on these."""

    rows: LabeledRows
    trainings: tuple[Training, ...]
    scores: tuple[np.ndarray, ...]

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the training of a candidate."""
        return any(training.result.stopped == INTERRUPTED for training in self.trainings)


def train_parts(
    candidates: Sequence[CandidateTask],
    splits: Iterable[Split],
    rows: LabeledRows,
    start_time: float,
    earlier: Sequence[Training] = (),
) -> list[Part]:
    """Train all candidates on the training rows of each split, until Ctrl-C or the time limit.

    Parts of which not all candidates were trained are left out, but for the first one if there are no ``earlier``
    trainings of other candidates, whose models are to be added to these. ``rows`` are all rows of the table.
    """
    splits = list(splits)
    trainer = _PartTrainer(candidates, splits, start_time, earlier)
    n_threads = threads_side_by_side([one.task for one in candidates], rows, len(candidates) * len(splits))
    outcomes = run_trainings(trainer.trainings(), n_threads)
    n_trained = next((k for k, outcome in enumerate(outcomes) if outcome.error is not None), len(outcomes))
    if n_trained == 0 and not earlier:
        outcomes[0].result()
    results = [outcome.result() for outcome in outcomes[:n_trained]]
    parts = []
    for number, (_, validation) in enumerate(splits):
        trained = results[number * len(candidates) : (number + 1) * len(candidates)]
        part = Part(validation, tuple(one for one, _ in trained), tuple(scores for _, scores in trained))
        is_whole = len(trained) == len(candidates) and not part.is_interrupted
        if trained and (is_whole or (number == 0 and not earlier)):
            parts.append(part)
    return parts


def run_trainings(trainings: Iterator[Callable[[], Value]], n_threads: int) -> list[Outcome[Value]]:
    """Run trainings side by side in so many threads; Ctrl-C ends all of them.

    Errors are raised, except that of a training which was interrupted before its first round.
    """
    if n_threads == 1:
        outcomes = run_side_by_side(trainings, 1, lambda: None)
    else:
        with Interruption() as interruption:
            outcomes = run_side_by_side(trainings, n_threads, interruption.request)
    for outcome in outcomes:
        if not isinstance(outcome.error, InterruptedBeforeFirstRound):
            outcome.result()
    return outcomes


def threads_side_by_side(tasks: Sequence[LearningTask], rows: LabeledRows, n_trainings: int) -> int:
    """Return the number of Python threads to train tasks in: one if it does not pay, or if order is to be kept.

    Functions of the user are called by one thread, what is displayed is that of one training, workers exchange what
    belongs to the same training, and with a time limit the first trainings have precedence.
    """
    params = tasks[0].params
    n_cells = len(rows.y) * tasks[0].schema.n_features
    is_plain = all(
        isinstance(task.params.task.objective, str) and is_name(task.params.evaluation.eval_metric) for task in tasks
    )
    is_shown = bool(params.evaluation.verbose or params.evaluation.callbacks)
    is_ordered = params.evaluation.time_limit is not None or params.run.checkpoint is not None
    can_overlap = is_plain and rows.workers.is_local and not is_shown and not is_ordered
    if n_cells > MAX_CELLS_SIDE_BY_SIDE or mode() != "native" or not can_overlap:
        return 1
    return min(n_trainings, count_threads(params.run.n_jobs))


def is_name(metric: object) -> bool:
    """Return whether metrics are those of Sapwood and not functions: names, or None for that of the loss."""
    names = metric if isinstance(metric, list | tuple) else [metric]
    return all(name is None or isinstance(name, str) for name in names)


def known_categories(transformers: Sequence[FeatureTransformer]) -> FeatureTransformer | None:
    """Return the codes of categories and the cuts of numbers that the next candidate keeps, to be joined."""
    if not transformers:
        return None
    cuts = {f: points for one in transformers for f, points in one.cuts.items()}
    return replace(transformers[-1], cuts=cuts)


def transformers_of(trainings: Iterable[Training | PreparedTraining]) -> list[FeatureTransformer]:
    """Return the transformers of trainings that have one."""
    return [one.transformer for one in trainings if one.transformer is not None]


class _PartTrainer:
    """Prepares one candidate after the other; categories keep their codes, and the first numeric crosses are kept."""

    def __init__(
        self,
        candidates: Sequence[CandidateTask],
        splits: Sequence[Split],
        start_time: float,
        earlier: Sequence[Training],
    ) -> None:
        self._candidates, self._splits, self._start_time = candidates, splits, start_time
        self._transformers = transformers_of(earlier)
        self._crosses = earlier[0].crosses if earlier else None
        self._has_trained = bool(earlier)
        self._is_interrupted = False

    def trainings(self) -> Iterator[Callable[[], tuple[Training, np.ndarray]]]:
        """Prepare each candidate on each split, until Ctrl-C or the time limit leaves the trained ones as they are."""
        longest = 0.0
        for train, validation in self._splits:
            for candidate in self._candidates:
                begin, limit = time.perf_counter(), candidate.task.params.evaluation.time_limit
                is_late = limit is not None and begin - self._start_time + longest > limit
                if self._has_trained and limit is not None and train.workers.broadcast_bool(is_late):
                    return
                prepared = self._prepare(candidate, train, validation)
                yield partial(self._train, candidate.task, prepared, validation)
                longest = max(longest, time.perf_counter() - begin)  # with a time limit, one is trained at a time
                if self._is_interrupted:
                    return

    def _prepare(self, candidate: CandidateTask, train: LabeledRows, validation: LabeledRows) -> PreparedTraining:
        known = known_categories(self._transformers)
        task = replace(candidate.task, known_categories=known, crosses=self._crosses)
        prepared = prepare_training(task, train, {VALIDATION: validation}, self._start_time, VALIDATION)
        self._transformers += transformers_of([prepared])
        if not self._has_trained:
            self._crosses, self._has_trained = prepared.crosses, True
        return prepared

    def _train(
        self, task: LearningTask, prepared: PreparedTraining, validation: LabeledRows
    ) -> tuple[Training, np.ndarray]:  # fmt: skip
        """Train a candidate; return it with the scores (outputs, rows) of validation rows, with their offsets."""
        training = prepared.train()
        self._is_interrupted |= training.result.stopped == INTERRUPTED
        raw = make_model(task, training).predict_raw(validation.selected_table, n_jobs=task.params.run.n_jobs)
        scores = np.ascontiguousarray(raw.T).reshape(task.objective.n_outputs, -1)
        return training, scores if validation.init_score is None else scores + validation.init_score
