"""Effort: how much a fit does for a good model. It decides the defaults, and which candidates are trained and blended.

``docs/effort.md`` describes the levels, ``docs/decisions/0022-effort-blends-kinds-of-trees.md`` gives the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from sapwood.lazy_dataclass import dataclass
from sapwood.params.encodings import Auto, Ordered
from sapwood.params.learning_rates import RisingRate
from sapwood.params.options import EarlyStopping, NumericCrosses
from sapwood.params.validators import is_number

FAST, BALANCED, BEST = "fast", "balanced", "best"
EFFORTS = (FAST, BALANCED, BEST)

# Parameters that describe the data or the run rather than the model. As long as the user sets no others, a fit is
# "balanced"; whoever sets one of the others tunes the model, and its unset rest is that of "fast".
NEUTRAL = frozenset(
    {
        "effort", "objective", "intervals", "classes", "class_weight", "categorical_features", "has_time",
        "zero_as_missing", "monotone_constraints", "interaction_constraints", "eval_metric", "time_limit", "verbose",
        "random_state", "n_jobs", "on_interrupt", "bundle",
    }
)  # fmt: skip

MAX_ROUNDS = 2_000
PATIENCE = 40
# Improvements that are not worth ``PATIENCE`` further rounds: of a metric of classes, and as a fraction of one of
# numbers and of several classes, whose rounds are expensive.
MIN_CLASS_DELTA = 5e-5
NUMBER_RELATIVE_DELTA, SEVERAL_CLASSES_RELATIVE_DELTA = 2e-4, 1e-3
VALIDATION_FRACTION = 0.2
# Rows below which nothing is split off, and below which several parts of the rows take their turn in validation.
MIN_ROWS_TO_SPLIT, MIN_ROWS_FOR_ONE_PART = 50, 2_500
N_PARTS = {BALANCED: 3, BEST: 5}
# Learning rates rise between these numbers of rows: those of symmetric trees, and with several classes all by a factor.
SLOW_ROWS, SLOW_RATE, SLOW_FACTOR = 5_000, 0.07, 0.6
QUICK_ROWS, QUICK_RATE = 15_000, 0.1
# Learning rates rise in the course of a fit: by as much every so many rounds, up to a factor. Numbers rise slowly, two
# classes not at all, several the more the more classes there are.
NUMBER_RISE_ROUNDS, FEW_CLASSES_RISE_ROUNDS, MANY_CLASSES_RISE_ROUNDS, MAX_RISE = 1_000, 500, 250, 4.0
# Directions on which trees of several classes are searched. Their rounds take time in proportion to the classes, so
# that the learning rate of leaf-wise trees rises between these numbers of classes, and that of symmetric ones is high.
N_DIRECTIONS = 4
SEVERAL_CLASSES_RATE = 0.2
FEW_CLASSES, FEW_CLASSES_RATE = 10, 0.1
MANY_CLASSES, MANY_CLASSES_RATE = 20, 0.15
# Columns of more categories are not encoded one-hot; combinations of more categorical columns are not searched.
ONE_HOT_MAX = 4
MAX_COMBINED_COLUMNS = 20
# Two classes: statistics by two permutations and priors average out their noise, so that combinations of up to four
# columns are worth their while. Exact, regularised leaves suit what noise remains.
BINARY_STATISTICS: Mapping[str, Any] = {
    "category_encoding": Auto(Ordered(priors=(0.0, 1.0), bins=16, permutations=2)),
    "leaf_steps": 3,
    "reg_lambda": 3.0,
}
BINARY_COMBINATION, OTHER_COMBINATION = 4, 2
# Dense tables of more columns are wide: not searched for numeric crosses, and trained with fewer bins and shallower
# symmetric trees, since a round takes time in proportion to features, bins and leaves.
MAX_NARROW_FEATURES = 500
WIDE_BINS, WIDE_DEPTH = 31, 4
CROSSES = NumericCrosses(columns=10, max_kept=12, max_leaves=31)


@dataclass(frozen=True)
class FitFacts:
    """Facts about the data that the plan of a fit depends on.

    ``shares_histograms`` is whether a tree serves several classes and is searched by histograms, ``has_loss`` whether
    the objective has a loss and not its gradients alone.
    """

    n_rows: int
    n_classes: int
    n_categorical: int
    has_time: bool
    n_features: int = 1
    is_sparse: bool = False
    shares_histograms: bool = False
    has_loss: bool = True

    @property
    def is_wide(self) -> bool:
        """Whether a dense table has so many columns that a round takes long."""
        return self.n_features > MAX_NARROW_FEATURES and not self.is_sparse


@dataclass(frozen=True)
class Candidate:
    """A model that is trained beside others and blended with them: its name, and its values of unset parameters."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EffortPlan:
    """What a fit trains: candidates, and the number of parts of the rows that each is validated on in turn.

    Candidates that were validated on a single part are refitted to all rows; otherwise those of all parts are averaged,
    replayed on all rows if ``refit`` is "replay". With ``adds_refit``, a model that is trained on all rows is added to
    the average, with the weight of all parts together.
    """

    candidates: tuple[Candidate, ...]
    n_parts: int
    adds_refit: bool = False


def resolve_effort(given: Mapping[str, Any]) -> Any:
    """Return the effort of a fit from the parameters that the user set."""
    if "effort" in given:
        return given["effort"]
    is_neutral = NEUTRAL.issuperset(given) and isinstance(given.get("objective", ""), str)
    return BALANCED if is_neutral else FAST


def is_effort(value: Any) -> bool:
    """Return whether a value is allowed for ``effort``: the name of a level, or a number of seconds."""
    return value in EFFORTS if isinstance(value, str) else is_number(value) and value > 0


def is_planned(effort: Any, n_rows: int) -> bool:
    """Return whether a fit trains several candidates: not with the effort "fast" or with few rows."""
    return effort != FAST and n_rows >= MIN_ROWS_TO_SPLIT


def effort_values(effort: Any, n_rows: int, n_classes: int) -> dict[str, Any]:
    """Return the defaults of a fit of this effort that all its candidates share."""
    if not is_planned(effort, n_rows):
        return {}
    if n_classes == 0:
        stopping = EarlyStopping(PATIENCE, min_relative_delta=NUMBER_RELATIVE_DELTA)
    else:
        relative = SEVERAL_CLASSES_RELATIVE_DELTA if n_classes > 2 else 0.0
        stopping = EarlyStopping(PATIENCE, min_delta=MIN_CLASS_DELTA, min_relative_delta=relative)
    values: dict[str, Any] = {"n_estimators": MAX_ROUNDS, "early_stopping_rounds": stopping}
    return values if isinstance(effort, str) else values | {"time_limit": float(effort)}


def effort_plan(effort: Any, facts: FitFacts) -> EffortPlan | None:
    """Return what a fit of this effort trains; None if it trains one model.

    Rows in the order of time have a single part to validate on: the last ones.
    """
    if not is_planned(effort, facts.n_rows):
        return None
    is_large = facts.n_rows >= MIN_ROWS_FOR_ONE_PART or facts.n_classes > 2
    is_single = facts.has_time or (effort == BALANCED and is_large)
    candidates = (_leafwise(facts), _symmetric(facts))
    if is_single or effort == BALANCED:
        return EffortPlan(candidates, 1 if is_single else N_PARTS[BALANCED])
    replayed = tuple(Candidate(one.name, {**one.values, "refit": "replay"}) for one in candidates)
    return EffortPlan(replayed, N_PARTS[BEST], adds_refit=facts.n_classes <= 2)


def _leafwise(facts: FitFacts) -> Candidate:
    values: dict[str, Any] = {
        "growth": "leafwise",
        "learning_rate": _rising(_leafwise_rate(facts), facts),
        "min_child_samples": 20,
        "colsample_bytree": 0.8,
        "one_hot_max": ONE_HOT_MAX,
        "numeric_crosses": _crosses(facts),
    }
    if facts.n_rows < MIN_ROWS_FOR_ONE_PART:
        values["subsample"] = 0.8
    return Candidate("leafwise", values | _class_values(facts) | _wide_values(facts))


def _symmetric(facts: FitFacts) -> Candidate:
    return Candidate(
        "symmetric",
        {
            "growth": "symmetric",
            "learning_rate": _rising(_symmetric_rate(facts), facts),
            "max_depth": 6,
            "one_hot_max": ONE_HOT_MAX,
            "numeric_crosses": _crosses(facts),
            **_category_values(facts),
            **_class_values(facts),
            **_wide_values(facts, max_depth=WIDE_DEPTH),
        },
    )


def _category_values(facts: FitFacts) -> dict[str, Any]:
    """Return the statistics and combinations of categorical columns of symmetric trees, and how they are refitted.

    Statistics of two classes gain by a second fit to all rows; otherwise a replay does as well.
    """
    values: dict[str, Any] = {"category_encoding": Auto(Ordered(bins=16))}
    is_binary = facts.n_classes == 2 and facts.n_categorical > 0
    values |= BINARY_STATISTICS if is_binary else {"refit": "replay"}
    is_searched = facts.n_categorical <= MAX_COMBINED_COLUMNS
    size = BINARY_COMBINATION if is_binary else OTHER_COMBINATION
    return values | {"max_combination": size if is_searched else 1}


def _class_values(facts: FitFacts) -> dict[str, Any]:
    """Return the cheaper ways to search splits and to refit where rounds are expensive: with several classes."""
    values: dict[str, Any] = {"refit": "replay"} if facts.n_classes > 2 else {}
    return values | {"sketch_outputs": N_DIRECTIONS} if facts.shares_histograms else values


def _wide_values(facts: FitFacts, **others: Any) -> dict[str, Any]:
    """Return the number of bins of wide tables, and other values for them; nothing for other tables."""
    return {"max_bins": WIDE_BINS, **others} if facts.is_wide else {}


def _crosses(facts: FitFacts) -> Any:
    """Return the search for numeric crosses; a sparse table would become dense, and a wide one take long.

    Crosses are kept if they lower the loss, which gradients alone do not define.
    """
    is_searched = facts.has_loss and not facts.is_sparse and not facts.is_wide
    return CROSSES if is_searched else False


def _rising(rate: float, facts: FitFacts) -> float | RisingRate:
    """Return the learning rate of all rounds; two classes, which take few rounds, lose by one that rises."""
    n_classes = facts.n_classes
    if n_classes == 2:
        return rate
    few, many = (FEW_CLASSES, FEW_CLASSES_RISE_ROUNDS), (MANY_CLASSES, MANY_CLASSES_RISE_ROUNDS)
    return RisingRate(rate, _interpolate(n_classes, few, many) if n_classes else NUMBER_RISE_ROUNDS, MAX_RISE)


def _symmetric_rate(facts: FitFacts) -> float:
    if facts.n_classes > 2:
        return SEVERAL_CLASSES_RATE * _rate_factor(facts.n_rows)
    return _interpolate(facts.n_rows, (SLOW_ROWS, SLOW_RATE), (QUICK_ROWS, QUICK_RATE))


def _leafwise_rate(facts: FitFacts) -> float:
    if facts.n_classes <= 2:
        return 0.05
    by_classes = _interpolate(facts.n_classes, (FEW_CLASSES, FEW_CLASSES_RATE), (MANY_CLASSES, MANY_CLASSES_RATE))
    return by_classes * _rate_factor(facts.n_rows)


def _rate_factor(n_rows: int) -> float:
    """Return the factor of the learning rates of several classes: with few rows, slower rounds are cheap."""
    return _interpolate(n_rows, (SLOW_ROWS, SLOW_FACTOR), (QUICK_ROWS, 1.0))


def _interpolate(x: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """Return the value at x of the line between two points, and that of the nearer point outside."""
    position = min(1.0, max(0.0, (x - low[0]) / (high[0] - low[0])))
    return low[1] + position * (high[1] - low[1])
