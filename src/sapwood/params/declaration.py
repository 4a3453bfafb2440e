"""Every parameter, declared once: type, range, default and description.

Each field of the dataclasses below is a parameter of the estimators and of ``sapwood.train``. Validation, defaults,
the constructors of the estimators with their types and docstrings (``docs/generate.py`` writes them),
``docs/parameters.md`` and the error for a misspelt name come from the declaration.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from sapwood.lazy_dataclass import dataclass
from sapwood.params.description import describe_value
from sapwood.params.effort import is_effort
from sapwood.params.encodings import MAX_COMBINED_COLUMNS, Crossing, is_crossing, is_encoding
from sapwood.params.learning_rates import LEARNING_RATE, rate_of_round, sum_of_rates
from sapwood.params.options import (
    NumericCrosses,
    is_boosting,
    is_bundle,
    is_categorical_features,
    is_class_weight,
    is_early_stopping,
    is_growth,
    is_leaf_model,
    is_sampling,
    is_validation_fraction,
)
from sapwood.params.presets import PRESETS
from sapwood.params.validators import (
    Validator,
    are_callbacks,
    are_integers,
    boolean,
    callback_tuple,
    fraction,
    integer,
    is_bool,
    is_collection,
    is_init,
    is_integer,
    is_metric,
    is_number,
    is_path,
    is_seed,
    number,
    one_of,
    or_none,
    plain_integers,
)

AUTO = "auto"
DEFAULT_MAX_BINS, MAX_BINS = 255, 65535
REPLAY = "replay"  # value of ``refit``
ENCODING_NAMES = "Literal['auto', 'one_hot', 'partition', 'frequency', 'ordered', 'leave_one_out', 'holdout', 'greedy']"


def declare(default: Any, validator: Validator, description: str) -> Any:
    """Declare a parameter as a dataclass field."""
    return dataclasses.field(default=default, metadata={"validator": validator, "description": description})


@dataclass(frozen=True)
class TaskParams:
    """Task and preset."""

    preset: str = declare("default", one_of(*PRESETS), "Defaults for the parameters that are not set.")
    effort: object = declare(
        AUTO,
        Validator("'fast', 'balanced', 'best' or a number of seconds", is_effort),
        "How much to do for a good model: 'fast' trains one model with the defaults below; 'balanced' trains several "
        "with early stopping and blends those that are best on validation rows; 'best' does so on several parts of the "
        "rows; a number of seconds does as much as fits. 'auto' is 'balanced' unless a parameter that shapes the model "
        "is set, and 'fast' then. See effort.md.",
    )
    objective: object = declare(
        AUTO,
        Validator(
            "the name of a loss or a loss object",
            lambda v: v is not None and not isinstance(v, (bool, Real)),
            annotation="str | Objective | type[Objective] | Callable[..., Any]",
        ),
        "Loss to minimise. 'auto' is squared error for regression and log loss for classification. See objectives.md.",
    )
    intervals: object = declare(
        None,
        Validator(
            "True (0.9), a number between 0 and 1, or None (no intervals)",
            lambda v: v is None or v is True or (is_number(v) and not is_bool(v) and 0.0 < v < 1.0),
        ),
        "Coverage of the prediction intervals to train beside the model; for regression only. `predict_interval` "
        "returns them, for this and other coverages. See intervals.md.",
    )
    class_weight: object = declare(
        None,
        Validator(
            "'balanced', 'effective', EffectiveNumber(beta), a dict from class to weight, or None (1 for each)",
            is_class_weight,
            annotation="Literal['balanced', 'effective'] | EffectiveNumber | Mapping[Any, float] | None",
        ),
        "Weights of the classes, multiplied by the sample weights; for classification only. 'balanced' gives every "
        "class the same total weight; 'effective' weights classes by the effective number of their rows (beta=0.999), "
        "between 'balanced' and None.",
    )
    classes: object = declare(
        None,
        or_none(Validator("a list of at least two labels", is_collection, annotation="ArrayLike"), "those in y"),
        "Labels of all classes, for classification only, where y may lack some of them. A class without rows has a "
        "constant score: the probability that it would have with one row.",
    )
    init: object = declare(
        None,
        Validator(
            "a number, one per output, a scikit-learn estimator, or None (the best constant of the loss)",
            is_init,
            annotation="float | ArrayLike | BaseEstimator | None",
        ),
        "Initial scores of boosting, before the link function. An estimator is fitted first (one that is fitted "
        "already is taken as it is if passed as sklearn.frozen.FrozenEstimator), and the trees are trained from its "
        "predictions; such a model cannot be saved to a file.",
    )


@dataclass(frozen=True)
class BinningParams:
    """Binning."""

    max_bins: int | list[int] | dict[Any, int] = declare(
        DEFAULT_MAX_BINS,
        Validator(
            f"an integer from 2 to {MAX_BINS}, a list with one for each column, or a dict by column",
            lambda v: integer(2, MAX_BINS).accepts(v) or are_integers(v),
            plain_integers,
            "int | Sequence[int] | np.ndarray | Mapping[str, int] | Mapping[int, int]",
        ),
        "Maximum number of value bins per feature: one for all, a list with one for each column, or a dict by column, "
        "255 for those that it does not name. If a feature has more than 255 bins, the bins of all take two bytes.",
    )
    zero_as_missing: bool = declare(
        False,
        boolean(),
        "Whether zeros are missing values, in training and in prediction: also the entries that a sparse table does "
        "not store, False, and the time 1970-01-01T00:00. Categorical columns and the column of has_time are excepted.",
    )
    numeric_crosses: object = declare(
        False,
        Validator(
            "True, False or a NumericCrosses object",
            lambda v: is_bool(v) or isinstance(v, NumericCrosses),
            lambda v: v if isinstance(v, NumericCrosses) else bool(v),
        ),
        "Whether to search for differences, products and ratios of two numeric columns, and numbers centred by their "
        "mean in a category, that lower the loss on rows that a short fit did not see; they become columns of the "
        "model. See numeric_crosses.md.",
    )

    @property
    def column_limits(self) -> int | list[int]:
        """``max_bins`` by column number, after ``column_max_bins`` has resolved the names of columns."""
        assert not isinstance(self.max_bins, dict)
        return self.max_bins


@dataclass(frozen=True)
class CategoryParams:
    """Categorical columns."""

    categorical_features: object = declare(
        AUTO,
        Validator(
            "'auto', AutoCategorical(plus, minus), a dict of columns and booleans, a list of column names or numbers, "
            "a boolean per column, or None (no column)",
            is_categorical_features,
            annotation="Literal['auto'] | AutoCategorical | Mapping[str, bool] | Sequence[str] | Sequence[int] | "
            "Sequence[bool] | np.ndarray | None",
        ),
        "Columns whose values are categories: strings, integers or booleans. 'auto' takes the columns of strings and "
        "of a categorical type; AutoCategorical(plus=['zip'], minus=['size']), or {'zip': True, 'size': False}, takes "
        "these but for some. "
        "Missing is a category of its own; categories that were not seen in training are allowed in prediction.",
    )
    category_encoding: object = declare(
        AUTO,
        Validator(
            "'auto', 'one_hot', 'partition', 'frequency', 'ordered', 'leave_one_out', 'holdout', 'greedy', an object "
            "such as Ordered(prior_weight=1.0), a list of these, or a dict from columns to these",
            is_encoding,
            annotation=f"{ENCODING_NAMES} | Encoding | Auto | Sequence[str | Encoding] | Mapping[Any, Any]",
        ),
        "Encoding of categorical columns: an indicator per category, splits by sets of categories, the frequency of "
        "the category, or statistics of the target. 'auto' chooses by the number of categories; `model_.encodings` "
        "has the choice and its reason. See categories.md.",
    )
    one_hot_max: int = declare(
        2, integer(0), "Maximum number of categories of a column that category_encoding='auto' encodes one-hot."
    )
    max_combination: object = declare(
        1,
        Validator(
            f"an integer from 1 to {MAX_COMBINED_COLUMNS} or a Crossing object",
            is_crossing,
            lambda v: v if isinstance(v, Crossing) else int(v),
            "int | Crossing",
        ),
        "Maximum number of categorical columns in a feature combination: 2 adds target statistics of the best pairs. "
        "Crossing(2, number_levels=16) also combines them with a numeric column, discretised into 16 bins.",
    )
    tree_combinations: bool = declare(
        False,
        boolean(),
        "Whether combinations also grow inside trees: below a split on a categorical column or a combination, its "
        "combinations with every other categorical column are tried, up to max_combination. See categories.md.",
    )
    has_time: object = declare(
        False,
        Validator(
            "True, False, or the name or number of a column",
            lambda v: is_bool(v) or isinstance(v, str) or is_integer(v),
            lambda v: bool(v) if isinstance(v, np.bool_) else v,
            "bool | str | int",
        ),
        "Whether ordered statistics and ordered boosting take the rows in the order of time: that of the table (True) "
        "or of a column. Otherwise the order is random.",
    )


@dataclass(frozen=True)
class TreeParams:
    """Trees."""

    growth: object = declare(
        "leafwise",
        Validator(
            "'leafwise', 'levelwise', 'symmetric' or a Symmetric object",
            is_growth,
            annotation="Literal['leafwise', 'levelwise', 'symmetric'] | Symmetric",
        ),
        "Order of growth: the leaf of largest gain first, depth by depth, or one split for all nodes of a depth.",
    )
    split_search: str = declare(
        "histogram",
        one_of("histogram", "exact", "random"),
        "Candidate thresholds: between bins; between any two values of a leaf, on presorted columns, which is slower "
        "and has no bins; or one bin per feature and leaf, drawn at random, as in extremely randomised trees.",
    )
    leaf_model: object = declare(
        "constant",
        Validator(
            "'constant', 'linear' or a Linear object",
            is_leaf_model,
            annotation="Literal['constant', 'linear'] | Linear",
        ),
        "Prediction of a leaf: a constant, or a linear model of the numeric features on the path to it. "
        "Linear(penalty=1) has an L2 penalty on slopes per standard deviation. Rows in which one of these features is "
        "missing get the constant.",
    )
    max_leaves: int | None = declare(
        31,
        or_none(integer(2), "limited by max_depth only"),
        "Maximum number of leaves per tree. If unset, trees with vector_leaves have 31 per class, at most 127.",
    )
    max_depth: int | None = declare(None, or_none(integer(1), "unlimited"), "Maximum depth of a tree.")
    sketch_outputs: int | None = declare(
        None,
        or_none(integer(1, 64), "all outputs"),
        "Number of random directions on which the gradients of all classes are projected to search the splits of trees "
        "with vector_leaves, which is faster with many classes. Leaf values are those of the true gradients. See "
        "boosting.md.",
    )
    min_child_samples: int = declare(20, integer(1), "Minimum number of rows per leaf.")
    min_child_weight: float = declare(1e-3, number(0), "Minimum sum of hessians per leaf.")
    min_split_gain: float = declare(
        0.0,
        number(0),
        "Gain that a split must exceed. Gains include the factor ½ of the objective: use half of the value of XGBoost "
        "or LightGBM.",
    )
    random_strength: float = declare(
        0.0,
        number(0),
        "Standard deviation of the noise that is added to gains when a node chooses its feature, in units of the gain "
        "that a split has by chance; it decreases with the rounds. See boosting.md.",
    )
    reg_lambda: float = declare(1.0, number(0), "L2 penalty on leaf values.")
    reg_alpha: float = declare(0.0, number(0), "L1 penalty on leaf values.")
    max_delta_step: float = declare(0.0, number(0), "Maximum absolute leaf value before shrinkage; 0 means no limit.")
    colsample_bytree: float = declare(1.0, fraction(), "Fraction of the features sampled for each tree.")
    colsample_bylevel: float = declare(1.0, fraction(), "Fraction of the features of the tree sampled for each depth.")
    colsample_bynode: float = declare(1.0, fraction(), "Fraction of the features of the depth sampled for each node.")
    feature_weights: object = declare(
        None,
        or_none(
            Validator(
                "a list of numbers of at least 0 or a dict by column",
                is_collection,
                annotation="Sequence[float] | np.ndarray | Mapping[str, float] | Mapping[int, float]",
            ),
            "equal weights",
        ),
        "Weights with which colsample_bytree, colsample_bylevel and colsample_bynode draw features; those that a dict "
        "does not name have the weight 1, those of weight 0 are never drawn.",
    )
    monotone_constraints: object = declare(
        None,
        or_none(
            Validator(
                "a list of 1, -1 and 0 or a dict by column",
                is_collection,
                annotation="Sequence[int] | np.ndarray | Mapping[str, int] | Mapping[int, int]",
            ),
            "no constraint",
        ),
        "Direction in which predictions may change with a feature: 1 increasing, -1 decreasing, 0 unconstrained. In "
        "classification that of the probability of the second of two classes.",
    )
    interaction_constraints: object = declare(
        None,
        or_none(
            Validator(
                "a list of groups of columns",
                is_collection,
                annotation="Sequence[Sequence[str] | Sequence[int] | Sequence[str | int]]",
            ),
            "no constraint",
        ),
        "Groups of columns, by name or number, that may interact: all features on a path are of one group.",
    )
    precision: str = declare(
        AUTO,
        one_of(AUTO, "packed", "wide"),
        "Format of histogram cells: gradient and hessian rounded and packed into one 64-bit integer, or one such "
        "integer each. 'auto' chooses by the number of rows.",
    )
    bundle: object = declare(
        AUTO,
        Validator(
            "'auto', True, False or a Bundle object",
            is_bundle,
            lambda v: bool(v) if isinstance(v, np.bool_) else v,
            "Literal['auto'] | bool | Bundle",
        ),
        "Exclusive feature bundling: columns of which at most one differs from its default value in any row, such as "
        "those of a one-hot encoding, share a byte in histograms. It is faster and does not change the model. 'auto' "
        "bundles where it pays, True wherever it is possible, False never. Bundle(conflicts=0.01) also bundles columns "
        "that conflict in that fraction of the rows.",
    )


@dataclass(frozen=True)
class BoostingParams:
    """Boosting and row sampling."""

    n_estimators: int = declare(100, integer(1), "Number of boosting rounds.")
    parallel_trees: int = declare(
        1,
        integer(1),
        "Number of trees per round and output that are grown on the same gradients, each on rows and columns of its "
        "own; their mean is the step of the round. See boosting.md.",
    )
    learning_rate: float | tuple[float, ...] = declare(
        0.1,
        LEARNING_RATE,
        "Factor by which the values of each tree are shrunk: one for all rounds, or a schedule, a list with one per "
        "round or a function of the round such as `lambda round: 0.1 * 0.99**round`. See boosting.md.",
    )
    boosting: object = declare(
        "plain",
        Validator(
            "'plain', 'ordered', 'dart', 'forest' or a Dart object",
            is_boosting,
            annotation="Literal['plain', 'ordered', 'dart', 'forest'] | Dart",
        ),
        "Boosting method: gradient boosting; ordered boosting, where the gradient of a row comes from a model that was "
        "trained without it; DART, which drops earlier rounds at random while a new one is fitted; or a random forest, "
        "which averages trees on bootstrapped rows with a learning rate of 1. See boosting.md.",
    )
    ordered_scoring: object = declare(
        AUTO,
        boolean(),
        "Whether boosting='ordered' also scores splits in order: a row takes the leaf value of the rows of its leaf "
        "that come before it in the permutation, rather than that of all rows of the leaf. 'auto' does. See "
        "boosting.md.",
    )
    leaf_steps: int = declare(
        1,
        integer(1, 100),
        "Number of Newton steps per leaf. With more than one, and with boosting='ordered', leaf values are fitted to "
        "all rows, whichever rows the tree was grown on.",
    )
    sampling: object = declare(
        AUTO,
        Validator(
            "'none', 'uniform', 'goss', 'mvs', 'bayesian', or a Uniform, Goss, Mvs or Bayesian object",
            is_sampling,
            annotation="Literal['none', 'uniform', 'goss', 'mvs', 'bayesian'] | Sampling",
        ),
        "Row sampling, drawn again in every round: none; uniform; gradient-based one-side sampling (Goss); "
        "minimum-variance sampling (Mvs); or all rows with random weights (Bayesian). 'auto' is 'uniform' if subsample "
        "is below 1. See sampling.md.",
    )
    subsample: float = declare(
        1.0, fraction(), "Fraction of the rows sampled for each round by sampling='uniform' and 'mvs'."
    )

    def rate_of(self, round: int) -> float:
        """Return the learning rate of a round of this fit."""
        return rate_of_round(self.learning_rate, round)

    def tree_rate_of(self, round: int) -> float:
        """Return the factor of each tree of a round: the learning rate over the number of trees that are averaged."""
        return self.rate_of(round) / self.parallel_trees

    def rates_before(self, round: int, n_earlier: int) -> float:
        """Return the sum of the learning rates before a round; ``n_earlier`` is the number of continued rounds."""
        return sum_of_rates(self.learning_rate, round, n_earlier)


@dataclass(frozen=True)
class EvaluationParams:
    """Evaluation and stopping."""

    eval_metric: object = declare(
        None,
        Validator(
            "the name of a metric, a function of (y, prediction, weight), a metric or scorer of scikit-learn, a list "
            "of these, or None (that of the loss)",
            is_metric,
            annotation="str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None",
        ),
        "Metrics evaluated on validation sets. In classification, a function gets the codes of classes and "
        "probabilities. Less is better unless the function has the attribute greater_is_better=True. See metrics.md.",
    )
    early_stopping_rounds: object = declare(
        None,
        or_none(
            Validator(
                "an integer of at least 1, True (a number by the rows), or an EarlyStopping object",
                lambda v: is_bool(v) or is_early_stopping(v),
                lambda v: int(v) if is_integer(v) else bool(v) or None if is_bool(v) else v,
                "int | bool | EarlyStopping",
            ),
            "no early stopping",
        ),
        "Stop when the first metric has not improved for this many rounds on the last validation set, sets that hold "
        "the training rows not counted; the model is that of the best round. EarlyStopping(rounds, metric, eval_set, "
        "min_delta) chooses what is watched. True is a number "
        "of rounds that falls from 100 to 20 with the number of rows; n_estimators, if unset, is then 2000.",
    )
    validation_fraction: object = declare(
        None,
        Validator(
            "a number between 0 and 1, LastRows(fraction), or None (0.1 if early stopping needs it)",
            is_validation_fraction,
            annotation="float | LastRows | None",
        ),
        "Fraction of the rows that fit sets aside for validation: at random, stratified by class, in whole groups if "
        "groups are given; LastRows for rows in the order of time. Not with eval_set.",
    )
    oob_score: object = declare(
        False,
        Validator(
            "True, False or a function of (y, prediction)",
            lambda v: is_bool(v) or callable(v),
            lambda v: v if callable(v) else bool(v),
            "bool | Callable[[np.ndarray, np.ndarray], float]",
        ),
        "Whether to score the training rows that samples leave out (subsample below 1, or replacement). A forest "
        "predicts each row by the trees grown without it, scored by accuracy, R² or a function; boosting has the loss "
        "of these rows in every round. See sampling.md.",
    )
    refit: object = declare(
        False,
        Validator(
            "True, False or 'replay'",
            lambda v: is_bool(v) or (isinstance(v, str) and v == REPLAY),
            lambda v: v if isinstance(v, str) else bool(v),
        ),
        "Whether to use the rows that fit set aside for validation in the end: True trains again on all rows, for the "
        "number of rounds that was best; 'replay' keeps the splits of the trees and fits their leaf values to all "
        "rows, round by round, usually in less time. See boosting.md.",
    )
    time_limit: float | None = declare(
        None, or_none(number(0, above=True), "no limit"), "Seconds after which no further round is started."
    )
    callbacks: tuple[Callable[..., Any], ...] = declare(
        (),
        Validator(
            "a function or a list of them",
            are_callbacks,
            callback_tuple,
            "Callable[[Progress], object] | Sequence[Callable[[Progress], object]]",
        ),
        "Functions called after each round with a Progress (round, n_rounds, evals, elapsed); True stops training.",
    )
    verbose: int = declare(
        0,
        Validator(
            "True, False or an integer of at least 0",
            lambda v: isinstance(v, (int, np.integer, np.bool_)) and int(v) >= 0,
            int,
        ),
        "Progress on standard error. True or 1 is a progress bar with the first metric and the time left (in a log "
        "file ten lines); n above 1 is a line with all metrics every n rounds.",
    )


@dataclass(frozen=True)
class RunParams:
    """Seed, threads and checkpoints."""

    random_state: int = declare(
        0,
        Validator(
            "an integer of at least 0, a NumPy random generator, or None (a fresh seed)",
            is_seed,
            annotation="int | np.random.Generator | np.random.RandomState | None",
        ),
        "Seed of all random numbers. The default is fixed, so that fits are reproducible.",
    )
    n_jobs: int | None = declare(
        None,
        or_none(
            Validator("an integer other than 0", lambda v: is_integer(v) and v != 0, int, "int"), "as many as allowed"
        ),
        "Number of threads; -1 is all CPUs, -2 all but one. The model does not depend on it.",
    )
    warm_start: bool = declare(
        False,
        boolean(),
        "Whether fit continues the model of the previous fit until it has n_estimators rounds in all, on the same rows "
        "or others. See continuing.md.",
    )
    on_interrupt: str = declare(
        "raise",
        one_of("raise", "return"),
        "What fit does when Ctrl-C ends training after some rounds. The estimator keeps the model so far, with "
        "stopped_='interrupted'; 'raise' then raises TrainingInterrupted, a KeyboardInterrupt, so that searches and "
        "loops end too; 'return' returns as if training was complete.",
    )
    checkpoint: str | None = declare(
        None,
        or_none(Validator("the path of a file", is_path, os.fspath, "str | os.PathLike[str]"), "no checkpoint"),
        "File to which training writes its progress. If the process is killed, the same fit resumes from it and ends "
        "with the same model; if it was finished, the same fit returns its model at once. See checkpoints.md.",
    )
    checkpoint_every: float = declare(
        10.0, number(0), "Seconds between two writes of the checkpoint; 0 writes after every round."
    )


@dataclass(frozen=True)
class Params:
    """All parameters of a fit, grouped by the part of training that reads them."""

    task: TaskParams = TaskParams()
    binning: BinningParams = BinningParams()
    categories: CategoryParams = CategoryParams()
    tree: TreeParams = TreeParams()
    boost: BoostingParams = BoostingParams()
    evaluation: EvaluationParams = EvaluationParams()
    run: RunParams = RunParams()

    def values(self) -> dict[str, Any]:
        """Return the values of all parameters by name."""
        return {name: value for group in vars(self).values() for name, value in vars(group).items()}

    def described(self) -> dict[str, Any]:
        """Return the parameters that decide the model as JSON values, for its metadata."""
        values = self.values()
        for name in ("n_jobs", "verbose", "on_interrupt", "checkpoint", "checkpoint_every"):
            del values[name]
        return {name: describe_value(value) for name, value in values.items()}


GROUPS: dict[str, type] = {f.name: type(f.default) for f in dataclasses.fields(Params)}
FIELDS: dict[str, dataclasses.Field[Any]] = {f.name: f for group in GROUPS.values() for f in dataclasses.fields(group)}
