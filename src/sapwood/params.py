"""Every parameter, declared once: its type, range, default and text.

A field of the dataclasses below is a parameter of the estimators. Checks, defaults, ``docs/parameters.md`` and the
error for a misspelt name all come from the declaration. A new parameter is one line here and one in the ``__init__`` of
``estimators/base.py``.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from sapwood.choices import Bayesian, Goss, Mvs, Uniform, linear_of, sampling_of, symmetric_of
from sapwood.encodings import is_encoding
from sapwood.errors import ParameterError
from sapwood.functions import check_arguments
from sapwood.peers import spelling_of
from sapwood.presets import FOR_TWO_CLASSES, PRESETS, rate_of
from sapwood.rules import (
    Rule,
    are_callbacks,
    fraction,
    integer,
    is_boosting,
    is_class_weight,
    is_collection,
    is_growth,
    is_init,
    is_integer,
    is_leaf_model,
    is_metric,
    is_path,
    is_sampling,
    is_seed,
    is_validation,
    number,
    one_of,
    or_none,
)

AUTO = "auto"
TRUTH = Rule("True or False", lambda v: isinstance(v, (bool, np.bool_)), bool)
SYMMETRIC_DEPTH, DEEPEST_SYMMETRIC = 6, 16
MOST_VECTOR_LEAVES = 127
MVS_SHARE = 0.8
DEFAULT_OBJECTIVES = {"regression": "squared", "classification": "logistic"}


def _callbacks(value: Any) -> tuple[Callable[..., Any], ...]:
    functions = (value,) if callable(value) else tuple(value)
    for function in functions:
        check_arguments(function, "callbacks", "progress")
    return functions


def declare(default: Any, rule: Rule, text: str) -> Any:
    """A parameter as a dataclass field."""
    return dataclasses.field(default=default, metadata={"rule": rule, "text": text})


@dataclass(frozen=True)
class TaskParams:
    """What is to be learned, and whose defaults fill the rest."""

    preset: str = declare("default", one_of(*PRESETS), "Whose defaults fill the parameters left unset.")
    objective: object = declare(
        AUTO,
        Rule("the name of a loss or a loss object", lambda v: v is not None and not isinstance(v, (bool, Real))),
        "The loss that training lowers. 'auto' is squared error for regression and log loss for classes.",
    )
    class_weight: object = declare(
        None,
        Rule(
            "'balanced', 'effective', EffectiveNumber(beta), a dict from class to weight, or None (1 for each)",
            is_class_weight,
        ),
        "Classifier only. Weights of the classes, times those of the rows. 'balanced' gives every class the same share "
        "of the total; 'effective' weighs by the effective number of rows (beta 0.999), between 'balanced' and None.",
    )
    init: object = declare(
        None,
        Rule("a number, one per output, a scikit-learn estimator, or None (the loss's best constant)", is_init),
        "Scores that boosting starts from, before the link. An estimator is fitted first and trees correct it; such a "
        "model cannot be saved to a file.",
    )


@dataclass(frozen=True)
class BinParams:
    """How numbers are cut into bins."""

    max_bins: int = declare(255, integer(2, 65535), "Value bins per feature at most. Beyond 255 a bin takes two bytes.")
    zero_as_missing: bool = declare(
        False,
        TRUTH,
        "Zeros count as missing, in training and in every prediction: also what a sparse table does not store, False, "
        "and the very instant of 1970-01-01. Category columns and the times of has_time keep theirs.",
    )


@dataclass(frozen=True)
class CategoryParams:
    """What becomes of category columns."""

    categorical_features: object = declare(
        AUTO,
        Rule(
            "'auto', a list of column names or numbers, a truth value per column, or None (no column)",
            lambda v: v is None or v == AUTO if isinstance(v, str) or v is None else is_collection(v),
        ),
        "The columns whose values are levels, not amounts: texts, whole numbers or truth values. 'auto' takes the "
        "columns of texts. Missing is a level of its own; levels never seen in training are allowed at prediction.",
    )
    category_encoding: object = declare(
        AUTO,
        Rule(
            "'auto', 'one_hot', 'partition', 'frequency', 'ordered', 'leave_one_out', 'holdout', 'greedy', an object "
            "such as Ordered(prior_weight=1.0), a list of these, or a dict from columns to these",
            is_encoding,
        ),
        "What trees see of a category: a column of 0 and 1 per level, levels that leaves divide into two sets, the "
        "level's share of the rows, or statistics of the target. 'auto' decides by the number of levels; the model "
        "tells what and why (`model_.encodings`).",
    )
    one_hot_max: int = declare(2, integer(0), "Levels up to which 'auto' makes a column of 0 and 1 for each.")
    max_combination: int = declare(
        1,
        integer(1, 8),
        "Category columns with statistics of the target that are crossed at most: 2 adds statistics of the best pairs.",
    )
    has_time: object = declare(
        False,
        Rule(
            "True, False, or the name or number of a column",
            lambda v: isinstance(v, (bool, np.bool_, str)) or is_integer(v),
            lambda v: bool(v) if isinstance(v, np.bool_) else v,
        ),
        "Ordered statistics and ordered boosting use earlier rows only: those above (True) or of an earlier time by "
        "that column. Else the order is random.",
    )


@dataclass(frozen=True)
class TreeParams:
    """How one tree grows."""

    growth: object = declare(
        "leafwise",
        Rule("'leafwise', 'levelwise', 'symmetric' or a Symmetric object", lambda v: is_growth(v)),
        "Leaf of largest gain first, level by level, or one split for all nodes of a level.",
    )
    split_search: str = declare(
        "histogram",
        one_of("histogram", "exact"),
        "Cut between bins, or exactly: between any two values of a leaf, on presorted columns. Exact search is slower "
        "and knows no bins.",
    )
    leaf_model: object = declare(
        "constant",
        Rule("'constant', 'linear' or a Linear object", lambda v: is_leaf_model(v)),
        "What a leaf answers: a number, or a linear model of the numeric features on the way to it. Linear(penalty=1) "
        "has an L2 penalty on slopes, per standard deviation. A row that lacks one of the features gets the number.",
    )
    max_leaves: int | None = declare(
        31,
        or_none(integer(2), "no limit but max_depth"),
        "Leaves per tree at most. Unset, a tree with vector_leaves has 31 per class, up to 127.",
    )
    max_depth: int | None = declare(None, or_none(integer(1), "unlimited"), "Splits from root to leaf at most.")
    min_child_samples: int = declare(20, integer(1), "Rows in a leaf at least.")
    min_child_weight: float = declare(1e-3, number(0), "Sum of hessians in a leaf at least.")
    min_split_gain: float = declare(
        0.0,
        number(0),
        "Gain a split must exceed. Our gains carry the factor ½ of the objective: take half of a peer's value.",
    )
    random_strength: float = declare(
        0.0,
        number(0),
        "Noise in the gains by which features are chosen, so many times the gain that a split brings by chance; it "
        "fades as the model grows. See boosting.md.",
    )
    reg_lambda: float = declare(1.0, number(0), "L2 penalty on leaf values.")
    reg_alpha: float = declare(0.0, number(0), "L1 penalty on leaf values.")
    max_delta_step: float = declare(0.0, number(0), "Largest leaf value before shrinkage; 0 is no limit.")
    colsample_bytree: float = declare(1.0, fraction(), "Share of the features that a tree may use.")
    colsample_bylevel: float = declare(1.0, fraction(), "Share of the tree's features that a level may use.")
    colsample_bynode: float = declare(1.0, fraction(), "Share of the level's features that a node may use.")
    monotone_constraints: object = declare(
        None,
        or_none(Rule("a list of 1, -1 and 0 or a dict by column", is_collection), "no constraint"),
        "Direction in which predictions may change with a feature: 1 rising, -1 falling, 0 free.",
    )
    interaction_constraints: object = declare(
        None,
        or_none(Rule("a list of groups of columns", is_collection), "no constraint"),
        "Groups of columns, by name or number; only columns of one group may meet on a path.",
    )
    precision: str = declare(
        AUTO,
        one_of(AUTO, "packed", "wide"),
        "Histogram cells: one packed integer of rounded pairs, or two wide integers. 'auto' chooses by the data.",
    )


@dataclass(frozen=True)
class BoostParams:
    """How trees are added up."""

    n_estimators: int = declare(100, integer(1), "Boosting rounds.")
    learning_rate: float = declare(0.1, number(0, above=True), "Share of each tree that is added.")
    boosting: object = declare(
        "plain",
        Rule("'plain', 'ordered', 'dart', 'forest' or a Dart object", is_boosting),
        "How trees are added up: each corrects all before it; the same, but the gradient of a row comes from a model "
        "that has not seen it (ordered); rounds are dropped at random while a new one is fitted (Dart); or trees on "
        "bootstrapped rows are averaged (a random forest, whose learning rate is 1). See boosting.md.",
    )
    leaf_steps: int = declare(
        1,
        integer(1, 100),
        "Newton steps by which a leaf's value is found. With more than one, and with boosting='ordered', leaves are "
        "fitted to all rows, whatever rows the tree was grown on.",
    )
    sampling: object = declare(
        AUTO,
        Rule("'none', 'uniform', 'goss', 'mvs', 'bayesian', or a Uniform, Goss, Mvs or Bayesian object", is_sampling),
        "Which rows a tree is grown on, drawn anew for every round: all; each with the same chance; those of large "
        "gradient and some others (Goss); in proportion to the gradient (Mvs); all with random weights (Bayesian). "
        "'auto' is 'uniform' if subsample is below 1. See sampling.md.",
    )
    subsample: float = declare(1.0, fraction(), "Share of the rows that a round draws, by 'uniform' and 'mvs'.")


@dataclass(frozen=True)
class WatchParams:
    """How training is watched, and when it ends."""

    eval_metric: object = declare(
        None,
        Rule(
            "the name of a metric, a function of (y, prediction, weight), a list of these, or None (the loss's own)",
            is_metric,
        ),
        "What is measured on validation rows. A function gets class numbers and probabilities where there are classes; "
        "less is better unless it has the attribute greater_is_better=True.",
    )
    early_stopping_rounds: int | None = declare(
        None,
        or_none(integer(1), "never"),
        "Stop when the first metric of the first validation set has not improved for so many rounds; the model is then "
        "that of the best round.",
    )
    validation_fraction: object = declare(
        None,
        Rule(
            "a number between 0 and 1, LastRows(fraction), or None (0.1 if early stopping needs it)",
            is_validation,
        ),
        "Share of the rows that fit splits off for validation: at random, in every class alike, whole groups if there "
        "are groups; LastRows for rows in the order of time. Not with eval_set.",
    )
    refit: bool = declare(
        False,
        TRUTH,
        "Train again on all rows, for as many rounds as were best on the rows split off.",
    )
    time_limit: float | None = declare(
        None, or_none(number(0, above=True), "no limit"), "Seconds after which no further round is begun."
    )
    callbacks: tuple[Callable[..., Any], ...] = declare(
        (),
        Rule(
            "a function or a list of them",
            are_callbacks,
            _callbacks,
        ),
        "Called after each round with a Progress (round, n_rounds, evals, elapsed); True stops training.",
    )
    verbose: int = declare(
        0,
        Rule(
            "True, False or an integer of at least 0",
            lambda v: isinstance(v, (int, np.integer, np.bool_)) and int(v) >= 0,
            int,
        ),
        "Draw a progress bar on standard error.",
    )


@dataclass(frozen=True)
class RunParams:
    """How the work is done; none of it but the seed changes the model."""

    random_state: int = declare(
        0,
        Rule("an integer of at least 0, a NumPy random generator, or None (a fresh seed)", is_seed),
        "Seed of everything random. The default is fixed, so that a fit can be repeated.",
    )
    n_jobs: int | None = declare(
        None,
        or_none(Rule("an integer other than 0", lambda v: is_integer(v) and v != 0, int), "as many as allowed"),
        "Threads: a number, or -1 for all CPUs, -2 for all but one. The model does not depend on it.",
    )
    checkpoint: str | None = declare(
        None,
        or_none(Rule("the path of a file", is_path, os.fspath), "nothing is kept"),
        "File that keeps what training has done. If the process is killed, the same fit goes on from there and ends "
        "with the same model; if it was finished, the same fit returns its model at once. See docs/checkpoints.md.",
    )
    checkpoint_every: float = declare(
        10.0, number(0), "Seconds between two writes of the checkpoint; 0 writes after every round."
    )


@dataclass(frozen=True)
class Params:
    """All parameters of a fit, grouped by who reads them."""

    task: TaskParams = TaskParams()
    bins: BinParams = BinParams()
    categories: CategoryParams = CategoryParams()
    tree: TreeParams = TreeParams()
    boost: BoostParams = BoostParams()
    watch: WatchParams = WatchParams()
    run: RunParams = RunParams()

    def described(self) -> dict[str, Any]:
        """What decided the model, by name, as far as it is numbers and words: for the model's metadata."""
        values = {name: value for group in vars(self).values() for name, value in vars(group).items()}
        for name in ("n_jobs", "verbose", "checkpoint", "checkpoint_every"):
            del values[name]
        return {name: v for name, v in values.items() if v is None or isinstance(v, (bool, int, float, str))}


GROUPS: dict[str, type] = {f.name: type(f.default) for f in dataclasses.fields(Params)}
FIELDS: dict[str, dataclasses.Field] = {f.name: f for group in GROUPS.values() for f in dataclasses.fields(group)}


def resolve_params(user: Mapping[str, Any], n_rows: int, task: str, n_classes: int = 0) -> Params:
    """Check what the user set, fill the rest from the preset and the declared defaults.

    ``task`` is "regression" or "classification"; it and ``n_rows`` settle what depends on the data.
    """
    given = {name: value for name, value in user.items() if not _is_unset(value)}
    for name in given:
        if name not in FIELDS:
            raise ParameterError(unknown_parameter(name))
    preset = check_value("preset", given.get("preset", AUTO))
    values: dict[str, Any] = {name: field.default for name, field in FIELDS.items()} | PRESETS[preset] | given
    values = {name: check_value(name, value) for name, value in values.items()}
    if _is_unset(values["objective"]):
        values["objective"] = DEFAULT_OBJECTIVES[task]
    if values["split_search"] == "exact":
        _check_exact(values, given)
    if symmetric_of(values["growth"]) is not None:
        _settle_symmetric(values, given)
    else:
        most_leaves = max(2, n_rows // values["min_child_samples"])
        values["max_leaves"] = _leaf_limit(values["max_leaves"], values["max_depth"], most_leaves)
    # Beyond these the values mean the same, and kernels count in 64 bits.
    values["min_child_samples"] = min(values["min_child_samples"], n_rows + 1)
    if values["max_depth"] is not None:
        values["max_depth"] = min(values["max_depth"], max(n_rows, 1))
    if values["boosting"] == "forest":
        _settle_forest(values, given)
    _settle_sampling(values, given)
    if preset == "catboost":
        kind = task if task == "regression" else "multiclass" if n_classes > 2 else "binary"
        _settle_catboost(values, given, n_rows, kind)
    values["random_state"] = seed_of(values["random_state"])
    groups = {
        name: group(**{f.name: values[f.name] for f in dataclasses.fields(group)}) for name, group in GROUPS.items()
    }
    return Params(**groups)


def widen_trees(params: Params, user: Mapping[str, Any], n_outputs: int, n_rows: int) -> Params:
    """Give trees that answer several outputs the leaves of several trees, unless the user or a preset sets how many."""
    tree = params.tree
    is_set = not _is_unset(user.get("max_leaves", AUTO)) or "max_leaves" in PRESETS[params.task.preset]
    if is_set or symmetric_of(tree.growth) is not None:
        return params
    most = min(int(FIELDS["max_leaves"].default) * n_outputs, MOST_VECTOR_LEAVES)  # type: ignore[arg-type]
    widened = dataclasses.replace(tree, max_leaves=_leaf_limit(most, tree.max_depth, n_rows))
    return dataclasses.replace(params, tree=widened)


def check_value(name: str, value: Any) -> Any:
    """Return one parameter's value as a plain Python value, its declared default if it is unset."""
    field = FIELDS[name]
    return field.default if _is_unset(value) else field.metadata["rule"].check(name, value)


def unknown_parameter(name: str, known: Iterable[str] = ()) -> str:
    """Say that there is no such parameter, and which one was probably meant."""
    names = list(known) or list(FIELDS)
    if name in FIELDS:
        return f"unknown parameter {name}: it is for classes, SapwoodClassifier has it"
    foreign = spelling_of(name)
    if foreign is not None and foreign.ours in names:
        return f"unknown parameter {name}: did you mean {foreign.ours}? {foreign.note}".rstrip()
    if foreign is not None:
        note = foreign.note if foreign.ours is None else ""
        return f"unknown parameter {name}: {foreign.library} has it, Sapwood has nothing like it. {note}".rstrip()
    nearest = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    if nearest:
        return f"unknown parameter {name}: did you mean {nearest[0]}?"
    return f"unknown parameter {name}: the parameters are {', '.join(sorted(names))}"


def _is_unset(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _settle_symmetric(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Symmetric trees are full: their depth is their size, and a level is split whatever rows its leaves have."""
    if given.get("min_child_samples", 1) > 1:
        raise ParameterError(
            "min_child_samples cannot be kept by symmetric trees, whose levels are split as a whole: "
            "leave it unset, or use min_child_weight, below which a side adds no gain"
        )
    if values["max_depth"] is None:
        by_leaves = values["max_leaves"].bit_length() - 1 if given.get("max_leaves") is not None else SYMMETRIC_DEPTH
        values["max_depth"] = max(1, by_leaves)
    if values["max_depth"] > DEEPEST_SYMMETRIC:
        depth = values["max_depth"]
        raise ParameterError(f"max_depth of symmetric trees must be at most {DEEPEST_SYMMETRIC}, got {depth}")
    values["min_child_samples"] = 1
    values["max_leaves"] = 2 ** values["max_depth"]


def _check_exact(values: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Exact search looks at one leaf at a time and rounds nothing."""
    if "max_bins" in given:
        raise ParameterError(
            "max_bins is for histograms; split_search='exact' keeps every value of a column apart: leave max_bins unset"
        )
    if symmetric_of(values["growth"]) is not None:
        raise ParameterError(
            "split_search='exact' tries the values of one leaf at a time, but a symmetric tree is cut by all leaves of "
            "a level together: use split_search='histogram', or another growth"
        )
    if values["precision"] == "packed":
        raise ParameterError(
            "precision='packed' is for histograms; split_search='exact' adds up in wide integers: leave precision unset"
        )


def _leaf_limit(max_leaves: int | None, max_depth: int | None, most_leaves: int) -> int:
    """Leaves a tree can have at most, given its limits and how many the rows allow."""
    limits = [most_leaves]
    if max_leaves is not None:
        limits.append(max_leaves)
    if max_depth is not None and max_depth < 63:
        limits.append(2**max_depth)
    return min(limits)


def _settle_catboost(values: dict[str, Any], given: Mapping[str, Any], n_rows: int, kind: str) -> None:
    """What CatBoost chooses by the rows, the rounds and the kind of target."""
    if "learning_rate" not in given:
        values["learning_rate"] = rate_of(kind, n_rows, values["n_estimators"])
    if kind == "binary":
        values |= {name: value for name, value in FOR_TWO_CLASSES.items() if name not in given}
        if "leaf_steps" not in given and linear_of(values["leaf_model"]) is not None:
            values["leaf_steps"] = 1


def _settle_forest(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """A forest averages trees of the same target: none is shrunk, and each needs rows or columns of its own."""
    if given.get("learning_rate", 1.0) != 1.0:
        raise ParameterError(
            f"learning_rate={given['learning_rate']:g} has no meaning for boosting='forest', which averages whole "
            "trees: leave it unset"
        )
    values["learning_rate"] = 1.0
    if values["sampling"] == AUTO and values["subsample"] >= 1.0:
        values["sampling"] = Uniform(replacement=True)
    draws_columns = any(values[f"colsample_by{what}"] < 1.0 for what in ("tree", "level", "node"))
    if values["sampling"] == "none" and not draws_columns:
        raise ParameterError(
            "boosting='forest' with sampling='none' and all columns would grow the same tree again and again: leave "
            "sampling unset, or set colsample_bynode"
        )


def _settle_sampling(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Decide which rows are drawn, and whether ``subsample`` says how many."""
    subsample = values["subsample"]
    if values["sampling"] == AUTO:
        values["sampling"] = "uniform" if subsample < 1.0 else "none"
    sampling = sampling_of(values["sampling"])
    if isinstance(sampling, Mvs) and "subsample" not in given:
        values["subsample"] = MVS_SHARE
    elif sampling is None and subsample < 1.0:
        raise ParameterError(f"subsample={subsample:g} needs sampling='uniform': sampling='none' uses all rows")
    elif isinstance(sampling, Goss | Bayesian) and subsample < 1.0:
        remedy = "give Goss(top, other)" if isinstance(sampling, Goss) else "it weighs all rows"
        name = type(sampling).__name__
        raise ParameterError(f"subsample={subsample:g} has no meaning for sampling by {name}: leave it unset, {remedy}")


def seed_of(random_state: Any) -> int:
    """The seed that a value of ``random_state`` means; None is a fresh one."""
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return int(random_state)
