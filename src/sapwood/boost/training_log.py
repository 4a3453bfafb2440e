"""Log lines at level INFO: what was chosen for a fit, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.grow.histogram import MIN_PACKED_ROWS, is_wide
from sapwood.log import INFO, logger
from sapwood.native.threads.team import MIN_PARALLEL_TABLE
from sapwood.params.declaration import AUTO, FIELDS, Params
from sapwood.params.description import describe_value
from sapwood.params.presets import PRESETS


def log_parameters(user: Mapping[str, Any], params: Params) -> None:
    """Log the parameters that differ from the declared defaults, by where their values come from."""
    if not logger.isEnabledFor(INFO):
        return
    preset = params.task.preset
    was_set: dict[str, Any] = {}
    from_preset: dict[str, Any] = {}
    derived: dict[str, Any] = {}
    for name, value in params.values().items():
        if name in user and not (isinstance(user[name], str) and user[name] == AUTO):
            was_set[name] = value
        elif name in PRESETS[preset]:
            from_preset[name] = value
        elif describe_value(value) != describe_value(FIELDS[name].default):
            derived[name] = value
    sources = {
        "set by the user": was_set,
        f"from preset {preset!r}": from_preset,
        "derived from the data and other parameters": derived,
    }
    for source, values in sources.items():
        if values:
            logger.info("parameters %s: %s", source, ", ".join(f"{n}={_shown(v)}" for n, v in values.items()))


def log_validation(sets: Mapping[str, LabeledRows], n_split_off: int) -> None:
    """Log the validation sets and where their rows come from."""
    if n_split_off:
        logger.info("validation: %d rows are set aside, by validation_fraction or for early stopping", n_split_off)
    elif sets:
        logger.info("validation sets: %s", ", ".join(f"{name} ({len(rows.y)} rows)" for name, rows in sets.items()))


def log_encodings(encodings: Mapping[str, Any]) -> None:
    """Log the encoding of each categorical column and the reason for it."""
    for name, plan in encodings.items():
        logger.info("column %s is encoded by %s: %s", name, " and ".join(plan["encoding"]), plan["reason"])


def describe_precision(params: Params, n_rows: int) -> str:
    """Return the format of histogram cells in words, with the reason if it was chosen by the number of rows."""
    if params.tree.split_search == "exact":
        return "exact split search"
    if params.tree.precision != AUTO:
        return f"{params.tree.precision} histograms as asked"
    if not is_wide(params.tree.precision, n_rows):
        return f"packed histograms (at least {MIN_PACKED_ROWS} rows)"
    return f"wide histograms ({f'fewer than {MIN_PACKED_ROWS}' if n_rows < MIN_PACKED_ROWS else 'too many'} rows)"


def describe_threads(n_threads: int, n_rows: int, n_features: int) -> str:
    """Return the number of threads in words, with the reason if the table is too small for several."""
    is_small = n_rows * n_features < MIN_PARALLEL_TABLE
    return f"{n_threads} thread(s)" + (" (small table)" if is_small and n_threads == 1 else "")


def _shown(value: Any) -> str:
    described = describe_value(value)
    is_text_of_object = isinstance(described, str) and not isinstance(value, str)
    return described if is_text_of_object else repr(described)
