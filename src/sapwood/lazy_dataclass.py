"""``dataclass`` that generates code only for what is used: importing Sapwood would otherwise mostly make dataclasses.

The standard decorator compiles three to six functions for each class. Here ``__init__`` is a closure made at the first
instance, the other methods are functions that all classes share, and the fields are made by the standard decorator when
``dataclasses.fields``, ``dataclasses.replace`` or ``inspect.signature`` ask for them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NoReturn

PENDING = "__pending_dataclass__"
MADE_BY_STANDARD = ("__dataclass_params__", "__match_args__", "__dataclass_fields__")


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _values(instance: Any) -> tuple[Any, ...]:
    return tuple(getattr(instance, field.name) for field in dataclasses.fields(instance) if field.compare)


def _eq(self: Any, other: Any) -> Any:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse_setattr(self: Any, name: str, value: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delattr(self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


class _Pending:
    """A class as it was declared, from which constructor and fields are made.

    What is made is the same whichever thread comes first, and replaces what was there in one assignment: no lock.
    """

    def __init__(self, cls: type, options: dict[str, bool]) -> None:
        self.cls, self._options = cls, options
        own = vars(cls)
        self.annotations: dict[str, str] = dict(cls.__annotations__)
        self.defaults = {name: own[name] for name in self.annotations if name in own}
        for name, default in self.defaults.items():
            if isinstance(default, dataclasses.Field):
                is_factory = default.default is dataclasses.MISSING
                delattr(cls, name) if is_factory else setattr(cls, name, default.default)

    def initialize(self, instance: Any, *args: Any, **kwargs: Any) -> None:
        """Make the constructor, and call it."""
        init: Any = self._make_init()
        init.__qualname__ = f"{self.cls.__qualname__}.__init__"
        self.cls.__init__ = init  # type: ignore[misc]
        init(instance, *args, **kwargs)

    def _make_init(self) -> Any:
        """Return a constructor that writes into the ``__dict__`` of the instance, as fields may be frozen."""
        fields = self._constructor_fields()
        names, has_post_init = tuple(fields), hasattr(self.cls, "__post_init__")

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            values = self.__dict__
            values.update(zip(names, args, strict=False))
            for name in names[len(args) :]:
                if name in kwargs:
                    values[name] = kwargs.pop(name)
                    continue
                default, factory = fields[name]
                if default is dataclasses.MISSING and factory is dataclasses.MISSING:
                    raise TypeError(f"{__init__.__qualname__}() missing the required argument {name!r}")
                values[name] = factory() if default is dataclasses.MISSING else default
            if kwargs or len(args) > len(names):
                given = (
                    f"argument {next(iter(kwargs))!r}, unknown or given twice" if kwargs else f"{len(args)} arguments"
                )
                raise TypeError(f"{__init__.__qualname__}() takes {', '.join(names)}; got {given}")
            if has_post_init:
                self.__post_init__()

        return __init__

    def _constructor_fields(self) -> dict[str, tuple[Any, Any]]:
        """Return default and default factory of each field, those of the bases first."""
        fields: dict[str, tuple[Any, Any]] = {}
        for base in reversed(self.cls.__mro__):
            if (pending := vars(base).get(PENDING)) is not None:
                for name, text in pending.annotations.items():
                    if not text.startswith("ClassVar"):
                        declared = pending.defaults.get(name, dataclasses.MISSING)
                        is_field = isinstance(declared, dataclasses.Field)
                        factory = declared.default_factory if is_field else dataclasses.MISSING
                        fields[name] = (declared.default if is_field else declared, factory)
        return fields

    def complete(self, init: bool = False) -> Any:
        """Give the class the fields of a twin of it that the standard decorator has processed, which is returned.

        The twin has a constructor, which is slow to compile, only if ``init`` asks for it.
        """
        own, annotations = vars(self.cls), dict(self.annotations)
        namespace = {"__annotations__": annotations, "__module__": self.cls.__module__, "__doc__": "a twin"}
        if "__post_init__" in own:
            namespace["__post_init__"] = own["__post_init__"]
        twin = type(self.cls)(self.cls.__name__, self.cls.__bases__, self.defaults | namespace)
        dataclasses.dataclass(**{**self._options, "init": init, "repr": False, "eq": False})(twin)
        for name in MADE_BY_STANDARD:
            setattr(self.cls, name, vars(twin)[name])
        return twin


class _OnRequest:
    """Class attribute that completes the class when it is read."""

    def __init__(self, pending: _Pending, name: str) -> None:
        self._pending, self._name = pending, name

    def __get__(self, instance: Any, owner: type) -> Any:
        cls, is_signature = self._pending.cls, self._name == "__signature__"
        twin = self._pending.complete(init=is_signature)
        if is_signature:  # inspect then takes that of the constructor
            cls.__init__ = twin.__init__  # type: ignore[misc]
            raise AttributeError(self._name)
        return vars(cls)[self._name]


def _declare(cls: type, options: dict[str, bool]) -> type:
    pending = _Pending(cls, options)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        pending.initialize(self, *args, **kwargs)

    attributes: dict[str, Any] = {PENDING: pending, "__init__": __init__}
    if options.get("repr", True) and "__repr__" not in vars(cls):
        attributes["__repr__"] = _repr
    if options.get("eq", True):
        attributes |= {"__eq__": _eq, "__hash__": _hash if options.get("frozen") else None}
    if options.get("frozen"):
        attributes |= {"__setattr__": _refuse_setattr, "__delattr__": _refuse_delattr}
    attributes |= {name: _OnRequest(pending, name) for name in (*MADE_BY_STANDARD, "__signature__")}
    for name, value in attributes.items():
        setattr(cls, name, value)
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a class a dataclass; the options are ``frozen``, ``eq`` and ``repr`` of the standard decorator.

        The bases are classes of this decorator, or no dataclasses.
        """
        if unknown := set(options) - {"frozen", "eq", "repr"}:
            raise TypeError(f"unsupported options {sorted(unknown)}: use dataclasses.dataclass")
        return _declare(cls, options) if cls is not None else lambda decorated: _declare(decorated, options)
