"""Prepare rows for training: encode categorical columns as features, and bin all features."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.data.binning.bin_mapper import BinMapper, ExactBinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset, compact_row_ids
from sapwood.data.binning.bundling import remove_conflicts
from sapwood.data.binning.max_bins import derived_max_bins
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.categories.numeric_cross import NumericCross
from sapwood.data.categories.plan import EncodingPlan, PlanLimits, column_number, plan_encodings
from sapwood.data.categories.transformer import FeatureTransformer, TransformedTable
from sapwood.data.categories.vocabulary import CategoricalColumn, Vocabulary, observed_categories
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Block, Table, single_block
from sapwood.data.tables.zero_as_missing import original_table
from sapwood.distributed.row_order import RowOrder
from sapwood.errors import InputError
from sapwood.grow.constraints import monotone_directions
from sapwood.kernels.numeric.random import HOLDOUT, PERMUTATIONS, draw_many
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.base import Objective
from sapwood.params.compatibility import check_compatibility, is_compatible
from sapwood.params.declaration import Params
from sapwood.params.encodings import Encoding, Holdout, Ordered, Partition, crossing_of
from sapwood.params.fit_context import Context
from sapwood.params.options import conflicts_of, crosses_of, linear_of

if TYPE_CHECKING:  # the modules of encodings are imported for tables with categorical columns only
    from sapwood.data.categories.combinations import NumericColumns
    from sapwood.data.categories.encode import EncodedTables, StatisticColumns
    from sapwood.data.categories.encoders import EncodingInputs

HASH_RANGE = 2.0**64


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Rows that trees are grown on, and their bins.

    ``encodings`` describes the encoding of each categorical column, by name; ``statistics`` are the target statistics.
    ``encoded`` are the rows before binning, kept while numeric crosses are searched.
    """

    rows: LabeledRows
    dataset: BinnedDataset
    params: Params
    encodings: Mapping[str, Any] = field(default_factory=dict)
    statistics: tuple[StatisticColumns, ...] = ()
    encoded: EncodedTables | None = None

    def encode(self, rows: LabeledRows, run: Run) -> tuple[np.ndarray, SparseBins | None, Block | None]:
        """Return other rows in the same bins, as tiles and sparse bins, and their raw values if training reads them."""
        dataset = self.dataset
        if dataset.transformer is None:
            return *rows.encode(dataset.bin_mapper, run), rows.raw_values(self.params, dataset.schema)
        table = dataset.transformer.transform(dataset.user_schema.align(rows.selected_table))
        return dataset.bin_mapper.encode(table, run, with_columns=False)[0], None, _raw_values(table, self.params)


def prepare(
    rows: LabeledRows,
    schema: Schema,
    params: Params,
    objective: Objective,
    earlier: FeatureTransformer | None,
    run: Run,
) -> PreparedData:
    """Encode and bin rows; categories keep the codes that they have in the transformer of an ``earlier`` model.

    If ``bundle`` allows conflicts, bins are changed so that there are none.
    """
    if schema.categorical_columns:
        prepared = _bin_encoded(rows, schema, params, objective, earlier, run)
    else:
        dataset = rows.bin(params, run)
        permutation = None
        if params.boost.boosting == "ordered":
            [permutation] = _make_permutations(1, rows, schema, params)
        prepared = PreparedData(rows, replace(dataset, permutation=permutation), params)
    return _without_conflicts(prepared)


def _without_conflicts(prepared: PreparedData) -> PreparedData:
    conflicts = conflicts_of(prepared.params.tree.bundle)
    if conflicts == 0.0:
        return prepared
    return replace(prepared, dataset=remove_conflicts(prepared.dataset, conflicts, prepared.rows.workers))


def add_crosses(prepared: PreparedData, crosses: Sequence[NumericCross], run: Run) -> PreparedData:
    """Add numeric crosses to the columns of prepared rows; the other columns keep their bins."""
    before = prepared.dataset
    crossed = replace(encoded_tables(prepared).with_crosses(crosses), edges=dict(enumerate(before.bin_mapper.edges)))
    dataset = _bin_tables(crossed, before.user_schema, prepared.rows, prepared.params, run)
    permuted = zip(dataset.permuted, before.permuted, strict=True)
    dataset = replace(
        dataset,
        partition=before.partition,
        tree_combinations=before.tree_combinations,
        permutation=before.permutation,
        permuted=tuple(replace(one, permutation=other.permutation) for one, other in permuted),
    )
    return _without_conflicts(replace(prepared, dataset=dataset, encoded=None))


def encoded_tables(prepared: PreparedData) -> EncodedTables:
    """Return the transformer of prepared rows and their values before binning."""
    from sapwood.data.categories.encode import EncodedTables

    if prepared.encoded is not None:
        return prepared.encoded
    table = prepared.dataset.schema.align(prepared.rows.selected_table)
    transformer = FeatureTransformer({}, tuple(range(table.n_features)))
    return EncodedTables(transformer, (TransformedTable(table, transformer, {}),), {})


def prepare_again(prepared: PreparedData, rows: LabeledRows, objective: Objective, run: Run) -> PreparedData:
    """Bin other rows by the edges of rows prepared before; target statistics are computed from the new rows."""
    params, before = prepared.params, prepared.dataset
    if before.transformer is None:
        return replace(prepared, rows=rows, dataset=rows.bin_by(before, params, run))
    from sapwood.data.categories.combination_codes import encode_number_columns
    from sapwood.data.categories.encode import encode_statistics_again

    rows.workers.begin("categories")
    transformer, table = before.transformer, before.user_schema.align(rows.selected_table)
    columns = {f: table.categorical_column(f, v.has_fractions) for f, v in transformer.vocabularies.items()}
    observed = observed_categories(columns, rows.workers)
    vocabularies = {f: Vocabulary.of(names, transformer.vocabularies[f]) for f, names in observed.items()}
    encodings = [one.encoding for one in prepared.statistics]
    held_out = _hold_out(encodings, rows, params)
    permutations = _make_permutations(min(1, _count_permutations(encodings)), rows, before.user_schema, params)
    inputs = _encoding_inputs(rows, columns, vocabularies, objective, permutations, held_out, params, run)
    codes = {**inputs.codes, **encode_number_columns(table, transformer.cuts)}
    inputs = replace(inputs, cuts=transformer.cuts, codes=codes)
    transformer, table = encode_statistics_again(table, transformer, prepared.statistics, inputs)
    if held_out.any():
        rows, table = rows.take(~held_out), table.take(np.flatnonzero(~held_out))
    tiles, bins = before.bin_mapper.encode(table, run)
    dataset = replace(
        before, tiles=tiles, columns=bins, kept_row_ids=compact_row_ids(rows.row_ids), transformer=transformer,
        raw_values=_raw_values(table, params), permuted=(), permutation=None,
    )  # fmt: skip
    return replace(prepared, rows=rows, dataset=dataset)


def _bin_encoded(
    rows: LabeledRows,
    schema: Schema,
    params: Params,
    objective: Objective,
    earlier: FeatureTransformer | None,
    run: Run,
) -> PreparedData:
    """Encode the categorical columns of rows and bin them; rows held out for statistics are dropped."""
    from sapwood.data.categories.combinations import plan_combinations
    from sapwood.data.categories.encode import encode_categories

    columns = {f: rows.selected_table.categorical_column(f) for f in schema.categorical_columns}
    rows.workers.begin("categories")
    observed = observed_categories(columns, rows.workers)
    vocabularies = {
        f: Vocabulary.of(names, None if earlier is None else earlier.vocabularies[f]) for f, names in observed.items()
    }
    n_categories = {f: len(names) for f, names in observed.items()}
    plans = _plan_encodings(rows, schema, params, objective, n_categories)
    encodings = [encoding for plan in plans.values() for encoding in plan.encodings]
    held_out = _hold_out(encodings, rows, params)
    is_ordered = params.boost.boosting == "ordered"
    n_permutations = max(_count_permutations(encodings), int(is_ordered))
    permutations = _make_permutations(n_permutations, rows, schema, params)
    inputs = _encoding_inputs(rows, columns, vocabularies, objective, permutations, held_out, params, run)
    numeric = _numeric_columns(rows, schema, params, {} if earlier is None else earlier.cuts)
    crossing = crossing_of(params.categories.max_combination)
    planned, inputs = plan_combinations(plans, inputs, crossing, numeric, params.categories.tree_combinations)
    by_column = {f: plan.encodings for f, plan in plans.items()}
    inputs = replace(inputs, needs_values=_needs_values(params, held_out))
    encoded = encode_categories(rows.selected_table, by_column, planned.combinations, inputs)
    if any(isinstance(encoding, Holdout) for encoding in encodings):
        rows = rows.take(~held_out)
        encoded = replace(encoded, kept_rows=np.flatnonzero(~held_out))
        permutations = [order.without(held_out) for order in permutations]
    dataset = _bin_tables(encoded, schema, rows, params, run)
    partition = next((encoding for encoding in encodings if isinstance(encoding, Partition)), None)
    dataset = replace(dataset, partition=partition, tree_combinations=planned.in_trees)
    if is_ordered:
        permuted = zip(dataset.permuted, permutations[1:], strict=True)
        dataset = replace(
            dataset,
            permutation=permutations[0],
            permuted=tuple(replace(one, permutation=permutation) for one, permutation in permuted),
        )
    described = {schema.name_of(f): plan.describe(n_categories[f]) for f, plan in plans.items()}
    kept = None if crosses_of(params.binning.numeric_crosses) is None else encoded
    return PreparedData(rows, dataset, params, described, encoded.statistics, kept)


def _encoding_inputs(
    rows: LabeledRows,
    columns: Mapping[int, CategoricalColumn],
    vocabularies: Mapping[int, Vocabulary],
    objective: Objective,
    permutations: list[RowOrder],
    held_out: np.ndarray,
    params: Params,
    run: Run,
) -> EncodingInputs:
    """Return the inputs of encoders for the rows."""
    from sapwood.data.categories.encoders import EncodingInputs
    from sapwood.data.categories.fixed_point_target import FixedPointTarget

    n_classes = objective.n_outputs if objective.task == "multiclass" else 0
    return EncodingInputs(
        vocabularies=vocabularies,
        codes={f: vocabulary.encode(columns[f]) for f, vocabulary in vocabularies.items()},
        target=FixedPointTarget.of(rows.y, rows.weight, n_classes, rows.workers),
        permutations=permutations,
        held_out=held_out,
        run=run,
        max_bins=params.binning.column_limits,
        workers=rows.workers,
        row_ids=rows.row_ids,
    )


def _needs_values(params: Params, held_out: np.ndarray) -> bool:
    """Return whether anything but the bins of target statistics is read."""
    has_crosses = crosses_of(params.binning.numeric_crosses) is not None
    has_linear_leaves = linear_of(params.tree.leaf_model) is not None
    return has_crosses or has_linear_leaves or params.tree.split_search == "exact" or bool(held_out.any())


def _count_permutations(encodings: Sequence[Encoding]) -> int:
    """Return the number of permutations of the rows that ordered statistics need."""
    return max([encoding.permutations for encoding in encodings if isinstance(encoding, Ordered)], default=0)


def _plan_encodings(
    rows: LabeledRows, schema: Schema, params: Params, objective: Objective, n_categories: Mapping[int, int]
) -> Mapping[int, EncodingPlan]:
    """Choose the encodings of each categorical column and check that they go with the other options."""
    context = Context(
        params.values(),
        objective_name=objective.name,
        vector_leaves=objective.vector_leaves,
        encodings=(Partition(),),
    )
    limits = PlanLimits(params.categories.one_hot_max, is_compatible(context))
    plans = plan_encodings(params.categories.category_encoding, schema, n_categories, limits)
    encodings = tuple(encoding for plan in plans.values() for encoding in plan.encodings)
    distributed = None if rows.workers.is_local else rows.workers.split
    check_compatibility(replace(context, encodings=encodings, distributed=distributed))
    return plans


def _numeric_columns(
    rows: LabeledRows, schema: Schema, params: Params, cuts: Mapping[int, np.ndarray]
) -> NumericColumns:  # fmt: skip
    """Return the numeric columns that may be combined with categories: those without a monotone constraint."""
    from sapwood.data.categories.combinations import NumericColumns

    directions = monotone_directions(params.tree.monotone_constraints, schema)
    features = [f for f in range(schema.n_features) if f not in schema.categorical_columns and directions[f] == 0]
    return NumericColumns(
        rows.selected_table, features, rows.weight, rows.row_ids, params.run.random_state, cuts
    )  # fmt: skip


def _bin_tables(
    encoded: EncodedTables, schema: Schema, rows: LabeledRows, params: Params, run: Run
) -> BinnedDataset:  # fmt: skip
    """Bin the encoded tables of all permutations with the edges of the first one."""
    bin_mapper: BinMapper
    tables = encoded.row_tables()
    if params.tree.split_search == "exact":
        bin_mapper = ExactBinMapper.of(tables[0])
    else:
        bin_mapper = fit_bin_mapper(tables[0], encoded.edges, encoded.transformer.sources, rows, params, run)
    row_ids = compact_row_ids(rows.row_ids)
    first, *permuted = (
        BinnedDataset(
            bin_mapper.schema,
            bin_mapper,
            *bin_mapper.encode(table, run, known=bins),
            row_ids,
            _raw_values(table, params),
            encoded.transformer,
            schema,
        )
        for table, bins in itertools.zip_longest(tables, encoded.bins)
    )
    return replace(first, permuted=tuple(permuted))


def fit_bin_mapper(
    table: Table,
    known_edges: Mapping[int, np.ndarray],
    sources: Sequence[tuple[int, ...]],
    rows: LabeledRows,
    params: Params,
    run: Run,
) -> BinMapper:
    """Find the bin edges of the columns that have no ``known_edges``; ``sources`` are the user's columns of each."""
    missing = [k for k in range(table.n_features) if k not in known_edges]
    edges = dict(known_edges)
    if missing:
        max_bins = derived_max_bins(params.binning.column_limits, [sources[k] for k in missing])
        columns, seed = table.select(missing), params.run.random_state
        fitted = BinMapper.fit(
            columns, rows.weight, max_bins, seed, run, rows.row_ids, workers=rows.workers
        )  # fmt: skip
        edges |= zip(missing, fitted.edges, strict=True)
    return BinMapper(Schema.of(table), tuple(edges[k] for k in range(table.n_features)))


def _raw_values(table: Table, params: Params) -> Block | None:
    return None if linear_of(params.tree.leaf_model) is None else single_block(table)


def _hold_out(encodings: Sequence[Encoding], rows: LabeledRows, params: Params) -> np.ndarray:
    """Return a mask of the rows that only statistics are computed from: none without an encoding ``Holdout``."""
    fractions = [encoding.fraction for encoding in encodings if isinstance(encoding, Holdout)]
    row_ids = rows.row_ids
    if not fractions:
        return np.zeros(len(row_ids), dtype=bool)
    hashes = np.empty(len(row_ids), dtype=np.uint64)
    draw_many(params.run.random_state, HOLDOUT, 0, row_ids, hashes)
    held_out = hashes < np.uint64(max(fractions) * HASH_RANGE)
    n_held_out, n_rows = rows.workers.sum(np.array([np.count_nonzero(held_out), len(row_ids)])).tolist()
    if n_held_out in (0, n_rows):
        raise InputError(
            f"category_encoding='holdout' needs rows to hold out and rows to train on, and {n_rows} rows are too few: "
            "use 'ordered'"
        )
    return held_out


def row_times(rows: LabeledRows, schema: Schema, column: Any) -> np.ndarray:
    """Return the time of each row: its value in the column that ``has_time`` names."""
    table = original_table(rows.selected_table)
    chunks = table.select([column_number(column, schema, "has_time")]).matrices(table.chunk_rows())
    return np.concatenate([np.empty(0, table.dtype), *(matrix[:, 0] for _, matrix in chunks)])


def _make_permutations(n_permutations: int, rows: LabeledRows, schema: Schema, params: Params) -> list[RowOrder]:
    """Return permutations of the rows for ordered statistics and ordered boosting: random, or the order of time."""
    has_time: Any = params.categories.has_time
    row_ids, workers = rows.row_ids, rows.workers
    if has_time is True:
        return [RowOrder.unchanged(row_ids, workers)] if n_permutations else []
    if has_time is not False:
        times = row_times(rows, schema, has_time)
        return [RowOrder.of(times, row_ids, workers)] if n_permutations else []
    permutations = []
    for k in range(n_permutations):
        hashes = np.empty(len(row_ids), dtype=np.uint64)
        draw_many(params.run.random_state, PERMUTATIONS, k, row_ids, hashes)
        permutations.append(RowOrder.of(hashes, row_ids, workers))
    return permutations
