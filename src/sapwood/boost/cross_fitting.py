"""Cross-fitting: several models, each of which is trained without a part of the rows and predicts it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sapwood.boost.candidate_training import CandidateTask, train_parts
from sapwood.boost.candidates import average_trainings
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.trained_model import make_model
from sapwood.boost.training_pipeline import Training
from sapwood.lazy_dataclass import dataclass
from sapwood.model.model import Model


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The average of models that were trained on different rows, and how they predict rows that they were not.

    ``scores`` (outputs, rows) are the mean over the models that were trained without the row, NaN if there is none.
    ``is_complete`` says whether a model was trained without each of the parts.
    """

    model: Model
    trainings: tuple[Training, ...]
    scores: np.ndarray
    is_complete: bool


def cross_fit(
    candidate: CandidateTask,
    rows: LabeledRows,
    parts: Sequence[np.ndarray],
    start_time: float,
    earlier: Iterable[Training] = (),
) -> CrossFit | None:
    """Train a model without each of the parts, which are masks of the rows and may overlap; validate it on the part.

    The first part is trained in any case, unless there are ``earlier`` trainings; None if none is done. Ctrl-C and the
    time limit end with the trained ones.
    """
    splits = [(rows.take(~part), rows.take(part)) for part in parts]
    trained = train_parts([candidate], splits, rows, start_time, tuple(earlier))
    if not trained:
        return None
    trainings = [one.trainings[0] for one in trained]
    totals, counts = np.zeros((candidate.task.objective.n_outputs, len(rows.y))), np.zeros(len(rows.y))
    for part, one in zip(parts, trained, strict=False):
        totals[:, part] += one.scores[0]
        counts[part] += 1.0
    is_interrupted = trained[-1].is_interrupted
    model = make_model(candidate.task, average_trainings(candidate.task, trainings))
    scores = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0.0)
    return CrossFit(model, tuple(trainings), scores, len(trainings) == len(parts) and not is_interrupted)
