"""Constructors by scikit-learn's convention: parameters are stored as they are passed and checked in ``fit``."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

from sapwood.errors import InputTypeError
from sapwood.estimators.fitted_estimator import FittedEstimator
from sapwood.params.unknown_names import unknown_parameter

Init = TypeVar("Init", bound=Callable[..., None])
Estimator = TypeVar("Estimator", bound=type[FittedEstimator])


def captures_parameters(init: Init) -> Init:
    """Make ``__init__`` store its keyword-only parameters; its body is not run.

    The error for an unknown name suggests the nearest one. The signature at run time has no annotations, which are
    long and stand in the docstring of the class (``documents_parameters``).
    """
    given = inspect.signature(init).parameters.values()
    defaults = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}

    @functools.wraps(init)
    def store_parameters(self: Any, *args: Any, **values: Any) -> None:
        if args:
            name = type(self).__name__
            raise InputTypeError(f"{name} accepts only keyword arguments, got {args[0]!r}: pass it by its name")
        for name in values:
            if name not in defaults:
                raise InputTypeError(unknown_parameter(name, defaults, values))
        vars(self).update({**defaults, **values})

    plain = [p.replace(annotation=p.empty) for p in given]
    store_parameters.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    store_parameters.__annotations__ = {}
    return store_parameters  # type: ignore[return-value]


def documents_parameters(estimator: Estimator) -> Estimator:
    """Complete the docstring of an estimator by the sections of its bases, in the order of numpydoc.

    Parameters are those of ``__init__``, whose own docstring keeps its first line; attributes those of
    ``FittedEstimator``, and then its own.
    """
    if not (estimator.__doc__ and estimator.__init__.__doc__ and FittedEstimator.__doc__):  # python -OO
        return estimator
    constructor, own, shared = map(_sections, (estimator.__init__.__doc__, estimator.__doc__, FittedEstimator.__doc__))
    constructor_line, unset = constructor[""].split("\n", 1)
    attributes = "\n".join(filter(None, [shared["Attributes"], own.pop("Attributes", "")]))
    sections = {"Parameters": constructor["Parameters"], "Attributes": attributes}
    texts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in (sections | own).items() if title]
    estimator.__doc__ = "\n\n".join([own[""] + "\n" + unset, *texts]) + "\n"
    estimator.__init__.__doc__ = constructor_line
    return estimator


def _sections(docstring: str) -> dict[str, str]:
    """Return the sections of a docstring in numpydoc form by title; the text before them has the title ''."""
    first, *parts = re.split(r"\n\n(\w+)\n-+\n", inspect.cleandoc(docstring))
    return {"": first, **dict(zip(parts[::2], parts[1::2], strict=True))}
