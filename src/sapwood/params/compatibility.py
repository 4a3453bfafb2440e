"""Incompatibilities: every pair of options that cannot be used together, declared once.

``docs/compatibility.md`` is generated from the rules. A rule applies when both of its conditions hold; a context in
which some facts are not known yet is checked against the rules about the others.
"""

from __future__ import annotations

from sapwood.errors import InputError, ParameterError, SapwoodError
from sapwood.lazy_dataclass import dataclass
from sapwood.params import compatibility_conditions as c
from sapwood.params.compatibility_conditions import MAX_SYMMETRIC_DEPTH, Condition
from sapwood.params.fit_context import Context


@dataclass(frozen=True)
class Incompatibility:
    """Two conditions that exclude each other, the reason, and what to do instead."""

    first: Condition
    second: Condition
    reason: str
    remedy: str
    error: type[SapwoodError] = ParameterError

    def applies(self, context: Context) -> bool:
        """Return whether both conditions hold."""
        return self.first.holds(context) and self.second.holds(context)

    def message(self, context: Context) -> str:
        """Describe the incompatibility with the values of a fit."""
        first, second = self.first.show(context), self.second.show(context)
        joined = second if second.startswith("without ") else f"with {second}"
        return f"{first} is not supported {joined}: {self.reason}; {self.remedy}."


def check_compatibility(context: Context) -> None:
    """Raise the error of the first rule that applies."""
    for rule in RULES:
        if rule.applies(context):
            raise rule.error(rule.message(context))


def is_compatible(context: Context) -> bool:
    """Return whether no rule applies."""
    return not any(rule.applies(context) for rule in RULES)


TREES = (
    Incompatibility(
        c.MAX_BINS, c.EXACT, "exact search has no bins", "unset max_bins or use split_search='histogram'"
    ),
    Incompatibility(
        c.SYMMETRIC, c.EXACT,
        "exact search splits one leaf at a time, a symmetric tree splits all leaves of a depth at once",
        "use split_search='histogram' or another growth",
    ),
    Incompatibility(
        c.SKETCH, c.EXACT, "exact search looks at all outputs",
        "unset sketch_outputs or use split_search='histogram'",
    ),
    Incompatibility(
        c.BUNDLE, c.EXACT, "bundles are columns of histograms, which exact search does not build",
        "unset bundle or use split_search='histogram'",
    ),
    Incompatibility(
        c.PACKED, c.EXACT, "packed cells are those of histograms, which exact search does not build",
        "unset precision or use split_search='histogram'",
    ),
    Incompatibility(
        c.SYMMETRIC, c.RANDOM,
        "a threshold is drawn for one leaf, a symmetric tree has one split for all leaves of a depth",
        "use split_search='histogram' or another growth",
    ),
    Incompatibility(
        c.FEATURE_WEIGHTS, c.ALL_COLUMNS, "all columns are used",
        "unset feature_weights or use colsample_bynode below 1",
    ),
    Incompatibility(
        c.MIN_CHILD_SAMPLES, c.SYMMETRIC, "all leaves of a depth are split together, whatever their number of rows",
        "unset min_child_samples or use min_child_weight, below which a child adds no gain",
    ),
    Incompatibility(
        c.DEEP, c.SYMMETRIC, "a symmetric tree has 2**max_depth leaves",
        f"use a max_depth of at most {MAX_SYMMETRIC_DEPTH}",
    ),
    Incompatibility(
        c.MONOTONE_COLUMNS, c.LINEAR, "the slopes of linear leaves have either sign", "unset one of them"
    ),
    Incompatibility(
        c.ORDERED, c.LINEAR, "the supporting models of ordered boosting refit the values of constant leaves",
        "use leaf_model='constant' or boosting='plain'",
    ),
    Incompatibility(
        c.LEAF_STEPS, c.LINEAR, "Newton steps refit the values of constant leaves",
        "use leaf_model='constant' or leaf_steps=1",
    ),
)  # fmt: skip

OBJECTIVES = (
    Incompatibility(
        c.CLASS_OBJECTIVE, c.REGRESSION, "it is a loss for classes", "use SapwoodClassifier"
    ),
    Incompatibility(
        c.CLASSES, c.REGRESSION, "a number has no classes", "unset classes or use SapwoodClassifier"
    ),
    Incompatibility(
        c.NUMBER_OBJECTIVE, c.CLASSIFICATION, "it is a loss for numbers", "use 'logistic' or 'softmax'"
    ),
    Incompatibility(
        c.BINARY_OBJECTIVE, c.MULTICLASS, "it is a loss for two classes", "use 'softmax' or 'one_vs_all'"
    ),
    Incompatibility(
        c.OTHER_METRIC, c.KNOWN_TASK, "it is a metric of other tasks", "use another eval_metric"
    ),
    Incompatibility(
        c.VECTOR_LEAVES, c.MONOTONE_COLUMNS, "monotone bounds hold for the value of a single output",
        "use vector_leaves=False or unset monotone_constraints",
    ),
    Incompatibility(
        c.CLASS_SCORES, c.MONOTONE_COLUMNS,
        "the probability of a class falls where the score of another rises faster, so that monotone scores do not make "
        "monotone probabilities",
        "use a classifier of two classes, one class against the others, or unset monotone_constraints",
    ),
    Incompatibility(
        c.SKETCH, c.SCALAR_LEAVES, "the tree of a single output has nothing to project",
        "use vector_leaves=True or unset sketch_outputs",
    ),
    Incompatibility(
        c.VECTOR_LEAVES, c.LINEAR, "a linear leaf predicts a single output",
        "use vector_leaves=False or leaf_model='constant'",
    ),
    Incompatibility(
        c.QUANTILE_LEAVES, c.LINEAR, "linear leaves need a loss with a second derivative",
        "use 'huber', 'log_cosh' or 'expectile', or leaf_model='constant'",
    ),
    Incompatibility(
        c.CROSSES, c.WITHOUT_LOSS, "crosses are kept if they lower the loss",
        "use a loss function of (y, score), or unset numeric_crosses",
    ),
    Incompatibility(
        c.QUANTILE_LEAVES, c.LEAF_STEPS, "the value of a leaf is a quantile of its residuals, found in one step",
        "unset leaf_steps",
    ),
)  # fmt: skip

CATEGORIES = (
    Incompatibility(
        c.TREE_COMBINATIONS, c.SINGLE_COLUMNS, "trees combine no more columns than max_combination",
        "use max_combination=2 or more, or unset tree_combinations",
    ),
    Incompatibility(
        c.PARTITION, c.TWO_PARTITIONS, "splits divide the categories of all columns by the same rules",
        "use the same Partition for all columns",
    ),
    Incompatibility(
        c.PARTITION, c.EXACT, "sets of categories are found by histograms",
        "use category_encoding='ordered' or split_search='histogram'",
    ),
    Incompatibility(
        c.PARTITION, c.RANDOM, "sets of categories are found by their gradients, not drawn",
        "use category_encoding='ordered' or split_search='histogram'",
    ),
    Incompatibility(
        c.PARTITION, c.SYMMETRIC,
        "a set of categories is found for one leaf, a symmetric tree has one split for all leaves of a depth",
        "use category_encoding='ordered' or another growth",
    ),
    Incompatibility(
        c.PARTITION, c.LINEAR, "a set of categories has no numeric value for the models of leaves",
        "use category_encoding='ordered' or leaf_model='constant'",
    ),
    Incompatibility(
        c.PARTITION, c.VECTOR_LEAVES, "categories are sorted by the gradients of a single output",
        "use category_encoding='ordered' or vector_leaves=False",
    ),
    Incompatibility(
        c.PERMUTATIONS, c.EXACT, "exact search sorts the rows once, but every permutation has values of its own",
        "use permutations=1 or split_search='histogram'",
    ),
    Incompatibility(
        c.PERMUTATIONS, c.CONFLICTS,
        "the rows in which columns conflict are found once, but every permutation has values of its own",
        "use permutations=1 or unset bundle",
    ),
    Incompatibility(
        c.STATISTIC_BINS, c.EXACT, "exact search has no bins", "use bins=None or split_search='histogram'"
    ),
    Incompatibility(
        c.MONOTONE_PARAMETER, c.MONOTONE_CATEGORY, "categories have no order", "use 0 for it, or encode it as numbers"
    ),
    Incompatibility(
        c.HAS_TIME, c.TIME_CATEGORY, "categories have no order in time", "use a column of numbers or times", InputError
    ),
)  # fmt: skip

SAMPLING = (
    Incompatibility(
        c.ORDERED_SCORING, c.SKETCH, "it has gradients of several prefixes of the rows in the place of outputs",
        "use ordered_scoring=False or unset sketch_outputs",
    ),
    Incompatibility(
        c.ORDERED_SCORING, c.NOT_ORDERED, "its supporting models give the leaf values of the rows before each row",
        "use boosting='ordered' or unset ordered_scoring",
    ),
    Incompatibility(
        c.LEARNING_RATE, c.FOREST, "a forest averages unshrunk trees", "unset learning_rate"
    ),
    Incompatibility(
        c.SAME_TREES, c.FOREST, "all trees would be the same", "unset sampling or use colsample_bynode below 1"
    ),
    Incompatibility(
        c.SAME_TREES, c.PARALLEL_TREES, "all trees of a round would be the same",
        "use subsample or colsample_bynode below 1, or unset parallel_trees",
    ),
    Incompatibility(
        c.OOB_SCORE, c.NO_ROWS_LEFT_OUT, "no rows are left out of the samples at random",
        "use subsample below 1, Uniform(replacement=True) or boosting='forest', or unset oob_score",
    ),
    Incompatibility(
        c.OOB_FUNCTION, c.BOOSTING, "the loss is compared before and after each round",
        "use oob_score=True, or boosting='forest'",
    ),
    Incompatibility(
        c.OOB_SCORE, c.REPLAYED, "leaves that are fitted again have seen all rows", "use refit=True or unset oob_score"
    ),
    Incompatibility(
        c.OOB_SCORE, c.WITHOUT_LOSS, "the rows that are left out are compared by the loss",
        "use a loss function of (y, score), or unset oob_score",
    ),
    Incompatibility(
        c.OOB_SCORE, c.EFFORT, "the models that are blended have samples of their own", "use effort='fast'"
    ),
    Incompatibility(
        c.SUBSAMPLE, c.NO_SAMPLING, "all rows are used", "unset subsample or use sampling='uniform'"
    ),
    Incompatibility(
        c.SUBSAMPLE, c.GOSS, "its own fractions say how many rows are drawn", "unset subsample and use Goss(top, other)"
    ),
    Incompatibility(
        c.SUBSAMPLE, c.BAYESIAN, "all rows are used, with random weights", "unset subsample"
    ),
    Incompatibility(
        c.BY_GROUPS, c.NO_GROUPS, "whole groups are drawn", "pass groups to fit", InputError
    ),
    Incompatibility(
        c.BY_CLASSES, c.REGRESSION, "a fraction of every class is drawn", "use by='rows'"
    ),
)  # fmt: skip

ARGUMENTS = (
    Incompatibility(
        c.VALIDATION_FRACTION, c.EVAL_SET, "both provide the rows to validate on", "unset one of them", InputError
    ),
    Incompatibility(
        c.EVAL_WEIGHTS, c.NO_EVAL_SET, "it holds the weights of the rows of eval_set", "pass eval_set", InputError
    ),
    Incompatibility(
        c.LAST_ROWS, c.GROUPS, "the last rows may be part of a group",
        "use a validation_fraction, or fit without groups", InputError,
    ),
    Incompatibility(
        c.INIT, c.INIT_MODEL, "a model that is continued keeps its own initial scores", "unset one of them"
    ),
    Incompatibility(
        c.INIT_WITHOUT_PROBABILITIES, c.CLASSIFICATION, "the initial scores of classes are computed from predict_proba",
        "use a classifier that has it, or wrap it in CalibratedClassifierCV",
    ),
    Incompatibility(
        c.INIT_WITHOUT_WEIGHTS, c.WEIGHTS, "its fit takes no sample_weight",
        "use another estimator, or rows without weights",
    ),
    Incompatibility(
        c.MODEL_ZEROS, c.OTHER_ZEROS, "all trees of a model read zeros alike", "use the zero_as_missing of init_model"
    ),
    Incompatibility(
        c.MODEL_OUTPUTS, c.OTHER_OUTPUTS, "all trees of a model add to the same scores",
        "use the objective that init_model was trained with",
    ),
    Incompatibility(
        c.MODEL_LEAVES, c.OTHER_LEAVES, "all leaves of a model have the same number of values",
        "use the vector_leaves of init_model",
    ),
    Incompatibility(
        c.INTERVALS, c.CLASSIFICATION, "classes have probabilities", "unset intervals and use predict_proba"
    ),
    Incompatibility(
        c.EFFORT, c.INIT_MODEL, "the model to continue decides what the new trees look like", "use effort='fast'"
    ),
    Incompatibility(
        c.EFFORT, c.INIT, "the models that are blended would each start from scores of their own", "use effort='fast'"
    ),
    Incompatibility(
        c.EFFORT, c.CHECKPOINT, "a checkpoint holds one training run, and every model that is blended is one",
        "use effort='fast' or unset checkpoint",
    ),
    Incompatibility(
        c.EFFORT, c.FOREST, "a forest is an average without early stopping already", "use effort='fast'"
    ),
    Incompatibility(
        c.DATASET_SETTING, c.OTHER_DATASET, "a Dataset is read and binned when it is made",
        "unset it or make another Dataset",
    ),
    Incompatibility(
        c.OOB_SCORE, c.CROSS_VALIDATION, "folds are scored on the rows that they leave out", "unset oob_score"
    ),
    Incompatibility(
        c.CHECKPOINT, c.CROSS_VALIDATION, "a checkpoint holds one training run, and every fold is one",
        "unset checkpoint",
    ),
)  # fmt: skip

DISTRIBUTED = (
    Incompatibility(
        c.EFFORT, c.DISTRIBUTED, "workers train one model together", "use effort='fast'"
    ),
    Incompatibility(
        c.OOB_SCORE, c.DISTRIBUTED, "rows that are left out are scored in one process", "unset oob_score"
    ),
    Incompatibility(
        c.CROSSES, c.DISTRIBUTED, "crosses are searched in the rows of one process", "unset numeric_crosses"
    ),
    Incompatibility(
        c.SKETCH, c.DISTRIBUTED, "workers add up the histograms of all outputs", "unset sketch_outputs"
    ),
    Incompatibility(
        c.EXACT, c.DISTRIBUTED, "workers add up histograms", "use split_search='histogram'"
    ),
    Incompatibility(
        c.RANDOM, c.DISTRIBUTED, "workers search all thresholds of their features", "use split_search='histogram'"
    ),
    Incompatibility(
        c.DATASET, c.DISTRIBUTED_ROWS, "it was binned without the rows of the other workers",
        "pass the table itself", InputError,
    ),
    Incompatibility(
        c.SPARSE_DATASET, c.DISTRIBUTED, "workers do not exchange sparse bins", "pass the table itself"
    ),
    Incompatibility(
        c.ROW_NUMBERS, c.DISTRIBUTED_FEATURES, "every worker has all rows", "leave row_numbers out"
    ),
    Incompatibility(
        c.INIT_TO_FIT, c.DISTRIBUTED_ROWS, "an estimator is fitted on all rows, in one process",
        "fit it before, on rows that one machine holds, and pass init=sklearn.frozen.FrozenEstimator(fitted)",
    ),
)  # fmt: skip

SECTIONS: dict[str, tuple[Incompatibility, ...]] = {
    "Trees": TREES,
    "Objectives and metrics": OBJECTIVES,
    "Categorical columns": CATEGORIES,
    "Boosting and sampling": SAMPLING,
    "Arguments of fit, datasets, cross-validation": ARGUMENTS,
    "Distributed training": DISTRIBUTED,
}
RULES: tuple[Incompatibility, ...] = tuple(rule for rules in SECTIONS.values() for rule in rules)
