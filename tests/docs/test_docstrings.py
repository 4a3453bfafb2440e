"""Every public name has a complete docstring in numpydoc form, and its examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from typing import Any

import pytest

import sapwood
import sapwood.datasets
import sapwood.distributed
import sapwood.objectives
from sapwood.boost.progress import Progress
from sapwood.datasets import Adult
from sapwood.distributed import Communicator
from sapwood.estimators.cv import CrossValidation
from sapwood.explain.importance import FeatureImportance
from sapwood.model.model import Model
from sapwood.model.predict.row_predictor import RowPredictor
from sapwood.objectives.base import Objective

RESULTS = (Adult, CrossValidation, FeatureImportance, Model, Progress, RowPredictor)  # made by functions, not by users
FOR_AUTHORS = (Objective, Communicator)  # whose methods are for those who write losses and transports
ORDER = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Examples")
SPECIAL_METHODS = ("__getitem__",)
# Methods of Model and RowPredictor for estimators and explanations rather than for users.
BETWEEN_MODULES = {
    "predict_response",
    "row_response",
    "staged_response",
    "align",
    "transform",
    "checked_rounds",
    "respond",
}


def names_of(module: Any) -> list[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or dir(module)
    return [(f"{module.__name__}.{name}", getattr(module, name)) for name in names]


def public_objects() -> dict[str, Any]:
    """Return functions and classes by name, and the methods and properties of classes."""
    modules = (sapwood, sapwood.objectives, sapwood.distributed, sapwood.datasets)
    found = dict(item for module in modules for item in names_of(module) if callable(item[1]))
    found |= {f"{one.__module__}.{one.__name__}": one for one in RESULTS if one not in found.values()}
    for name, one in list(found.items()):
        if isinstance(one, type) and not issubclass(one, FOR_AUTHORS):
            found |= {f"{name}.{method}": getattr(one, method) for method in methods_of(one)}
    return found


def methods_of(kind: type) -> list[str]:
    """Return the public methods and properties that a class has from Sapwood."""
    own = {name for base in kind.__mro__ if base.__module__.startswith("sapwood") for name in vars(base)}
    own = {name for name in own if not (name.startswith("set_") and name.endswith("_request"))}  # by scikit-learn
    public = [name for name in own if not name.startswith("_") or name in SPECIAL_METHODS]
    if kind in (Model, RowPredictor):
        public = [name for name in public if name not in BETWEEN_MODULES]
    return [n for n in sorted(public) if callable(getattr(kind, n)) or isinstance(getattr(kind, n), property)]


OBJECTS = public_objects()
CALLABLES = {name: one for name, one in OBJECTS.items() if not isinstance(one, property)}


def sections(one: Any) -> dict[str, str]:
    """Return the sections of a docstring by title; the text before them has the title ''."""
    first, *parts = re.split(r"\n\n(\w+)\n-+\n", inspect.cleandoc(one.__doc__ or ""))
    return {"": first, **dict(zip(parts[::2], parts[1::2], strict=True))}


def entries(section: str) -> dict[str, str]:
    """Return the types in a section of parameters or attributes by name."""
    return dict(re.findall(r"^(\*{0,2}\w+) : (.+)$", section, re.MULTILINE))


def parameters(one: Any) -> dict[str, inspect.Parameter]:
    given = inspect.signature(one).parameters.values()
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {stars.get(p.kind, "") + p.name: p for p in given if p.name != "self"}


@pytest.mark.parametrize("name", OBJECTS)
def test_the_summary_is_one_line_that_ends_with_a_full_stop(name):
    summary, *rest = inspect.cleandoc(OBJECTS[name].__doc__ or "").split("\n")
    assert summary.endswith("."), summary
    assert not rest or rest[0] == ""


@pytest.mark.parametrize("name", OBJECTS)
def test_sections_are_known_and_in_order(name):
    titles = [title for title in sections(OBJECTS[name]) if title]
    assert titles == sorted(titles, key=ORDER.index)


@pytest.mark.parametrize("name", [n for n, one in CALLABLES.items() if one not in RESULTS])
def test_every_parameter_is_described_with_its_default(name):
    one, found = OBJECTS[name], sections(OBJECTS[name])
    expected = parameters(one) if one is not Objective else {}
    described = entries(found.get("Parameters", ""))
    assert list(described) == list(expected)
    for parameter, text in described.items():
        default = expected[parameter].default
        if isinstance(one, type) and issubclass(one, sapwood.SapwoodRegressor | sapwood.SapwoodClassifier):
            assert ", default=" in text, (
                parameter
            )  # the value that "auto" stands for: tests/estimators/test_constructor.py
        elif default is None:
            assert "optional" in text or "default=None" in text, parameter
        elif default is not inspect.Parameter.empty:
            shown = getattr(default, "__name__", repr(default)) if callable(default) else repr(default)
            documented = text.partition("default=")[2]
            assert documented == shown or eval(documented, vars(inspect.getmodule(one))) == default, parameter


@pytest.mark.parametrize("name", [n for n, one in CALLABLES.items() if one in RESULTS])
def test_every_attribute_of_a_result_is_described(name):
    described = entries(sections(OBJECTS[name])["Attributes"])
    declared = {n for n in inspect.get_annotations(OBJECTS[name]) if not n.startswith("_")}
    assert set(described) == declared


@pytest.mark.parametrize("name", [n for n, one in CALLABLES.items() if not isinstance(one, type)])
def test_what_is_returned_is_described(name):
    returns = inspect.signature(OBJECTS[name]).return_annotation
    found = sections(OBJECTS[name])
    assert ("Returns" in found or "Yields" in found) == (returns not in (None, "None"))


@pytest.mark.parametrize("name", CALLABLES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = OBJECTS[name]
    if isinstance(one, type) and issubclass(one, BaseException):
        return
    tests = doctest.DocTestParser().get_doctest(sections(one).get("Examples", ""), {}, name, None, None)
    assert tests.examples, "no example"
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(tests, out=report.append)
    assert "".join(report) == ""
