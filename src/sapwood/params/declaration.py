"""Every parameter, declared once: its type, range, default and text.

A field of the dataclasses below is a parameter of the estimators. Checks, defaults, ``docs/parameters.md`` and the
error for a misspelt name all come from the declaration. A new parameter is one line here and one in the ``__init__`` of
``estimators/base.py``.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from sapwood.params.encodings import MOST_CROSSED, Crossing, is_crossing, is_encoding
from sapwood.params.options import (
    is_boosting,
    is_bundle,
    is_class_weight,
    is_growth,
    is_leaf_model,
    is_sampling,
    is_validation_fraction,
)
from sapwood.params.presets import PRESETS
from sapwood.params.validators import (
    Validator,
    are_callbacks,
    boolean,
    callback_tuple,
    fraction,
    integer,
    is_bool,
    is_collection,
    is_init,
    is_integer,
    is_metric,
    is_path,
    is_seed,
    number,
    one_of,
    or_none,
)

AUTO = "auto"


def declare(default: Any, validator: Validator, description: str) -> Any:
    """Declare a parameter as a dataclass field."""
    return dataclasses.field(default=default, metadata={"validator": validator, "description": description})


@dataclass(frozen=True)
class TaskParams:
    """What is to be learned, and whose defaults fill the rest."""

    preset: str = declare("default", one_of(*PRESETS), "Whose defaults fill the parameters left unset.")
    objective: object = declare(
        AUTO,
        Validator("the name of a loss or a loss object", lambda v: v is not None and not isinstance(v, (bool, Real))),
        "The loss that training lowers. 'auto' is squared error for regression and log loss for classes.",
    )
    class_weight: object = declare(
        None,
        Validator(
            "'balanced', 'effective', EffectiveNumber(beta), a dict from class to weight, or None (1 for each)",
            is_class_weight,
        ),
        "Classifier only. Weights of the classes, times those of the rows. 'balanced' gives every class the same share "
        "of the total; 'effective' weighs by the effective number of rows (beta 0.999), between 'balanced' and None.",
    )
    init: object = declare(
        None,
        Validator("a number, one per output, a scikit-learn estimator, or None (the loss's best constant)", is_init),
        "Scores that boosting starts from, before the link. An estimator is fitted first and trees correct it; such a "
        "model cannot be saved to a file.",
    )


@dataclass(frozen=True)
class BinningParams:
    """How numbers are cut into bins."""

    max_bins: int = declare(255, integer(2, 65535), "Value bins per feature at most. Beyond 255 a bin takes two bytes.")
    zero_as_missing: bool = declare(
        False,
        boolean(),
        "Zeros count as missing, in training and in every prediction: also what a sparse table does not store, False, "
        "and the very instant of 1970-01-01. Category columns and the times of has_time keep theirs.",
    )


@dataclass(frozen=True)
class CategoryParams:
    """What becomes of category columns."""

    categorical_features: object = declare(
        AUTO,
        Validator(
            "'auto', a list of column names or numbers, a truth value per column, or None (no column)",
            lambda v: v is None or v == AUTO if isinstance(v, str) or v is None else is_collection(v),
        ),
        "The columns whose values are levels, not amounts: texts, whole numbers or truth values. 'auto' takes the "
        "columns of texts. Missing is a level of its own; levels never seen in training are allowed at prediction.",
    )
    category_encoding: object = declare(
        AUTO,
        Validator(
            "'auto', 'one_hot', 'partition', 'frequency', 'ordered', 'leave_one_out', 'holdout', 'greedy', an object "
            "such as Ordered(prior_weight=1.0), a list of these, or a dict from columns to these",
            is_encoding,
        ),
        "What trees see of a category: a column of 0 and 1 per level, levels that leaves divide into two sets, the "
        "level's share of the rows, or statistics of the target. 'auto' decides by the number of levels; the model "
        "tells what and why (`model_.encodings`).",
    )
    one_hot_max: int = declare(2, integer(0), "Levels up to which 'auto' makes a column of 0 and 1 for each.")
    max_combination: object = declare(
        1,
        Validator(
            f"an integer from 1 to {MOST_CROSSED} or a Crossing object",
            is_crossing,
            lambda v: v if isinstance(v, Crossing) else int(v),
        ),
        "Category columns with statistics of the target that are crossed at most: 2 adds statistics of the best pairs. "
        "With Crossing(2, number_levels=16) a column of numbers, cut into 16 levels, can join them.",
    )
    has_time: object = declare(
        False,
        Validator(
            "True, False, or the name or number of a column",
            lambda v: is_bool(v) or isinstance(v, str) or is_integer(v),
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
        Validator("'leafwise', 'levelwise', 'symmetric' or a Symmetric object", is_growth),
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
        Validator("'constant', 'linear' or a Linear object", is_leaf_model),
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
        or_none(Validator("a list of 1, -1 and 0 or a dict by column", is_collection), "no constraint"),
        "Direction in which predictions may change with a feature: 1 rising, -1 falling, 0 free.",
    )
    interaction_constraints: object = declare(
        None,
        or_none(Validator("a list of groups of columns", is_collection), "no constraint"),
        "Groups of columns, by name or number; only columns of one group may meet on a path.",
    )
    precision: str = declare(
        AUTO,
        one_of(AUTO, "packed", "wide"),
        "Histogram cells: one packed integer of rounded pairs, or two wide integers. 'auto' chooses by the data.",
    )
    bundle: object = declare(
        AUTO,
        Validator(
            "'auto', True, False or a Bundle object",
            is_bundle,
            lambda v: bool(v) if isinstance(v, np.bool_) else v,
        ),
        "Columns of which at most one differs from its usual value in any row, as those of a one-hot encoding, share a "
        "byte while histograms are built, which is faster and leaves the model as it is. 'auto' does so where it pays, "
        "True wherever it can, False never. Bundle(conflicts=0.01) also takes columns that meet in so few of the rows.",
    )


@dataclass(frozen=True)
class BoostingParams:
    """How trees are added up."""

    n_estimators: int = declare(100, integer(1), "Boosting rounds.")
    learning_rate: float = declare(0.1, number(0, above=True), "Share of each tree that is added.")
    boosting: object = declare(
        "plain",
        Validator("'plain', 'ordered', 'dart', 'forest' or a Dart object", is_boosting),
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
        Validator(
            "'none', 'uniform', 'goss', 'mvs', 'bayesian', or a Uniform, Goss, Mvs or Bayesian object", is_sampling
        ),
        "Which rows a tree is grown on, drawn anew for every round: all; each with the same chance; those of large "
        "gradient and some others (Goss); in proportion to the gradient (Mvs); all with random weights (Bayesian). "
        "'auto' is 'uniform' if subsample is below 1. See sampling.md.",
    )
    subsample: float = declare(1.0, fraction(), "Share of the rows that a round draws, by 'uniform' and 'mvs'.")


@dataclass(frozen=True)
class EvaluationParams:
    """How training is watched, and when it ends."""

    eval_metric: object = declare(
        None,
        Validator(
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
        Validator(
            "a number between 0 and 1, LastRows(fraction), or None (0.1 if early stopping needs it)",
            is_validation_fraction,
        ),
        "Share of the rows that fit splits off for validation: at random, in every class alike, whole groups if there "
        "are groups; LastRows for rows in the order of time. Not with eval_set.",
    )
    refit: bool = declare(
        False,
        boolean(),
        "Train again on all rows, for as many rounds as were best on the rows split off.",
    )
    time_limit: float | None = declare(
        None, or_none(number(0, above=True), "no limit"), "Seconds after which no further round is begun."
    )
    callbacks: tuple[Callable[..., Any], ...] = declare(
        (),
        Validator(
            "a function or a list of them",
            are_callbacks,
            callback_tuple,
        ),
        "Called after each round with a Progress (round, n_rounds, evals, elapsed); True stops training.",
    )
    verbose: int = declare(
        0,
        Validator(
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
        Validator("an integer of at least 0, a NumPy random generator, or None (a fresh seed)", is_seed),
        "Seed of everything random. The default is fixed, so that a fit can be repeated.",
    )
    n_jobs: int | None = declare(
        None,
        or_none(Validator("an integer other than 0", lambda v: is_integer(v) and v != 0, int), "as many as allowed"),
        "Threads: a number, or -1 for all CPUs, -2 for all but one. The model does not depend on it.",
    )
    checkpoint: str | None = declare(
        None,
        or_none(Validator("the path of a file", is_path, os.fspath), "nothing is kept"),
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
    bins: BinningParams = BinningParams()
    categories: CategoryParams = CategoryParams()
    tree: TreeParams = TreeParams()
    boost: BoostingParams = BoostingParams()
    evaluation: EvaluationParams = EvaluationParams()
    run: RunParams = RunParams()

    def values(self) -> dict[str, Any]:
        """Return the values of all parameters by name."""
        return {name: value for group in vars(self).values() for name, value in vars(group).items()}

    def described(self) -> dict[str, Any]:
        """Return the numbers and strings among the parameters that decide the model, for its metadata."""
        values = self.values()
        for name in ("n_jobs", "verbose", "checkpoint", "checkpoint_every"):
            del values[name]
        return {name: v for name, v in values.items() if v is None or isinstance(v, (bool, int, float, str))}


GROUPS: dict[str, type] = {f.name: type(f.default) for f in dataclasses.fields(Params)}
FIELDS: dict[str, dataclasses.Field[Any]] = {f.name: f for group in GROUPS.values() for f in dataclasses.fields(group)}
