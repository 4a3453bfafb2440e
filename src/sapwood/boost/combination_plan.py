"""Plan which columns are crossed, and what becomes of the crossings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sapwood.boost.sample import LabeledRows
from sapwood.data.binning.edges import find_edges
from sapwood.data.categories.combinations import CombinationLimits, search_combinations
from sapwood.data.categories.encode import Combination, EncodingInputs
from sapwood.data.categories.number_codes import codes_of_columns
from sapwood.data.categories.plan import EncodingPlan
from sapwood.data.tables.schema import Schema
from sapwood.grow.constraints import monotone_directions
from sapwood.params.declaration import Params
from sapwood.params.encodings import Statistic, crossing_of

MOST_PAIRS = 40  # of categories
MOST_LARGER = 12  # of three categories, and as many of four
MOST_WITH_NUMBERS = 12  # of categories and a column of numbers

Planned = list[tuple[Combination, tuple[Statistic, ...]]]


def plan_combinations(
    sample: LabeledRows,
    decisions: Mapping[int, EncodingPlan],
    stuff: EncodingInputs,
    params: Params,
    known: Mapping[int, np.ndarray],
) -> tuple[Planned, EncodingInputs]:
    """The crossings of columns that have statistics, encoded like the first of these, and the cuts that they need.

    ``known`` are the cuts of a model that is continued, which stay as they are.
    """
    statistics = {
        f: tuple(one for one in decision.encodings if isinstance(one, Statistic)) for f, decision in decisions.items()
    }
    features = [f for f, encodings in statistics.items() if encodings]
    crossing = crossing_of(params.categories.max_combination)
    if features and crossing.number_levels:
        stuff = _with_numbers(sample, stuff, params, crossing.number_levels, known)
    if not features or (crossing.columns == 1 and not stuff.cuts):
        return [], stuff
    n_lines = max(len(one.priors) for f in features for one in statistics[f]) * stuff.response.n_targets
    limits = CombinationLimits(crossing.columns, MOST_PAIRS, MOST_LARGER, MOST_WITH_NUMBERS)
    chosen = search_combinations(features, limits, n_lines, stuff)
    crossed = {f for one in chosen for f in one.sources}
    cuts = {f: line for f, line in stuff.cuts.items() if f in crossed}
    planned = [(one, next(statistics[f] for f in one.sources if f in features)) for one in chosen]
    return planned, replace(stuff, cuts=cuts)


def _with_numbers(
    sample: LabeledRows, stuff: EncodingInputs, params: Params, n_levels: int, known: Mapping[int, np.ndarray]
) -> EncodingInputs:
    """Cut columns of numbers into levels, unless answers must rise or fall with them."""
    schema = Schema.of(sample.rows, stuff.vocabularies.keys())
    directions = monotone_directions(params.tree.monotone_constraints, schema)
    numbers = [f for f in range(schema.n_features) if f not in schema.categories and directions[f] == 0]
    if not numbers:
        return stuff
    seed = params.run.random_state
    edges = find_edges(sample.rows.select(numbers), sample.weight, n_levels, seed, sample.row_ids, stuff.run)
    cuts = {f: known.get(f, line) for f, line in zip(numbers, edges, strict=True)}
    cuts = {f: line for f, line in cuts.items() if len(line)}
    return replace(stuff, cuts=cuts, codes={**stuff.codes, **codes_of_columns(sample.rows, cuts)})
