"""From rows to bins: what becomes of category columns, and the bins of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.data.binning import binned_dataset as binned
from sapwood.data.binning.bin_mapper import BinMapper, ExactBinMapper
from sapwood.data.binning.bundling import remove_conflicts
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.categories.combinations import NumericColumns, plan_combinations
from sapwood.data.categories.encode import EncodedTables, encode_categories
from sapwood.data.categories.encoders import EncodingInputs
from sapwood.data.categories.fixed_point_target import FixedPointTarget
from sapwood.data.categories.plan import EncodingPlan, PlanLimits, column_number, plan_encodings
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Block, Table, single_block
from sapwood.data.tables.zero_as_missing import original_table
from sapwood.errors import InputError
from sapwood.grow.constraints import monotone_directions
from sapwood.kernels.numeric.random import HOLDOUT, PERMUTATIONS, draw_many
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.base import Objective
from sapwood.params.compatibility import check_compatibility, is_compatible
from sapwood.params.declaration import Params
from sapwood.params.encodings import Encoding, Holdout, Ordered, Partition, crossing_of
from sapwood.params.fit_context import Context
from sapwood.params.options import conflicts_of, linear_of

HASH_RANGE = 2.0**64


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Rows ready to be trained on: those that trees are grown on, and their bins.

    ``encodings`` describes the encoding of each category column, by its name.
    """

    rows: LabeledRows
    dataset: binned.BinnedDataset
    params: Params
    encodings: Mapping[str, Any] = field(default_factory=dict)

    def tiles(self, sample: LabeledRows, run: Run) -> tuple[np.ndarray, SparseBins | None, Block | None]:
        """Other rows in the same bins, as tiles and lists, and their values if training needs them."""
        dataset = self.dataset
        if dataset.transformer is None:
            return *sample.tiles(dataset.bin_mapper, run), sample.values(self.params, dataset.schema)
        table = dataset.transformer.transform(dataset.user_schema.align(sample.rows))
        return dataset.bin_mapper.encode(table, run, with_columns=False)[0], None, _values(table, self.params)


def prepare(
    sample: LabeledRows,
    schema: Schema,
    params: Params,
    objective: Objective,
    known: FeatureTransformer | None,
    run: Run,
) -> PreparedData:
    """Put rows into bins; ``known`` is the recipe of a model that is continued, whose levels keep their codes.

    Columns that are bundled although they meet in some rows do not meet any more.
    """
    prepared = _put_into_bins(sample, schema, params, objective, known, run)
    conflicts = conflicts_of(params.tree.bundle)
    if conflicts == 0.0:
        return prepared
    return replace(prepared, dataset=remove_conflicts(prepared.dataset, conflicts))


def _put_into_bins(
    sample: LabeledRows,
    schema: Schema,
    params: Params,
    objective: Objective,
    known: FeatureTransformer | None,
    run: Run,
) -> PreparedData:
    is_ordered = params.boost.boosting == "ordered"
    if not schema.categorical_columns:
        dataset = sample.binned(params, run)
        orders = _orders(1, sample, schema, params) if is_ordered else [None]
        return PreparedData(sample, replace(dataset, permutation=orders[0]), params)
    table = sample.rows
    levels = {f: table.categorical_column(f) for f in schema.categorical_columns}
    vocabularies = {f: Vocabulary.of(levels[f], None if known is None else known.vocabularies[f]) for f in levels}
    n_levels = {f: len(levels[f].observed) for f in levels}
    context = Context(
        params.values(),
        objective_name=objective.name,
        vector_leaves=objective.vector_leaves,
        encodings=(Partition(),),
    )
    can_divide = is_compatible(context)
    decisions = plan_encodings(
        params.categories.category_encoding, schema, n_levels, PlanLimits(params.categories.one_hot_max, can_divide)
    )
    every = [encoding for decision in decisions.values() for encoding in decision.encodings]
    distributed = None if sample.workers.is_local else sample.workers.split
    check_compatibility(replace(context, encodings=tuple(every), distributed=distributed))
    partition = next((encoding for encoding in every if isinstance(encoding, Partition)), None)
    held_out = _held_out(every, sample, params)
    n_orders = max([encoding.permutations for encoding in every if isinstance(encoding, Ordered)], default=0)
    orders = _orders(max(n_orders, int(is_ordered)), sample, schema, params)
    stuff = EncodingInputs(
        vocabularies=vocabularies,
        codes={f: vocabulary.encode(levels[f]) for f, vocabulary in vocabularies.items()},
        target=FixedPointTarget.of(
            sample.y, sample.weight, objective.n_outputs if objective.task == "multiclass" else 0
        ),
        permutations=orders,
        held_out=held_out,
        run=run,
        max_bins=params.binning.max_bins,
    )
    crossings, stuff = plan_combinations(
        decisions,
        stuff,
        crossing_of(params.categories.max_combination),
        _numeric_columns(sample, schema, params, {} if known is None else known.cuts),
    )
    cooked = encode_categories(table, {f: decision.encodings for f, decision in decisions.items()}, crossings, stuff)
    tables = cooked.tables
    if held_out.any():
        sample = sample.take(~held_out)
        tables = tuple(one.take(np.flatnonzero(~held_out)) for one in tables)
        orders = [_without(order, held_out) for order in orders]
    dataset = replace(_binned(replace(cooked, tables=tables), schema, sample, params, run), partition=partition)
    if is_ordered:
        others = tuple(replace(one, permutation=order) for one, order in zip(dataset.permuted, orders[1:], strict=True))
        dataset = replace(dataset, permutation=orders[0], permuted=others)
    return PreparedData(sample, dataset, params, _described(decisions, schema, n_levels))


def _numeric_columns(
    sample: LabeledRows, schema: Schema, params: Params, cuts: Mapping[int, np.ndarray]
) -> NumericColumns:  # fmt: skip
    """Numeric columns that may be combined with categories: those without a monotone constraint."""
    directions = monotone_directions(params.tree.monotone_constraints, schema)
    features = [f for f in range(schema.n_features) if f not in schema.categorical_columns and directions[f] == 0]
    return NumericColumns(sample.rows, features, sample.weight, sample.row_ids, params.run.random_state, cuts)


def _binned(
    cooked: EncodedTables, schema: Schema, sample: LabeledRows, params: Params, run: Run
) -> binned.BinnedDataset:
    numbers, tables = binned.compact_row_ids(sample.row_ids), cooked.tables
    encoder: BinMapper
    if params.tree.split_search == "exact":
        encoder = ExactBinMapper.of(tables[0])
    else:
        encoder = _fit_encoder(tables[0], cooked.edges, sample, params, run)
    first, *others = (
        binned.BinnedDataset(
            encoder.schema,
            encoder,
            *encoder.encode(table, run),
            numbers,
            _values(table, params),
            cooked.transformer,
            schema,
        )
        for table in tables
    )
    return replace(first, permuted=tuple(others))


def _fit_encoder(
    table: Table, known: Mapping[int, np.ndarray], sample: LabeledRows, params: Params, run: Run
) -> BinMapper:  # fmt: skip
    """Choose edges for the columns whose edges are not known."""
    others = [k for k in range(table.n_features) if k not in known]
    edges = dict(known)
    if others:
        fitted = BinMapper.fit(
            table.select(others), sample.weight, params.binning.max_bins, params.run.random_state, run, sample.row_ids
        )
        edges |= zip(others, fitted.edges, strict=True)
    return BinMapper(Schema.of(table), tuple(edges[k] for k in range(table.n_features)))


def _values(table: Table, params: Params) -> Block | None:
    return None if linear_of(params.tree.leaf_model) is None else single_block(table)


def _described(decisions: Mapping[int, EncodingPlan], schema: Schema, n_levels: Mapping[int, int]) -> dict[str, Any]:
    return {schema.name_of(f): decision.describe(n_levels[f]) for f, decision in decisions.items()}


def _held_out(encodings: list[Encoding], sample: LabeledRows, params: Params) -> np.ndarray:
    """The rows that only serve statistics: none, unless a column asks for it."""
    shares = [encoding.fraction for encoding in encodings if isinstance(encoding, Holdout)]
    row_ids = sample.row_ids
    if not shares:
        return np.zeros(len(row_ids), dtype=bool)
    hashes = np.empty(len(row_ids), dtype=np.uint64)
    draw_many(params.run.random_state, HOLDOUT, 0, row_ids, hashes)
    chosen = hashes < np.uint64(max(shares) * HASH_RANGE)
    if chosen.all() or not chosen.any():
        raise InputError(
            f"category_encoding='holdout' leaves no row on one side: {len(row_ids)} rows are too few, use 'ordered'"
        )
    return chosen


def _orders(wanted: int, sample: LabeledRows, schema: Schema, params: Params) -> list[np.ndarray]:
    """So many orders in which ordered statistics and ordered boosting take the rows: random, or the one of time."""
    has_time: Any = params.categories.has_time
    row_ids = sample.row_ids
    if has_time is True:
        return [np.arange(len(row_ids), dtype=np.uint32)] if wanted else []
    if has_time is not False:
        feature = column_number(has_time, schema, "has_time")
        table = original_table(sample.rows)
        times = np.concatenate([m[:, 0] for _, m in table.select([feature]).matrices(table.chunk_rows())])
        return [np.argsort(times, kind="stable").astype(np.uint32)] if wanted else []
    orders = []
    for permutation in range(wanted):
        hashes = np.empty(len(row_ids), dtype=np.uint64)
        draw_many(params.run.random_state, PERMUTATIONS, permutation, row_ids, hashes)
        orders.append(np.argsort(hashes, kind="stable").astype(np.uint32))
    return orders


def _without(order: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """An order of rows when some are left out, by the places of those that stay."""
    place = np.cumsum(~left_out) - 1
    return place[order[~left_out[order]]].astype(np.uint32)
