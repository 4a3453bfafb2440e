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
    transformer, later = _join_features(first, second)
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
    n_outputs, n_trees = len(factors), model.ensemble.n_trees
    copies = [
        replace(
            scale_model(model, factor).ensemble, n_outputs=n_outputs, tree_output=np.full(n_trees, k, dtype=np.int32)
        )
        for k, factor in enumerate(factors)
    ]
    trees = [(copy, tree) for tree in range(n_trees) for copy in copies]
    ensemble = _join_trees(copies[0], trees, np.repeat(model.ensemble.tree_round, n_outputs))
    base_scores = np.array([float(model.base_scores[0]) * factor for factor in factors])
    return replace(model, ensemble=ensemble, base_scores=base_scores, link=link, intervals=None)


def every_round(ensemble: Ensemble, step: int) -> Ensemble:
    """Return the trees of rounds 0, ``step``, 2 ``step``, ..., counted from 0; those of a forest are averaged anew."""
    if ensemble.is_average:
        return every_round(ensemble.unscaled(), step).averaged()
    trees = np.flatnonzero(ensemble.tree_round % step == 0)
    rounds = ensemble.tree_round[trees] // np.int32(step)
    return _join_trees(ensemble, [(ensemble, tree) for tree in trees.tolist()], rounds)


def average_models(models: Sequence[Model], weights: Sequence[float]) -> Model:
    """Return the model whose scores are the weighted sum of those of the models, round by round.

    Round k holds the trees of round k of each model, so that its first rounds are an average too.
    """
    total, *others = (scale_model(model, weight) for model, weight in zip(models, weights, strict=True))
    ensembles = [total.ensemble]
    for other in others:
        transformer, ensemble = _join_features(total, other)
        base_scores = total.base_scores + other.base_scores
        total = replace(total, base_scores=base_scores, transformer=transformer, intervals=None)
        ensembles.append(ensemble)
    rounds = np.concatenate([ensemble.tree_round for ensemble in ensembles])
    order = np.argsort(rounds, kind="stable")
    trees = [(ensemble, tree) for ensemble in ensembles for tree in range(ensemble.n_trees)]
    return replace(total, ensemble=_join_trees(total.ensemble, [trees[k] for k in order.tolist()], rounds[order]))


def _join_features(first: Model, second: Model) -> tuple[FeatureTransformer | None, Ensemble]:
    """Return the transformer of the features of two models, and the trees of the second with their numbers in it."""
    _check_alike(first, second)
    transformer = first.transformer
    if transformer is None or second.transformer is None:
        return second.transformer if transformer is None else transformer, second.ensemble
    _check_vocabularies(first, second)
    joined, numbers = transformer.join(second.transformer, first.n_features)
    joined = replace(joined, vocabularies=_longest_vocabularies(transformer, second.transformer))
    return joined, second.ensemble.renumber_features(numbers)


def _join_trees(like: Ensemble, trees: Sequence[tuple[Ensemble, int]], rounds: np.ndarray) -> Ensemble:
    """Return trees of ensembles that are ``like`` one, in the given order and with the given rounds."""
    parts = [(one, slice(int(one.tree_start[k]), int(one.tree_start[k + 1]))) for one, k in trees]
    nodes = {
        name: np.concatenate([getattr(like, name)[:0], *(getattr(one, name)[part] for one, part in parts)])
        for name in NODE_FIELDS
    }
    coefficients = [
        (None if one.leaf_coefficients is None else one.leaf_coefficients.slice(part.start, part.stop), one.value[part])
        for one, part in parts
    ]
    return Ensemble(
        n_outputs=like.n_outputs,
        tree_start=np.cumsum([0, *(part.stop - part.start for _, part in parts)]),
        tree_output=np.array([one.tree_output[k] for one, k in trees], dtype=np.int32),
        tree_round=rounds,
        **owned_arrays(nodes),
        leaf_coefficients=join_coefficients(coefficients),
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


def _longest_vocabularies(first: FeatureTransformer, second: FeatureTransformer) -> dict[int, Vocabulary]:
    return {
        f: max((first.vocabularies[f], one), key=lambda vocabulary: len(vocabulary.categories))
        for f, one in second.vocabularies.items()
    }


def _columns(model: Model) -> str:
    names = model.schema.names
    return f"{model.n_features} columns" if names is None else f"{model.n_features} columns ({', '.join(names[:3])}, …)"


def _labels(model: Model) -> list[object]:
    return [] if model.classes is None else model.classes.tolist()
