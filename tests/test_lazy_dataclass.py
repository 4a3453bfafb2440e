"""Dataclasses whose methods are made when they are used behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import threading
from dataclasses import field
from typing import Any, ClassVar

import pytest

from sapwood.lazy_dataclass import dataclass

DECORATORS = {"lazy": dataclass, "standard": dataclasses.dataclass}


def make_classes(decorate: Any) -> tuple[type, type]:
    @decorate(frozen=True)
    class Point:
        """A point."""

        kind: ClassVar[str] = "point"
        x: float
        y: float = field(default=2.0, metadata={"unit": "m"})
        tags: list[str] = field(default_factory=list, compare=False)
        secret: int = field(default=7, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "x", float(self.x))

    @decorate(frozen=True)
    class Point3(Point):
        """A point in space."""

        z: float = 0.0

    return Point, Point3


@pytest.fixture(params=[0, 1], ids=["base", "derived"])
def pair(request):
    return tuple(make_classes(decorate)[request.param] for decorate in DECORATORS.values())


def described(cls: type) -> dict[str, Any]:
    """Return all that can be seen of a dataclass."""
    made = cls(1)
    other = dataclasses.replace(made, y=3.0)
    return {
        "repr": repr(other).rpartition(".")[2],
        "eq": (made == cls(1.0, tags=["a"]), made == other, made == 1, made != other),
        "hash": (hash(cls(1.0, 2.0)) == hash(made) if "z" in vars(made) else None),
        "values": vars(other),
        "asdict": dataclasses.asdict(made),
        "fields": [(f.name, f.type, f.default, f.repr, dict(f.metadata)) for f in dataclasses.fields(cls)],
        "signature": str(inspect.signature(cls)),
        "is_dataclass": dataclasses.is_dataclass(cls),
        "class attributes": (cls.y, cls.secret, hasattr(cls, "tags"), cls.kind),
        "match": cls.__match_args__,
        "copy": repr(copy.deepcopy(made)).rpartition(".")[2],
    }


def test_it_looks_and_compares_like_a_standard_one(pair):
    lazy, standard = pair
    assert described(lazy) == described(standard)


def test_its_signature_is_known_before_the_first_instance(pair):
    lazy, standard = pair
    assert str(inspect.signature(lazy)) == str(inspect.signature(standard))


@pytest.mark.parametrize("arguments", [(), (1, 2, [], 4, 5, 6)])
def test_wrong_arguments_are_type_errors(pair, arguments):
    for cls in pair:
        with pytest.raises(TypeError, match=r"__init__\(\) (missing|takes)"):
            cls(*arguments)


def test_it_is_frozen(pair):
    for cls in pair:
        made = cls(1)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            made.x = 3
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del made.x


def test_a_factory_makes_a_new_value_for_each_instance(pair):
    first, second = pair[0](1), pair[0](2)
    assert first.tags == second.tags == []
    assert first.tags is not second.tags


def test_a_standard_dataclass_can_derive_from_it():
    base, _ = make_classes(dataclass)

    @dataclasses.dataclass(frozen=True)
    class Derived(base):
        w: float = 1.0

    assert vars(Derived(1)) == {"x": 1.0, "y": 2.0, "tags": [], "secret": 7, "w": 1.0}


def test_identity_decides_without_eq_and_fields_can_be_set_without_frozen():
    @dataclass(eq=False)
    class Counter:
        n: int = 0

    made = Counter()
    made.n += 1
    assert (made.n, made == Counter(1), len({made, Counter()})) == (1, False, 2)


def test_an_instance_that_was_made_without_the_constructor_can_be_shown_and_compared():
    """As those that pickle and copy restore are."""
    cls, _ = make_classes(dataclass)
    restored = object.__new__(cls)
    vars(restored).update(x=1.0, y=2.0, tags=[], secret=7)
    assert repr(restored).endswith("Point(x=1.0, y=2.0, tags=[])")
    assert restored == cls(1)


def test_unsupported_options_are_refused():
    with pytest.raises(TypeError, match=r"unsupported options \['slots'\]"):
        dataclass(slots=True)


def test_threads_may_make_the_first_instances_at_the_same_time():
    for _ in range(20):
        _, cls = make_classes(dataclass)
        barrier, made = threading.Barrier(8), []

        def make(cls=cls, barrier=barrier, made=made):
            barrier.wait()
            made.append(dataclasses.replace(cls(1), z=2.0))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [vars(one) for one in made] == [vars(cls(1, z=2.0))] * 8
