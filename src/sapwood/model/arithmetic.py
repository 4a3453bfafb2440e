"""Sums and multiples of models, and models of every k-th round.

The scores of a sum are the sums of the scores: ``0.5 * a + 0.5 * b`` predicts the link of the mean score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.errors import ParameterError, SchemaError
from sapwood.model.ensemble import Ensemble
from sapwood.model.linear_leaves import join_coefficients
from sapwood.model.tree import NODE_FIELDS, owned_arrays

if TYPE_CHECKING:
    from sapwood.model.model import Model


def add_models(first: Model, second: Model) -> Model:
    """Return the model whose scores are the sums of those of two models; the trees of the first come first."""
    _check_alike(first, second)
    transformer, later = first.transformer, second.ensemble
    if transformer is not None and second.transformer is not None:
        _check_vocabularies(first, second)
        transformer, numbers = transformer.join(second.transformer, first.n_features)
        transformer = replace(transformer, vocabularies=_longest_vocabularies(first.transformer, second.transformer))
        later = later.renumber_features(numbers)
    elif transformer is None:
        transformer = second.transformer
    return replace(
        first,
        ensemble=first.ensemble.concatenate(later),
        base_scores=first.base_scores + second.base_scores,
        transformer=transformer,
        intervals=None,
    )


def scale_model(model: Model, factor: float) -> Model:
    """Return the model whose scores are those of ``model`` times a finite factor."""
    factor = float(factor)
    if not math.isfinite(factor):
        raise ParameterError(f"a model is multiplied by a finite number, got {factor!r}")
    ensemble = model.ensemble.scaled(np.full(model.n_iterations, factor))
    return replace(model, ensemble=ensemble, base_scores=model.base_scores * factor, intervals=None)


def multiply_outputs(model: Model, factors: Sequence[float], link: str) -> Model:
    """Return the model of several outputs whose k-th score is ``factors[k]`` times that of a model of one output."""
    copies = [scale_model(model, factor).ensemble for factor in factors]
    trees = np.arange(model.ensemble.n_trees * len(factors)).reshape(len(factors), -1).T.ravel()
    joined = copies[0]
    for copy in copies[1:]:
        joined = joined.concatenate(copy)
    rounds = np.repeat(model.ensemble.tree_round, len(factors))
    outputs = np.repeat(np.arange(len(factors), dtype=joined.tree_output.dtype), model.ensemble.n_trees)
    ensemble = _take_trees(replace(joined, n_outputs=len(factors), tree_output=outputs), trees, rounds)
    base_scores = np.array([float(model.base_scores[0]) * factor for factor in factors])
    return replace(model, ensemble=ensemble, base_scores=base_scores, link=link, intervals=None)


def every_round(ensemble: Ensemble, step: int) -> Ensemble:
    """Return the trees of rounds 0, ``step``, 2 ``step``, ..., counted from 0; those of a forest are averaged anew."""
    if ensemble.is_average:
        return every_round(ensemble.unscaled(), step).averaged()
    trees = np.flatnonzero(ensemble.tree_round % step == 0)
    return _take_trees(ensemble, trees, ensemble.tree_round[trees] // np.int32(step))


def average_models(models: Sequence[Model], weights: Sequence[float]) -> Model:
    """Return the model whose scores are the weighted sum of those of the models, round by round.

    Round k holds the trees of round k of each model, so that its first rounds are an average too.
    """
    first, *others = (scale_model(model, weight) for model, weight in zip(models, weights, strict=True))
    total = first
    for other in others:
        total = add_models(total, other)
    rounds = np.concatenate([model.ensemble.tree_round for model in models])
    order = np.argsort(rounds, kind="stable")
    return replace(total, ensemble=_take_trees(total.ensemble, order, rounds[order]))


def _take_trees(ensemble: Ensemble, trees: np.ndarray, rounds: np.ndarray) -> Ensemble:
    """Return trees in the given order, with the given rounds and the values that they have."""
    parts = [slice(int(ensemble.tree_start[k]), int(ensemble.tree_start[k + 1])) for k in trees]
    nodes = np.concatenate([np.empty(0, np.intp), *(np.arange(part.start, part.stop) for part in parts)])
    coefficients = ensemble.leaf_coefficients
    if coefficients is not None:
        coefficients = join_coefficients(
            [(coefficients.slice(part.start, part.stop), ensemble.value[part]) for part in parts]
        )
    return Ensemble(
        n_outputs=ensemble.n_outputs,
        tree_start=np.cumsum([0, *(part.stop - part.start for part in parts)]),
        tree_output=ensemble.tree_output[trees],
        tree_round=rounds,
        **owned_arrays({name: getattr(ensemble, name)[nodes] for name in NODE_FIELDS}),
        leaf_coefficients=coefficients,
    )


def _check_alike(first: Model, second: Model) -> None:
    """Raise an error unless two models have the same columns, outputs, link and classes."""
    one, other = first.schema, second.schema
    if one.n_features != other.n_features or (None not in (one.names, other.names) and one.names != other.names):
        raise SchemaError(f"models of different columns cannot be added: {_columns(first)} and {_columns(second)}")
    if (one.categorical_columns, one.zero_as_missing) != (other.categorical_columns, other.zero_as_missing):
        raise SchemaError(
            "models that read columns differently cannot be added: train both with the same categorical_features and "
            "zero_as_missing"
        )
    for name in ("link", "n_outputs"):
        before, after = getattr(first, name), getattr(second, name)
        if before != after:
            raise ParameterError(
                f"models with {name} {before!r} and {after!r} cannot be added: train both with the same objective"
            )
    if _labels(first) != _labels(second):
        raise ParameterError(
            f"models of the classes {first.classes!r} and {second.classes!r} cannot be added: train both with the same "
            "`classes`"
        )
    if first.ensemble.width != second.ensemble.width:
        raise ParameterError(
            "models with and without vector leaves cannot be added: train both with the same vector_leaves"
        )


def _check_vocabularies(first: Model, second: Model) -> None:
    """Raise a SchemaError unless categories have the same codes in both models."""
    assert first.transformer is not None and second.transformer is not None
    for f, vocabulary in first.transformer.vocabularies.items():
        one, other = vocabulary.categories, second.transformer.vocabularies[f].categories
        shared = min(len(one), len(other))
        if list(one[:shared]) != list(other[:shared]):
            raise SchemaError(
                f"the categories of column {first.schema.name_of(f)!r} have different codes in the two models: train "
                "the second with init_model, or average the predictions instead"
            )
    for f, cuts in first.transformer.cuts.items():
        if f in second.transformer.cuts and not np.array_equal(cuts, second.transformer.cuts[f]):
            raise SchemaError(
                f"column {first.schema.name_of(f)!r} is discretised differently in the two models: average the "
                "predictions instead"
            )


def _longest_vocabularies(first: FeatureTransformer | None, second: FeatureTransformer) -> dict[int, Vocabulary]:
    assert first is not None
    return {
        f: max((first.vocabularies[f], one), key=lambda vocabulary: len(vocabulary.categories))
        for f, one in second.vocabularies.items()
    }


def _columns(model: Model) -> str:
    names = model.schema.names
    return f"{model.n_features} columns" if names is None else f"{model.n_features} columns ({', '.join(names[:3])}, …)"


def _labels(model: Model) -> list[object]:
    return [] if model.classes is None else model.classes.tolist()
