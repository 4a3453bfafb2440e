"""Error messages for unknown names: the translation of a name of another library, or else the nearest match."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sapwood.lazy_dataclass import dataclass
from sapwood.params.aliases.alias import PARAMETER, SAME, Alias, aliases_of, synonyms
from sapwood.params.declaration import FIELDS

MAX_SHOWN = 60  # characters of a value in a message
UNSHOWN = "..."

Spelling = Callable[[Alias, "str | None"], str]


def unknown_parameter(name: str, known: Iterable[str] = (), given: Mapping[str, Any] | None = None) -> str:
    """Return the message for an unknown parameter; ``given`` are all parameters that the user set."""
    names = list(known) or list(FIELDS)
    given = given or {}
    message = f"unknown parameter {name}: "
    if name in FIELDS:
        return message + "it is a parameter of SapwoodClassifier only"
    if name.lower() in names:
        return message + f"did you mean {name.lower()}?"
    meanings = _meanings(name, given.get("objective"))
    if meanings and all(alias.parameter in FIELDS and alias.parameter not in names for alias in meanings):
        return message + f"its counterpart {meanings[0].parameter} is a parameter of SapwoodClassifier only"
    if meanings:
        return message + advice(meanings, "parameter", shown(given[name]) if name in given else None)
    return message + nearest_match(name, names, "parameters")


def _meanings(name: str, objective: Any) -> Sequence[Alias]:
    """Return the meanings of a parameter, only those that belong to the objective if there are such."""
    found = aliases_of(PARAMETER, name)
    text = (objective if isinstance(objective, str) else type(objective).__name__).lower()
    return [alias for alias in found if alias.loss and alias.loss in text] or found


def nearest_match(name: str, names: Sequence[str], plural: str) -> str:
    """Return the question whether the nearest of some names was meant, or all of them if none is near."""
    import difflib

    nearest = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    return f"did you mean {nearest[0]}?" if nearest else f"the {plural} are {', '.join(sorted(names))}"


# --- objectives and metrics -------------------------------------------------------------------------------------------


def find_name(kind: str, name: str, known: Collection[str]) -> str | None:
    """Return the one of the ``known`` objectives or metrics that a name stands for, in other libraries too."""
    if name in known:
        return name
    names = [name.lower(), *(alias.ours or "" for alias in aliases_of(kind, name) if alias.is_synonym)]
    return next((found for found in names if found in known), None)


def unknown_name(kind: str, name: str, known: Collection[str], allowed: str) -> str:
    """Return the message for an unknown objective or metric; ``allowed`` says what is."""
    key, _, settings = name.replace("@", "=").partition("=")
    if aliases := aliases_of(kind, key):
        return f"{kind} {name!r}: {advice(aliases, kind, settings.partition(';')[0] or None)}"
    base = find_name(kind, name.partition(":")[0], known)
    if ":" in name and base is not None:
        return f"{kind} {name!r}: settings after ':' are not supported; did you mean {base!r}?"
    import difflib

    near = difflib.get_close_matches(name.lower(), [*known, *synonyms(kind)], n=1)
    return f"{kind} {name!r} is not known; " + (f"did you mean {near[0]!r}? " if near else "") + f"allowed is {allowed}"


# --- text of a translation --------------------------------------------------------------------------------------------


def advice(aliases: Sequence[Alias], noun: str, value: str | None = None, spell: Spelling = Alias.translation) -> str:
    """Return what to use instead of a name of other libraries, or why there is nothing, for an error message."""
    by_use: dict[str | None, list[Alias]] = {}
    for alias in aliases:
        by_use.setdefault(None if alias.ours is None else spell(alias, value), []).append(alias)
    if len(by_use) > 1:
        parts = [f"{_libraries(found)}: {_use(use, found)}" for use, found in by_use.items()]
        return f"it has several meanings. {' '.join(parts)}"
    use, found = next(iter(by_use.items()))
    notes = [f"{_libraries(same)}: {note}." for note, same in _by_note(found).items() if note]
    if use is not None:
        return " ".join([f"did you mean {use}?", *notes])
    article = "an" if noun[0] in "aeiou" else "a"
    declined = f"{article} {noun} of {_libraries(found)} that is not supported"
    reasons = list(_by_note(found))
    return f"{declined}, because {reasons[0]}." if len(reasons) == 1 else f"{declined}. {' '.join(notes)}"


def _use(use: str | None, aliases: Sequence[Alias]) -> str:
    notes = "; ".join(note for note in _by_note(aliases) if note)
    if use is None:
        return f"not supported, because {notes}."
    return f"use {use}" + (f" ({notes})." if notes else ".")


def _by_note(aliases: Sequence[Alias]) -> dict[str, list[Alias]]:
    found: dict[str, list[Alias]] = {}
    for alias in aliases:
        found.setdefault(alias.note.replace("`", ""), []).append(alias)
    return found


def _libraries(aliases: Sequence[Alias]) -> str:
    *others, last = dict.fromkeys(alias.library for alias in aliases)
    return f"{', '.join(others)} and {last}" if others else last


def shown(value: Any) -> str | None:
    """Return a value as it would be typed; None if it is too long or not plain."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is not None and not isinstance(value, (bool, int, float, str, list, tuple, dict)):
        return None
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else None


# --- keyword arguments ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A function and its arguments; ``constructor`` is the class that takes the parameters of a method, '' if none."""

    kind: str
    function: str
    arguments: tuple[str, ...]
    constructor: str = ""

    @property
    def takes_parameters(self) -> bool:
        """Whether parameters can be set: in the constructor or in a dict ``params``."""
        return bool(self.constructor) or "params" in self.arguments

    def is_parameter(self, name: str) -> bool:
        """Return whether a name is a parameter that this call does not take as an argument."""
        return name in FIELDS and name not in self.arguments and self.takes_parameters

    def set_parameter(self, name: str, value: str) -> str:
        """Return the expression that sets a parameter."""
        return f"{self.constructor}({name}={value})" if self.constructor else f"params={{{name!r}: {value}}}"

    def spelling(self, aliases: Sequence[Alias]) -> Spelling:
        """Return the function that spells a translation: an argument of this call, another call, or a parameter."""
        has_notes = any(alias.note for alias in aliases)

        def spell(alias: Alias, value: str | None) -> str:
            name, _, option = (alias.ours or "").partition("=")
            if not self.is_parameter(name):
                return alias.translation(value)
            if option:
                return self.set_parameter(name, alias.translation(value).partition("=")[2])
            # A value that a note converts is not shown.
            return self.set_parameter(name, UNSHOWN if value is None or has_notes else value)

        return spell


def unknown_argument(call: Call, name: str, value: Any) -> str:
    """Return the message for an unknown keyword argument."""
    function = f"{call.constructor}.{call.function}" if call.constructor else call.function
    message = f"{function}() got an unexpected keyword argument {name!r}: "
    text = shown(value)
    if aliases := [alias for alias in aliases_of(call.kind, name) if alias.ours != SAME]:
        return message + advice(aliases, "argument", text, call.spelling(aliases))
    if call.is_parameter(name):
        return message + f"it is a parameter; use {call.set_parameter(name, text or UNSHOWN)}"
    if call.takes_parameters and (aliases := list(aliases_of(PARAMETER, name))):
        return message + advice(aliases, "parameter", text, call.spelling(aliases))
    return message + nearest_match(name, call.arguments, "arguments")
