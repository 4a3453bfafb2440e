"""The training context: the inputs of the boosting rounds, and the arrays and trees that they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sapwood.boost.boosters.plain import Booster, DatasetView, TrainingState
from sapwood.boost.ensemble_assembly import TreeAssembler
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.leaf_values import QuantileLeaves
from sapwood.boost.prefixes import count_prefixes
from sapwood.boost.sampling import Sampler, SamplingContext, make_sampler
from sapwood.boost.sampling.base import SampledRows
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.distributed.workers import Workers
from sapwood.grow.factory import make_grower
from sapwood.grow.grower import Grower
from sapwood.grow.grown_tree import FittedTree
from sapwood.lazy_dataclass import dataclass
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.native.threads.team import Team, training_team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import REPLAY, Params
from sapwood.params.options import dart_of, linear_of

if TYPE_CHECKING:
    from sapwood.boost.leaf_refit import LeafRefit, RefitSettings
    from sapwood.boost.linear_leaves import LinearLeaves
    from sapwood.boost.out_of_bag import OutOfBag

# Boosters and leaves that few fits use are imported, with their kernels, by those that do.


@dataclass(frozen=True, eq=False)
class TrainingContext:
    """Inputs of the boosting rounds, and the arrays and trees that they write.

    ``pairs`` (outputs, rows, 2) are the gradient pairs of a round, ``tree_pairs`` those of each of its trees. Without a
    ``sampler``, trees are grown on ``all_rows``. ``permuted_views`` are the rows with the target statistics of other
    permutations. ``kept_rounds`` are the trees of all rounds, if they are read again in the end. ``out_of_bag`` scores
    the rows that samples leave out.
    """

    dataset: BinnedDataset
    target: Target
    objective: Objective
    params: Params
    team: Team
    grower: Grower
    sampler: Sampler | None
    all_rows: SampledRows
    quantile_leaves: QuantileLeaves | None
    linear_leaves: LinearLeaves | None
    leaf_refit: LeafRefit | None
    assembler: TreeAssembler
    builder: EnsembleBuilder
    scores: np.ndarray
    permuted_views: tuple[DatasetView, ...]
    pairs: np.ndarray
    tree_pairs: tuple[np.ndarray, ...]
    first_round: int
    kept_rounds: list[Sequence[FittedTree]] | None
    out_of_bag: OutOfBag | None

    @classmethod
    def make(
        cls, dataset: BinnedDataset, target: Target, objective: Objective, params: Params, initial: InitialScores
    ) -> TrainingContext:
        """Allocate the arrays of training and make the grower and the sampler."""
        team = training_team(params.run.n_jobs, dataset.n_rows, dataset.n_features)
        width = objective.n_outputs if objective.vector_leaves else 1
        seed = params.run.random_state
        sampling = SamplingContext(dataset.kept_row_ids, target, objective.task, seed, team, dataset.workers)
        scores = initial.make_scores(dataset.n_rows)
        n_prefixes = count_prefixes(params.boost, dataset)
        grower = make_grower(dataset, width, params.tree, seed, team, n_prefixes)
        quantile_leaves = QuantileLeaves.of(objective, target, params.tree, dataset)
        linear_leaves = _make_linear_leaves(dataset, params, team)
        grower.needs_leaf_rows = quantile_leaves is not None or linear_leaves is not None
        pairs = np.empty((objective.n_outputs, dataset.n_rows, 2), dtype=np.float32)
        assembler, sampler = TreeAssembler(dataset), make_sampler(params.boost, sampling)
        out_of_bag = _make_out_of_bag(dataset, target, objective, params, sampler, initial)
        return cls(
            dataset=dataset,
            target=target,
            objective=objective,
            params=params,
            team=team,
            grower=grower,
            sampler=sampler,
            all_rows=SampledRows(None, sampling.weight),
            quantile_leaves=quantile_leaves,
            linear_leaves=linear_leaves,
            leaf_refit=_make_leaf_refit(
                dataset,
                target,
                scores,
                params,
                partial(refit_settings, objective, params, grower, team, dataset.workers),
                pairs,
            ),
            assembler=assembler,
            builder=EnsembleBuilder(objective.n_outputs, width, assembler.join),
            scores=scores,
            permuted_views=tuple(
                DatasetView(permuted, initial.make_scores(dataset.n_rows)) for permuted in dataset.permuted
            ),
            pairs=pairs,
            tree_pairs=tuple(pairs[k : k + width] for k in range(0, objective.n_outputs, width)),
            first_round=initial.n_rounds,
            kept_rounds=None if params.evaluation.refit != REPLAY and out_of_bag is None else [],
            out_of_bag=out_of_bag,
        )


def refit_settings(
    objective: Objective, params: Params, grower: Grower, team: Team, workers: Workers
) -> RefitSettings:  # fmt: skip
    """Return the settings of leaf refits, with the penalties and constraints of the grower."""
    from sapwood.boost.leaf_refit import RefitSettings

    boost = params.boost
    is_parallel = boost.parallel_trees > 1
    return RefitSettings(
        objective, grower.grow_params(), grower.directions, boost.leaf_steps, team, is_parallel, workers
    )


def _make_leaf_refit(
    dataset: BinnedDataset,
    target: Target,
    scores: np.ndarray,
    params: Params,
    make_settings: Callable[[], RefitSettings],
    pairs: np.ndarray,
) -> LeafRefit | None:
    """Return the refit of leaves to all rows, None if leaf values come from the grower or leaves are linear.

    Leaves are refitted if they take several Newton steps, or if supporting models give the gradients (``pairs``) that
    trees are grown on.
    """
    has_supporting_models = bool(dataset.permuted) or params.boost.boosting == "ordered"
    if linear_of(params.tree.leaf_model) is not None or not (has_supporting_models or params.boost.leaf_steps > 1):
        return None
    from sapwood.boost.leaf_refit import LeafRefit, SupportingModels

    models = SupportingModels.single(target, scores)
    return LeafRefit(models, make_settings(), None if has_supporting_models else pairs)


def _make_out_of_bag(
    dataset: BinnedDataset,
    target: Target,
    objective: Objective,
    params: Params,
    sampler: Sampler | None,
    initial: InitialScores,
) -> OutOfBag | None:
    """Return what scores the rows that samples leave out; None if ``oob_score`` does not ask for it."""
    if params.evaluation.oob_score is False or sampler is None:
        return None
    from sapwood.boost.out_of_bag import OutOfBag

    return OutOfBag(dataset, target, objective, params.boost, sampler, initial.n_rounds)


def _make_linear_leaves(dataset: BinnedDataset, params: Params, team: Team) -> LinearLeaves | None:
    """Return the linear leaves that ``leaf_model`` asks for; None for constant leaves."""
    if linear_of(params.tree.leaf_model) is None:
        return None
    from sapwood.boost.linear_leaves import LinearLeaves

    return LinearLeaves.of(params, dataset, team)


def make_booster(context: TrainingContext, evaluation: Evaluation) -> Booster:
    """Return the booster that the parameter ``boosting`` names."""
    state = TrainingState(
        dataset=context.dataset,
        scores=context.scores,
        eval_sets=evaluation.sets,
        builder=context.builder,
        team=context.team,
        params=context.params,
        first_round=context.first_round,
        permuted_views=context.permuted_views,
        target=context.target,
        objective=context.objective,
    )
    spec = context.params.boost.boosting
    if (dart := dart_of(spec)) is not None:
        from sapwood.boost.boosters.dart import DartBooster

        return DartBooster(state, dart)
    if spec == "ordered" or (spec == "plain" and context.permuted_views and context.leaf_refit is not None):
        from sapwood.boost.boosters.ordered import OrderedBooster

        workers = context.dataset.workers
        settings = refit_settings(context.objective, context.params, context.grower, context.team, workers)
        return OrderedBooster(state, settings, spec == "ordered")
    if spec == "forest":
        from sapwood.boost.boosters.forest import ForestBooster

        return ForestBooster(state)
    return Booster(state)
