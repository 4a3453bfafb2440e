"""A name of another library and its translation."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache

from sapwood.lazy_dataclass import dataclass

PARAMETER, FIT, PREDICT, OBJECTIVE, METRIC = "parameter", "fit", "predict", "objective", "metric"
LIBRARIES = {
    "LightGBM": "sapwood.params.aliases.lightgbm",
    "XGBoost": "sapwood.params.aliases.xgboost",
    "CatBoost": "sapwood.params.aliases.catboost",
    "scikit-learn": "sapwood.params.aliases.scikit_learn",
}
NONE, SAME = "-", "="
PLACEHOLDER = r"\{([0-9.]*)\}"


@dataclass(frozen=True)
class Alias:
    """A name of another library, with its synonyms there, and its translation.

    ``ours`` is the parameter, argument or call to use instead, with ``{}`` in place of the value, or ``{0.9}`` with 0.9
    as an example. It is None if there is none, ``=`` if the name is the same. For objectives and metrics, it is a plain
    name if it means the same; then the name of the other library is accepted too. ``note`` explains how values
    translate or, if ``ours`` is None, why there is none and what to do.
    """

    library: str
    kind: str
    names: tuple[str, ...]
    ours: str | None
    note: str

    def translation(self, value: str | None = None) -> str:
        """Return ``ours`` with the value that was given, or with the name of the other library in its place."""
        assert self.ours is not None
        name = self.names[0].rpartition(":")[2]
        return re.sub(PLACEHOLDER, lambda found: (found[1] or name) if value is None else value, self.ours)

    @property
    def is_synonym(self) -> bool:
        """Whether the name of an objective or metric means the same as ``ours``, and is accepted."""
        return self.ours is not None and self.kind in (OBJECTIVE, METRIC) and "=" not in self.ours

    @property
    def parameter(self) -> str:
        """The part of ``ours`` before ``=``, such as ``sampling`` of ``sampling=Goss(top={})``."""
        return (self.ours or "").partition("=")[0]

    @property
    def loss(self) -> str:
        """The loss that a parameter belongs to, such as ``quantile`` of ``objective=Quantile({})``, or ''."""
        parameter, _, option = (self.ours or "").partition("=")
        return option.partition("(")[0].lower() if parameter == "objective" and self.kind == PARAMETER else ""


def read_table(library: str, kind: str, table: str) -> list[Alias]:
    """Return the rows of a table: names, ours and note, separated by ``|``; indented lines continue a row.

    In place of ours, ``-`` stands for None and ``=`` for the same name.
    """
    aliases = []
    for row in table.strip().replace("\n    ", " ").splitlines():
        names, ours, note = (cell.strip() for cell in row.split("|", 2))
        aliases.append(Alias(library, kind, tuple(names.split()), None if ours == NONE else ours, note))
    return aliases


@cache
def all_aliases() -> tuple[Alias, ...]:
    """Return the aliases of all libraries; the first call imports their modules."""
    return tuple(alias for module in LIBRARIES.values() for alias in importlib.import_module(module).ALIASES)


def aliases_of(kind: str, name: str) -> tuple[Alias, ...]:
    """Return the meanings that a name has in other libraries, in any case of letters."""
    return _by_name().get((kind, name.lower().rstrip("_")), ())


def synonyms(kind: str) -> list[str]:
    """Return the names of objectives or metrics of other libraries that are accepted."""
    return [name for alias in all_aliases() if alias.kind == kind and alias.is_synonym for name in alias.names]


@cache
def _by_name() -> dict[tuple[str, str], tuple[Alias, ...]]:
    found: dict[tuple[str, str], tuple[Alias, ...]] = {}
    for key, alias in _entries():
        found[key] = (*found.get(key, ()), alias)
    return found


def _entries() -> Iterator[tuple[tuple[str, str], Alias]]:
    for alias in all_aliases():
        for name in dict.fromkeys(name.lower() for name in alias.names):
            yield (alias.kind, name), alias
