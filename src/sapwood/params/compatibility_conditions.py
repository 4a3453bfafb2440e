"""Conditions on the facts of a fit, of which the rules of ``compatibility.py`` are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sapwood.lazy_dataclass import dataclass
from sapwood.params.declaration import FIELDS, REPLAY
from sapwood.params.encodings import Ordered, Partition, Statistic, crossing_of
from sapwood.params.fit_context import Context
from sapwood.params.options import (
    Bayesian,
    Goss,
    LastRows,
    Mvs,
    Uniform,
    conflicts_of,
    crosses_of,
    linear_of,
    sampling_of,
    symmetric_of,
)
from sapwood.params.validators import is_frozen

MAX_SYMMETRIC_DEPTH = 16  # such a tree has 2**depth leaves
ROWS, FEATURES = "rows", "features"


@dataclass(frozen=True)
class Condition:
    """One side of an incompatibility: its description, its test, and its description with the values of a fit.

    ``shown`` is a format string whose fields are parameters and facts; the description serves if it is empty.
    """

    text: str
    holds: Callable[[Context], bool]
    shown: str = ""

    def show(self, context: Context) -> str:
        """Describe the condition with the values of a fit."""
        if not self.shown:
            return self.text.replace("`", "")
        return self.shown.format_map(_ByName(context))


class _ByName(dict[str, Any]):
    """Parameters and facts of a fit by name, as fields of a format string."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __missing__(self, name: str) -> Any:
        return self._context[name] if name in FIELDS else getattr(self._context, name)


def _partitions(c: Context) -> tuple[Partition, ...]:
    return tuple(encoding for encoding in c.encodings if isinstance(encoding, Partition))


def _has_permutations(c: Context) -> bool:
    """Return whether ordered statistics differ between several orders of the rows; time is a single order."""
    has_time = c["has_time"] is not False
    return not has_time and any(isinstance(e, Ordered) and e.permutations > 1 for e in c.encodings)


def _samples_rows(c: Context) -> bool:
    """Return whether rounds have rows or weights of their own."""
    sampling, is_fraction = sampling_of(c["sampling"]), c["subsample"] < 1.0
    match sampling:
        case Uniform():
            return sampling.replacement or is_fraction
        case Mvs():
            return is_fraction
        case Bayesian():
            return sampling.temperature > 0.0
        case Goss():
            return sampling.top + sampling.other < 1.0 and (sampling.full_rounds or 0) < c["n_estimators"]
    return sampling is not None


def _grows_the_same_tree(c: Context) -> bool:
    """Return whether neither rows nor columns nor noise differ between the trees of a forest."""
    is_random = c["split_search"] == "random" or c["random_strength"] > 0.0
    return not _samples_columns(c) and not is_random and not _samples_rows(c)


def _samples_columns(c: Context) -> bool:
    return any(c[f"colsample_by{what}"] < 1.0 for what in ("tree", "level", "node"))


def _samples_by(c: Context, what: str) -> bool:
    sampling = sampling_of(c["sampling"])
    return isinstance(sampling, Uniform) and sampling.by == what


# --- categories -------------------------------------------------------------------------------------------------------

TREE_COMBINATIONS = Condition("`tree_combinations`", lambda c: c["tree_combinations"] is True, "tree_combinations=True")
SINGLE_COLUMNS = Condition(
    "`max_combination` of one column",
    lambda c: crossing_of(c["max_combination"]).columns == 1,
    "max_combination={max_combination!r}",
)

# --- trees ------------------------------------------------------------------------------------------------------------

EXACT = Condition("`split_search='exact'`", lambda c: c["split_search"] == "exact")
CROSSES = Condition("`numeric_crosses`", lambda c: crosses_of(c["numeric_crosses"]) is not None)
WITHOUT_LOSS = Condition(
    "an objective given by its gradients (`GradientLoss`)", lambda c: not c.has_loss, "objective=GradientLoss"
)
RANDOM = Condition("`split_search='random'`", lambda c: c["split_search"] == "random")
FEATURE_WEIGHTS = Condition("`feature_weights`", lambda c: c["feature_weights"] is not None)
ALL_COLUMNS = Condition("without column sampling", lambda c: not _samples_columns(c))
SYMMETRIC = Condition("`growth='symmetric'`", lambda c: symmetric_of(c["growth"]) is not None)
LINEAR = Condition("`leaf_model='linear'`", lambda c: linear_of(c["leaf_model"]) is not None)
ORDERED = Condition("`boosting='ordered'`", lambda c: c["boosting"] == "ordered")
NOT_ORDERED = Condition(
    "`boosting` other than 'ordered'", lambda c: c["boosting"] != "ordered", "boosting={boosting!r}"
)
ORDERED_SCORING = Condition("`ordered_scoring`", lambda c: c["ordered_scoring"] is True, "ordered_scoring=True")
FOREST = Condition("`boosting='forest'`", lambda c: c["boosting"] == "forest")
LEAF_STEPS = Condition("`leaf_steps` above 1", lambda c: c["leaf_steps"] > 1, "leaf_steps={leaf_steps}")
MAX_BINS = Condition("`max_bins`", lambda c: c.is_set("max_bins"), "max_bins={max_bins}")
PACKED = Condition("`precision='packed'`", lambda c: c["precision"] == "packed")
BUNDLE = Condition("`bundle`", lambda c: c.is_set("bundle") and c["bundle"] is not False, "bundle={bundle!r}")
CONFLICTS = Condition("`bundle=Bundle(conflicts)`", lambda c: conflicts_of(c["bundle"]) > 0.0, "bundle={bundle!r}")
MIN_CHILD_SAMPLES = Condition(
    "`min_child_samples` above 1",
    lambda c: c.is_set("min_child_samples") and c["min_child_samples"] > 1,
    "min_child_samples={min_child_samples}",
)
DEEP = Condition(
    f"`max_depth` above {MAX_SYMMETRIC_DEPTH}",
    lambda c: c["max_depth"] is not None and c["max_depth"] > MAX_SYMMETRIC_DEPTH,
    "max_depth={max_depth}",
)
MONOTONE_PARAMETER = Condition("`monotone_constraints`", lambda c: c["monotone_constraints"] is not None)
MONOTONE_COLUMNS = Condition("`monotone_constraints`", lambda c: c.has_monotone_columns)

INTERVALS = Condition("`intervals`", lambda c: c["intervals"] is not None, "intervals={intervals!r}")
EFFORT = Condition("`effort` other than 'fast'", lambda c: c["effort"] not in ("auto", "fast"), "effort={effort!r}")

# --- boosting and sampling --------------------------------------------------------------------------------------------

LEARNING_RATE = Condition(
    "`learning_rate` other than 1",
    lambda c: c.is_set("learning_rate") and c["learning_rate"] != 1.0,
    "learning_rate={learning_rate}",
)
SAME_TREES = Condition(
    "all rows and all columns for every tree", _grows_the_same_tree, "sampling={sampling!r} and all columns"
)
PARALLEL_TREES = Condition(
    "`parallel_trees` above 1", lambda c: c["parallel_trees"] > 1, "parallel_trees={parallel_trees}"
)
SUBSAMPLE = Condition("`subsample` below 1", lambda c: c["subsample"] < 1.0, "subsample={subsample:g}")
NO_SAMPLING = Condition("`sampling='none'`", lambda c: c["sampling"] == "none")
GOSS = Condition("`sampling='goss'`", lambda c: isinstance(sampling_of(c["sampling"]), Goss))
BAYESIAN = Condition("`sampling='bayesian'`", lambda c: isinstance(sampling_of(c["sampling"]), Bayesian))
OOB_SCORE = Condition("`oob_score`", lambda c: c["oob_score"] is not False, "oob_score")
OOB_FUNCTION = Condition("a function as `oob_score`", lambda c: callable(c["oob_score"]), "oob_score as a function")
BOOSTING = Condition(
    "`boosting` other than 'forest'", lambda c: c["boosting"] != "forest", "boosting={boosting!r}"
)  # fmt: skip
NO_ROWS_LEFT_OUT = Condition(
    "without uniform sampling of rows",
    lambda c: not (isinstance(sampling_of(c["sampling"]), Uniform) and _samples_rows(c)),
)
BY_GROUPS = Condition("`sampling=Uniform(by='groups')`", lambda c: _samples_by(c, "groups"))
BY_CLASSES = Condition("`sampling=Uniform(by='classes')`", lambda c: _samples_by(c, "classes"))

# --- objective and task -----------------------------------------------------------------------------------------------

VECTOR_LEAVES = Condition(
    "an objective with `vector_leaves=True`",
    lambda c: c.vector_leaves,
    "objective={objective_name!r} with vector_leaves=True",
)
SKETCH = Condition(
    "`sketch_outputs`", lambda c: c["sketch_outputs"] is not None, "sketch_outputs={sketch_outputs}"
)  # fmt: skip
SCALAR_LEAVES = Condition(
    "an objective without `vector_leaves=True`",
    lambda c: c.objective_name != "" and not c.vector_leaves,
    "objective={objective_name!r} without vector_leaves=True",
)
CLASS_SCORES = Condition(
    "more than two classes", lambda c: c.task == "multiclass", "objective={objective_name!r} of {n_classes} classes"
)
QUANTILE_LEAVES = Condition(
    "an objective with quantile leaves (`absolute`, `quantile`, `mape`)",
    lambda c: c.has_quantile_leaves,
    "objective={objective_name!r}",
)
CLASS_OBJECTIVE = Condition(
    "an objective for classes", lambda c: "regression" not in c.objective_tasks, "objective={objective_name!r}"
)
NUMBER_OBJECTIVE = Condition(
    "an objective for numbers",
    lambda c: not c.objective_tasks & {"binary", "multiclass"},
    "objective={objective_name!r}",
)
BINARY_OBJECTIVE = Condition(
    "an objective for two classes", lambda c: "multiclass" not in c.objective_tasks, "objective={objective_name!r}"
)
OTHER_METRIC = Condition(
    "an `eval_metric` of another task",
    lambda c: c.task not in c.metric_tasks,
    "eval_metric={metric_name!r}, which measures {metric_task_names},",
)
KNOWN_TASK = Condition("the task of the target", lambda c: bool(c.task), "{task}")
REGRESSION = Condition("regression", lambda c: c.task == "regression")
CLASSIFICATION = Condition("classification", lambda c: c.task in ("binary", "multiclass"))
MULTICLASS = Condition("more than two classes", lambda c: c.task == "multiclass", "{n_classes} classes")

# --- categories -------------------------------------------------------------------------------------------------------

PARTITION = Condition("`category_encoding='partition'`", lambda c: bool(_partitions(c)))
TWO_PARTITIONS = Condition("`Partition` with other settings for another column", lambda c: len(set(_partitions(c))) > 1)
PERMUTATIONS = Condition("`category_encoding=Ordered(permutations=2)` or more", _has_permutations)
STATISTIC_BINS = Condition(
    "a `category_encoding` with `bins` of its own",
    lambda c: any(isinstance(encoding, Statistic) and encoding.bins is not None for encoding in c.encodings),
)
MONOTONE_CATEGORY = Condition(
    "a categorical column",
    lambda c: bool(c.monotone_categories),
    "the categorical column {monotone_categories[0]}",
)
HAS_TIME = Condition("`has_time` by a column", lambda c: c["has_time"] is not False, "has_time={has_time!r}")
TIME_CATEGORY = Condition(
    "a categorical column", lambda c: c.time_category is not None, "the categorical column {time_category}"
)

# --- tables and arguments of fit --------------------------------------------------------------------------------------

DATASET = Condition("a `Dataset` as `X`", lambda c: c.is_dataset)
SPARSE_DATASET = Condition("a `Dataset` of a sparse table", lambda c: c.has_sparse_bins)
DATASET_SETTING = Condition(
    "`max_bins`, `zero_as_missing` or `categorical_features`",
    lambda c: c.dataset_conflict is not None,
    "{dataset_conflict.parameter}={dataset_conflict.value!r}",
)
OTHER_DATASET = Condition(
    "a `Dataset` made with another value",
    lambda c: c.dataset_conflict is not None,
    "a Dataset made with {dataset_conflict.parameter}={dataset_conflict.made_with!r}",
)
EVAL_SET = Condition("`eval_set`", lambda c: c.has_eval_set)
NO_EVAL_SET = Condition("without `eval_set`", lambda c: not c.has_eval_set)
EVAL_WEIGHTS = Condition("`eval_sample_weight`", lambda c: c.has_eval_weights)
VALIDATION_FRACTION = Condition(
    "`validation_fraction`",
    lambda c: c["validation_fraction"] is not None,
    "validation_fraction={validation_fraction!r}",
)
LAST_ROWS = Condition("`validation_fraction=LastRows(...)`", lambda c: isinstance(c["validation_fraction"], LastRows))
GROUPS = Condition("`groups`", lambda c: c.has_groups is True)
NO_GROUPS = Condition("without `groups`", lambda c: c.has_groups is False)
INIT_SHOWN = "init={init.__class__.__name__}()"
INIT = Condition("`init`", lambda c: c["init"] is not None)
INIT_TO_FIT = Condition(
    "an estimator that has to be fitted as `init`",
    lambda c: hasattr(c["init"], "fit") and not is_frozen(c["init"]),
    INIT_SHOWN,
)
INIT_WITHOUT_PROBABILITIES = Condition(
    "an estimator without `predict_proba` as `init`",
    lambda c: not c.init_has_probabilities,
    INIT_SHOWN,
)
INIT_WITHOUT_WEIGHTS = Condition(
    "an estimator as `init` whose `fit` takes no `sample_weight`",
    lambda c: not c.init_takes_weights,
    INIT_SHOWN,
)
WEIGHTS = Condition("weighted rows (`sample_weight` or `class_weight`)", lambda c: c.has_weights)
CLASSES = Condition("`classes`", lambda c: c["classes"] is not None)
INIT_MODEL = Condition("`init_model`", lambda c: c.init_model is not None)
MODEL_ZEROS = Condition(
    "`init_model`", INIT_MODEL.holds, "init_model with zero_as_missing={init_model.zero_as_missing}"
)
MODEL_OUTPUTS = Condition(
    "`init_model`",
    INIT_MODEL.holds,
    "init_model of {init_model.n_outputs} output(s) with the link {init_model.link!r}",
)
MODEL_LEAVES = Condition("`init_model`", INIT_MODEL.holds, "init_model of {init_model.leaf_width} value(s) per leaf")
OTHER_ZEROS = Condition(
    "another `zero_as_missing` than it was trained with",
    lambda c: c.init_model is not None and c.init_model.zero_as_missing != c["zero_as_missing"],
    "zero_as_missing={zero_as_missing}",
)
OTHER_OUTPUTS = Condition(
    "an objective with another link or number of outputs",
    lambda c: c.init_model is not None and (c.init_model.link, c.init_model.n_outputs) != (c.link, c.n_outputs),
    "objective={objective_name!r} of {n_outputs} output(s) with the link {link!r}",
)
OTHER_LEAVES = Condition(
    "another `vector_leaves` than it was trained with",
    lambda c: c.init_model is not None and c.init_model.leaf_width not in (None, c.leaf_width),
    "objective={objective_name!r} of {leaf_width} value(s) per leaf",
)
CHECKPOINT = Condition("`checkpoint`", lambda c: c["checkpoint"] is not None)
REPLAYED = Condition("`refit='replay'`", lambda c: c["refit"] == REPLAY)
CROSS_VALIDATION = Condition("`cv`", lambda c: c.is_cross_validation)

# --- distributed training ---------------------------------------------------------------------------------------------

DISTRIBUTED = Condition("distributed training", lambda c: c.distributed is not None)
DISTRIBUTED_ROWS = Condition("training distributed by rows", lambda c: c.distributed == ROWS)
DISTRIBUTED_FEATURES = Condition("training distributed by features", lambda c: c.distributed == FEATURES)
ROW_NUMBERS = Condition("`row_numbers`", lambda c: c.has_row_numbers)
