"""What ranks that train one model together must agree on, and what they cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood.boost.checkpoint.run_fingerprint import digest, parameters
from sapwood.boost.eval_sets import read_eval_sets
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.errors import InputError, ParameterError
from sapwood.params.options import Uniform, conflicts_of, linear_of, sampling_of

GIVEN = ("sample_weight", "init_score", "eval_set", "eval_sample_weight")


def check_ranks(problem: LearningTask, sample: LabeledRows, request: FitArguments) -> None:
    """Refuse ranks that would not train the same model, and what needs more than one rank knows."""
    ranks = sample.ranks
    assert ranks is not None
    ranks.check_same(parameters(problem.params) | _facts(problem, sample, request))
    if problem.params.run.checkpoint is not None:
        raise ParameterError("checkpoint is for a training of one rank: leave it unset")
    if ranks.share_rows:
        ranks.counted(len(sample.y) if sample.weight is None else int(np.count_nonzero(sample.weight)))
        for refused, remedy in _refusals(problem, sample, request):
            raise ParameterError(f"{refused} needs all rows at one rank: {remedy}, or share features (by='features')")


def _facts(problem: LearningTask, sample: LabeledRows, request: FitArguments) -> dict[str, Any]:
    """What must be the same at all ranks beside the parameters."""
    schema, earlier = problem.schema, problem.init.warm_start
    facts: dict[str, Any] = {f"whether {name} is given": getattr(request, name) is not None for name in GIVEN}
    facts |= {
        "the number of columns of X": schema.n_features,
        "the names of the columns of X": None if schema.names is None else list(schema.names),
        "the type of X": str(sample.table.dtype),
        "whether X is sparse": sample.table.is_sparse,
        "the names of eval_set": list(read_eval_sets(request.eval_set, request.eval_sample_weight)),
        "the fingerprint of init_model": None if earlier is None else earlier.model.fingerprint(),
    }
    if sample.ranks is not None and not sample.ranks.share_rows:
        facts["the number of rows"] = sample.table.n_rows
        facts["the digest of y, sample_weight, init_score and groups"] = digest(
            sample.y, sample.weight, sample.init_score, sample.groups
        )
    return facts


def _refusals(problem: LearningTask, sample: LabeledRows, request: FitArguments) -> Iterator[tuple[str, str]]:
    """What cannot be done where every rank has rows of its own, each with a remedy."""
    params, sampling = problem.params, sampling_of(problem.params.boost.sampling)
    if problem.schema.categories:
        yield "a category column", "give numbers in its place"
    if sample.bins is not None:
        raise InputError("a Dataset has chosen its bins alone: pass the table itself")
    if linear_of(params.tree.leaf_model) is not None:
        yield "leaf_model='linear'", "leave it unset"
    if params.boost.boosting == "ordered":
        yield "boosting='ordered'", "use 'plain'"
    if params.boost.leaf_steps > 1:
        yield f"leaf_steps={params.boost.leaf_steps}", "use 1"
    if conflicts_of(params.tree.bundle) > 0.0:
        yield f"bundle={params.tree.bundle!r}", "leave it unset"
    if hasattr(params.task.init, "fit"):
        yield "an estimator as init", "give init_score"
    if isinstance(sampling, Uniform) and sampling.by == "groups":
        yield f"sampling={sampling!r}", "draw rows"
