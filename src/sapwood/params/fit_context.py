"""Facts about a fit, by which the rules of ``compatibility.py`` decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from sapwood.lazy_dataclass import dataclass
from sapwood.params.declaration import FIELDS
from sapwood.params.encodings import Encoding

TASKS = frozenset({"regression", "binary", "multiclass"})


class InitModel(NamedTuple):
    """The facts of a model that is continued; ``leaf_width`` is the number of values per leaf, None without trees."""

    zero_as_missing: bool
    link: str
    n_outputs: int
    leaf_width: int | None


class DatasetConflict(NamedTuple):
    """A parameter that is set to another value than a ``Dataset`` was made with."""

    parameter: str
    value: Any
    made_with: Any


@dataclass(frozen=True)
class Context:
    """Facts about a fit as plain values. A fact that is not known yet keeps its default, to which no rule applies."""

    # Parameters: values by name, and the names that the user set.
    values: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = frozenset()

    # Target, objective and metric: the task of the target, and the tasks that the others support.
    task: str = ""
    n_classes: int = 0
    objective_name: str = ""
    objective_tasks: frozenset[str] = TASKS
    link: str = ""
    n_outputs: int = 1
    vector_leaves: bool = False
    has_quantile_leaves: bool = False
    has_loss: bool = True
    metric_name: str = ""
    metric_tasks: frozenset[str] = TASKS

    # Columns: the categorical ones that other parameters name, and how each is encoded.
    has_monotone_columns: bool = False
    monotone_categories: tuple[str, ...] = ()
    time_category: str | None = None
    encodings: tuple[Encoding, ...] = ()

    # A Dataset in the place of X.
    is_dataset: bool = False
    has_sparse_bins: bool = False
    dataset_conflict: DatasetConflict | None = None

    # Arguments of fit.
    has_weights: bool = False
    has_eval_set: bool = False
    has_eval_weights: bool = False
    has_groups: bool | None = None
    init_model: InitModel | None = None
    init_has_probabilities: bool = True
    init_takes_weights: bool = True

    # Who trains: workers that each have some of the rows or search some of the features; cross-validation.
    distributed: str | None = None
    has_row_numbers: bool = False
    is_cross_validation: bool = False

    @property
    def leaf_width(self) -> int:
        """Number of values per leaf."""
        return self.n_outputs if self.vector_leaves else 1

    @property
    def metric_task_names(self) -> str:
        """The tasks of the metric as text."""
        return ", ".join(sorted(self.metric_tasks))

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter, its declared default if it is not known yet."""
        return self.values[name] if name in self.values else FIELDS[name].default

    def is_set(self, name: str) -> bool:
        """Return whether the user set a parameter."""
        return name in self.given
