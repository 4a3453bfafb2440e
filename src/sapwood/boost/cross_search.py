"""Search for numeric crosses: columns computed from two columns that lower the loss on rows a short fit did not see.

Three short fits on a sample of the rows decide. The first has the columns as they are; its gains choose the numeric and
categorical columns to combine. The second has all candidates besides; those of the largest gains are chosen. The third
has these only. They stay if its loss on the rest of the sample is lower than that of the first fit by more than chance.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sapwood.boost.data_preparation import PreparedData, encoded_tables, fit_bin_mapper
from sapwood.boost.evaluation import EvalSet, Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.rounds import TrainResult, boost
from sapwood.data.binning.bin_mapper import BinMapper, ExactBinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset, compact_row_ids
from sapwood.data.categories.cross_means import centred_cross
from sapwood.data.categories.derived_feature import RANK, DerivedFeature
from sapwood.data.categories.encode import EncodedTables
from sapwood.data.categories.numeric_cross import CENTRED, NumericCross
from sapwood.grow.constraints import interaction_groups, monotone_directions
from sapwood.kernels.numeric.random import CROSS_SEARCH, draw_many
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.lazy_dataclass import dataclass
from sapwood.log import logger
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.base import Objective
from sapwood.objectives.loss_families import with_vector_leaves
from sapwood.params.declaration import Params
from sapwood.params.options import NumericCrosses, symmetric_of

MIN_ROWS = 400  # of the sample
VALIDATION_FRACTION = 0.25
LEARNING_RATE = 0.2
MAX_CATEGORIES = 3  # categorical columns by which numbers are centred
MIN_GAIN = 0.01  # of a chosen cross, as a fraction of all gains
COARSE_BINS = 63  # of crosses while all of them are tried: enough to find those of large gain
MIN_ERRORS = 1.5  # standard errors by which the loss must fall
HASH_RANGE = 2.0**64

ALL_COLUMNS: dict[str, Any] = {f"colsample_by{what}": 1.0 for what in ("tree", "level", "node")}

Spec = tuple[str, int, int]  # kind and source columns of a cross


@dataclass(frozen=True, eq=False)
class ChosenCrosses:
    """Crosses that the search chose, and the losses of the short fits without and with them (NaN: not fitted)."""

    specs: tuple[Spec, ...] = ()
    loss_without: float = math.nan
    loss_with: float = math.nan

    def describe(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the outcome as it is kept in the model."""
        losses = {"loss_without": self.loss_without, "loss_with": self.loss_with}
        return {"kept": list(names)} | {key: loss for key, loss in losses.items() if not math.isnan(loss)}


def make_crosses(specs: Sequence[Spec], encoded: EncodedTables, run: Run) -> tuple[NumericCross, ...]:
    """Return crosses by kind and sources; means by category are computed from all rows of the tables."""
    table = encoded.tables[0]
    return tuple(
        centred_cross(f, g, table, run) if kind == CENTRED else NumericCross.of(kind, f, g) for kind, f, g in specs
    )


def search_crosses(
    prepared: PreparedData, objective: Objective, option: NumericCrosses, initial: InitialScores, run: Run
) -> ChosenCrosses:
    """Return the crosses that lower the loss; none if there are too few rows or columns."""
    if prepared.dataset.n_rows < MIN_ROWS:
        return ChosenCrosses()
    logger.info(
        "numeric crosses are searched by three fits of %d rounds on up to %d rows", option.rounds, option.max_rows
    )
    search = CrossSearch(prepared, objective, option, initial, run)
    plain = search.fit((), np.arange(prepared.dataset.n_features))
    specs = search.candidates(plain.gains)
    if not specs:
        return ChosenCrosses()
    used = np.flatnonzero(plain.gains > 0.0)
    tried = search.fit(specs, used, COARSE_BINS)
    gains = tried.gains[len(used) :]
    order = sorted(np.flatnonzero(gains > MIN_GAIN * tried.total_gain).tolist(), key=lambda k: (-gains[k], k))
    chosen = tuple(specs[k] for k in order[: option.max_kept])
    if not chosen:
        return ChosenCrosses()
    last = search.fit(chosen, used)
    falls = search.falls(plain.losses, last.losses)
    losses = search.mean(plain.losses), search.mean(last.losses)
    logger.info(
        "%d numeric crosses %s: loss %.6g without, %.6g with them", len(chosen), "kept" if falls else "dropped", *losses
    )
    return ChosenCrosses(chosen if falls else (), *losses)


@dataclass(frozen=True, eq=False)
class ShortFit:
    """Gain of each column in a short fit, and the losses of the validation rows."""

    gains: np.ndarray
    losses: np.ndarray

    @property
    def total_gain(self) -> float:
        """Sum of the gains of all columns, in the order of their numbers."""
        return float(sum(self.gains.tolist()))


class CrossSearch:
    """Short fits on a sample of the rows, a part of which validates."""

    def __init__(
        self, prepared: PreparedData, objective: Objective, option: NumericCrosses, initial: InitialScores, run: Run
    ) -> None:
        self._prepared, self._option, self._initial, self._run = prepared, option, initial, run
        self._params = _short_params(prepared.params, option)
        has_partition = prepared.dataset.partition is not None
        is_monotone = prepared.params.tree.monotone_constraints is not None
        self._objective = objective if has_partition or is_monotone else with_vector_leaves(objective)
        self._encoded = encoded_tables(prepared)
        train, valid = split_sample(prepared.rows, option.max_rows, prepared.params.run.random_state)
        self._train, self._valid = train, valid
        n_rows = prepared.dataset.n_rows
        self._train_rows, self._valid_rows = (prepared.rows.take(_mask(rows, n_rows)) for rows in (train, valid))

    def fit(self, specs: Sequence[Spec], columns: np.ndarray, max_bins: int | None = None) -> ShortFit:
        """Train on some columns and crosses; these have as many bins as other columns, or ``max_bins``."""
        dataset, tiles = self._bin(specs, columns, max_bins)
        valid, scores = self._valid_rows, self._initial.make_scores(self._prepared.dataset.n_rows)
        eval_set = EvalSet("validation", tiles, valid.target, np.ascontiguousarray(scores[:, self._valid]))
        initial = InitialScores(self._initial.base_scores, None, np.ascontiguousarray(scores[:, self._train]))
        evaluation = Evaluation((eval_set,), (), self._objective)
        result = boost(dataset, self._train_rows.target, self._objective, self._params, initial, evaluation)
        losses = self._objective.loss(valid.y, eval_set.scores, self._run)
        return ShortFit(column_gains(result, dataset), losses)

    def _bin(
        self, specs: Sequence[Spec], columns: np.ndarray, max_bins: int | None
    ) -> tuple[BinnedDataset, np.ndarray]:  # fmt: skip
        """Return the training rows in bins, and the tiles of the validation rows."""
        before, run = self._prepared.dataset, self._run
        crosses = make_crosses(specs, self._encoded, run)
        crossed = self._encoded.with_crosses(crosses)
        chosen = [*columns.tolist(), *range(before.n_features, before.n_features + len(crosses))]
        table = crossed.row_tables()[0].select(chosen)
        rows, params = self._train_rows, self._params
        if max_bins is not None:
            limits = np.minimum(params.binning.column_limits, max_bins).tolist()
            params = dataclasses.replace(params, binning=dataclasses.replace(params.binning, max_bins=limits))
        is_exact = isinstance(before.bin_mapper, ExactBinMapper)
        edges = {} if is_exact else {k: before.bin_mapper.edges[f] for k, f in enumerate(columns.tolist())}
        transformer = crossed.transformer
        transformer = dataclasses.replace(transformer, columns=tuple(transformer.columns[k] for k in chosen))
        mapper: BinMapper = fit_bin_mapper(table.take(self._train), edges, transformer.sources, rows, params, run)
        row_ids = compact_row_ids(rows.row_ids)
        bins = mapper.encode(table.take(self._train), run)
        dataset = BinnedDataset(
            mapper.schema, mapper, *bins, row_ids, None, transformer, before.user_schema, partition=before.partition
        )
        return dataset, mapper.encode(table.take(self._valid), run, with_columns=False)[0]

    def candidates(self, gains: np.ndarray) -> list[Spec]:
        """Return the crosses to try: of the columns of the largest gain that no monotone constraint concerns."""
        schema, tree, option = self._prepared.dataset.user_schema, self._prepared.params.tree, self._option
        by_column = self._encoded.transformer.to_user_columns(gains, schema.n_features)
        directions = monotone_directions(tree.monotone_constraints, schema)
        groups = interaction_groups(tree.interaction_constraints, schema)
        best = sorted((f for f in range(schema.n_features) if by_column[f] > 0.0), key=lambda f: (-by_column[f], f))
        free = [f for f in best if f not in schema.categorical_columns and directions[f] == 0]
        numbers = sorted(free[: option.columns])
        categories = sorted([f for f in best if f in schema.categorical_columns][:MAX_CATEGORIES])
        pairs = [(kind, f, g) for f, g in combinations(numbers, 2) for kind in option.kinds if kind != CENTRED]
        centred = [(CENTRED, f, g) for f in numbers for g in categories if CENTRED in option.kinds]
        return [spec for spec in pairs + centred if len(groups) == 0 or groups[:, spec[1:]].all(axis=1).any()]

    def mean(self, losses: np.ndarray) -> float:
        """Return the weighted mean of the losses of the validation rows."""
        return fixed_mean(losses, self._valid_rows.weight, self._run)

    def falls(self, before: np.ndarray, after: np.ndarray) -> bool:
        """Return whether the mean loss falls by more than ``MIN_ERRORS`` standard errors of the difference."""
        fall = before - after
        mean, n = self.mean(fall), len(fall)
        variance = max(self.mean(fall * fall) - mean * mean, 0.0)
        return mean > MIN_ERRORS * math.sqrt(variance / n)


def split_sample(rows: LabeledRows, max_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of training and validation rows: a sample by row numbers, split by groups if there are."""
    hashes, draws = (np.empty(len(rows.y), dtype=np.uint64) for _ in range(2))
    draw_many(seed, CROSS_SEARCH, 0, rows.row_ids, hashes)
    chosen = np.sort(np.argsort(hashes, kind="stable")[:max_rows])
    draw_many(seed, CROSS_SEARCH, 1, rows.row_ids if rows.groups is None else rows.groups.astype(np.uint64), draws)
    is_valid = draws[chosen] < np.uint64(VALIDATION_FRACTION * HASH_RANGE)
    return chosen[~is_valid], chosen[is_valid]


def column_gains(result: TrainResult, dataset: BinnedDataset) -> np.ndarray:
    """Return the sum of gains of each column; splits by sets of categories count for the column of their ranks."""
    assert dataset.transformer is not None
    derived = [c for c in dataset.transformer.columns if isinstance(c, DerivedFeature)]
    rank_columns = {id(c.sums): dataset.transformer.columns.index(c) for c in derived if c.kind == RANK}
    numbers = [*range(dataset.n_features), *(rank_columns[id(column.sums)] for column in result.columns)]
    trees = result.ensemble
    inner = trees.feature >= 0
    return np.bincount(np.array(numbers)[trees.feature[inner]], trees.gain[inner], minlength=dataset.n_features)


def _mask(positions: np.ndarray, n: int) -> np.ndarray:
    mask = np.zeros(n, dtype=bool)
    mask[positions] = True
    return mask


def _short_params(params: Params, option: NumericCrosses) -> Params:
    """Return the parameters of short fits: plain boosting of constant leaves without sampling, stopping or files."""
    sizes: dict[str, Any] = {}
    if option.max_leaves is not None and symmetric_of(params.tree.growth) is None:
        assert params.tree.max_leaves is not None
        sizes["max_leaves"] = min(option.max_leaves, params.tree.max_leaves)
    return dataclasses.replace(
        params,
        tree=dataclasses.replace(
            params.tree, leaf_model="constant", split_search="histogram", bundle=False, **ALL_COLUMNS, **sizes
        ),
        boost=dataclasses.replace(
            params.boost,
            n_estimators=option.rounds,
            learning_rate=LEARNING_RATE,
            boosting="plain",
            leaf_steps=1,
            sampling="none",
            subsample=1.0,
        ),
        evaluation=dataclasses.replace(
            params.evaluation, early_stopping_rounds=None, refit=False, time_limit=None, callbacks=(), verbose=0
        ),
        run=dataclasses.replace(params.run, checkpoint=None),
    )
