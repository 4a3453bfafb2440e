"""The training context: what the rounds of boosting read, and the arrays and trees they write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.boost.assemble import TreeAssembler
from sapwood.boost.boosters.dart import DartBooster
from sapwood.boost.boosters.forest import ForestBooster
from sapwood.boost.boosters.ordered import OrderedBooster
from sapwood.boost.boosters.plain import Booster, DatasetView, TrainingState
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.leaf_refit import LeafRefit, RefitSettings, SupportingModels
from sapwood.boost.leaf_values import QuantileLeaves
from sapwood.boost.linear_leaves import LinearLeaves
from sapwood.boost.sampling import Sampler, SamplingContext, make_sampler
from sapwood.boost.sampling.base import SampledRows
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.factory import make_grower
from sapwood.grow.grower import Grower
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.native.threads.team import Team, training_team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params
from sapwood.params.options import dart_of, linear_of


@dataclass(frozen=True, eq=False)
class TrainingContext:
    """What the rounds read, and the arrays and trees they write.

    A tree answers ``width`` outputs; ``tree_pairs`` are the ``pairs`` of each tree of a round. Without a sampler
    ``everyone`` is drawn.
    """

    dataset: BinnedDataset
    target: Target
    objective: Objective
    params: Params
    team: Team
    grower: Grower
    sampler: Sampler | None
    everyone: SampledRows
    quantile_leaves: QuantileLeaves | None
    linear: LinearLeaves | None
    leaf_refit: LeafRefit | None
    assembler: TreeAssembler
    builder: EnsembleBuilder
    scores: np.ndarray
    others: tuple[DatasetView, ...]
    pairs: np.ndarray
    tree_pairs: tuple[np.ndarray, ...]
    first_round: int

    @classmethod
    def make(
        cls, dataset: BinnedDataset, target: Target, objective: Objective, params: Params, start: InitialScores
    ) -> TrainingContext:
        """Make room for training."""
        team = training_team(params.run.n_jobs, dataset.n_rows, dataset.n_features)
        width = objective.n_outputs if objective.vector_leaves else 1
        seed = params.run.random_state
        pool = SamplingContext(dataset.kept_row_ids, target, objective.task, seed, team, dataset.workers)
        grower, scores = make_grower(dataset, width, params.tree, seed, team), start.first_scores(dataset.n_rows)
        renewal = QuantileLeaves.of(objective, target, params.tree, dataset)
        linear = LinearLeaves.of(params, dataset, team)
        grower.tells_rows = renewal is not None or linear is not None
        rules = refit_settings(objective, params, grower, team)
        in_a_row = np.empty((objective.n_outputs, 2 * dataset.n_rows), dtype=np.float32)
        pairs = in_a_row.reshape(objective.n_outputs, dataset.n_rows, 2)
        assembler = TreeAssembler(dataset)
        return cls(
            dataset=dataset,
            target=target,
            objective=objective,
            params=params,
            team=team,
            grower=grower,
            sampler=make_sampler(params.boost, pool),
            everyone=SampledRows(None, pool.weight),
            quantile_leaves=renewal,
            linear=linear,
            leaf_refit=_leaf_fit(dataset, target, scores, params, rules, pairs),
            assembler=assembler,
            builder=EnsembleBuilder(objective.n_outputs, width, assembler.join),
            scores=scores,
            others=tuple(DatasetView(other, start.first_scores(dataset.n_rows)) for other in dataset.permuted),
            pairs=pairs,
            tree_pairs=tuple(pairs[k : k + width] for k in range(0, objective.n_outputs, width)),
            first_round=start.n_rounds,
        )


def refit_settings(objective: Objective, params: Params, grower: Grower, team: Team) -> RefitSettings:
    """How leaves are fitted to rows that trees were not grown on."""
    boost = params.boost
    return RefitSettings(objective, grower.rules(), grower.directions, boost.leaf_steps, boost.learning_rate, team)


def _leaf_fit(
    dataset: BinnedDataset, target: Target, scores: np.ndarray, params: Params, rules: RefitSettings, pairs: np.ndarray
) -> LeafRefit | None:  # fmt: skip
    """What fits leaves to all rows, where those that a tree was grown on do not tell; None for linear leaves.

    ``pairs`` are those that trees are grown on.
    """
    has_helpers = bool(dataset.permuted) or params.boost.boosting == "ordered"
    if linear_of(params.tree.leaf_model) is not None or not (has_helpers or params.boost.leaf_steps > 1):
        return None
    return LeafRefit(SupportingModels.single(target, scores), rules, None if has_helpers else pairs)


def make_booster(work: TrainingContext, evaluation: Evaluation) -> Booster:
    """What adds trees up as the parameters ask for."""
    field = TrainingState(
        work.dataset, work.scores, evaluation.sets, work.builder, work.team, work.params, work.first_round, work.others,
        work.target, work.objective,
    )  # fmt: skip
    spec = work.params.boost.boosting
    if (dart := dart_of(spec)) is not None:
        return DartBooster(field, dart)
    if spec == "ordered" or (spec == "plain" and work.others and work.leaf_refit is not None):
        rules = refit_settings(work.objective, work.params, work.grower, work.team)
        return OrderedBooster(field, rules, spec == "ordered")
    return ForestBooster(field) if spec == "forest" else Booster(field)
