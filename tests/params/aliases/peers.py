"""What the installed libraries say of themselves: names of arguments, objectives and metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from sapwood.params.aliases.alias import Alias, all_aliases

NOT_NAMES = {"self", "args", "kwargs"}


def arguments(*functions: Callable[..., Any]) -> set[str]:
    """Return the names of the arguments of some functions."""
    return {name for function in functions for name in inspect.signature(function).parameters} - NOT_NAMES


def methods(name: str, *classes: type) -> list[Callable[..., Any]]:
    """Return the methods of this name that some classes have."""
    return [getattr(one, name) for one in classes if hasattr(one, name)]


def rows(library: str, kind: str) -> list[Alias]:
    """Return the rows of a table."""
    return [alias for alias in all_aliases() if (alias.library, alias.kind) == (library, kind)]


def check_all_explained(library: str, kind: str, names: Iterable[str]) -> None:
    """Assert that each name has a translation or a reason why there is none; print how many."""
    translated = {name for row in rows(library, kind) if row.ours is not None for name in row.names}
    declined = {name for row in rows(library, kind) if row.ours is None for name in row.names}
    found = set(names)
    assert found, "no names: has the library changed?"
    counts = f"{len(found & translated)} translated, {len(found & declined)} declined"
    print(f"{library}, {kind}: {len(found)} names, {counts}")
    assert sorted(found - translated - declined) == []
