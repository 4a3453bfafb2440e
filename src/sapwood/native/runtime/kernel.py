"""The decorator that turns a plain Python function on arrays into a kernel.

A kernel with signatures can be called from anywhere; one without is called by other kernels only and is compiled into
them. How a call runs is chosen by ``SAPWOOD_KERNELS``: ``native`` (the library built with the package), ``jit`` (Numba)
or ``python`` (the function itself).

A kernel whose first arguments are ``member, members, sync`` can be run by a whole team (see ``team.py``), each thread
with its own number. Called directly it is a team of one.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sapwood.native.runtime import signature as signatures

MODES = ("native", "jit", "python")
TEAM_ARGUMENTS = ("member", "members", "sync")
SYNC_WORDS = 64

REGISTRY: dict[str, Kernel] = {}
LAYOUTS: dict[str, type] = {}


def layout(cls: type) -> type:
    """Make a NamedTuple known to kernel signatures by its name."""
    LAYOUTS[cls.__name__] = cls
    return cls


def mode() -> str:
    """How kernels run in this process."""
    chosen = os.environ.get("SAPWOOD_KERNELS", "native")
    if chosen not in MODES:
        raise ValueError(f"SAPWOOD_KERNELS must be one of {', '.join(MODES)}, got {chosen!r}")
    return chosen


def new_sync() -> np.ndarray:
    """The words through which the members of a team meet."""
    return np.zeros(SYNC_WORDS, dtype=np.int64)


# A team of one never meets.
SERIAL_SYNC = new_sync()


class Kernel:
    """A function on arrays with the types it accepts; calling it runs it in the chosen mode."""

    def __init__(self, function: Callable[..., Any], texts: tuple[str, ...], noinline: bool = False) -> None:
        self.function = function
        self.noinline = noinline
        self.name = function.__name__
        self.texts = texts
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        names = tuple(inspect.signature(function).parameters)
        self.takes_team = names[:3] == TEAM_ARGUMENTS
        self.is_entry = bool(texts)
        self.variants = tuple(signatures.parse(text, LAYOUTS) for text in texts)
        self._deciding = _deciding_arguments(self.variants)
        self._launch: Callable[..., Callable[[int, int], None]] | None = None
        self._repeat: Callable[..., Callable[[int, int], None]] | None = None

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def __call__(self, *args: Any) -> Any:
        """Run on this thread alone."""
        if not self.is_entry:
            return self.function(*args)  # called by another kernel in python mode, or by a test of that mode
        if self.takes_team and len(args) == len(self.variants[0]):
            self.bind(SERIAL_SYNC, *args)(0, 1)
        elif mode() == "python":
            return _quiet(self.function)(*args)
        else:
            self.bind(*args)(0, 1)
        return None

    def variant_of(self, args: tuple[Any, ...]) -> int:
        """The number of the signature that these arguments fit."""
        if len(self._deciding) > 0 and len(args) == len(self.variants[0]):
            for number, types in enumerate(self.variants):
                if all(types[i].matches(args[i]) for i in self._deciding):
                    return number
        for number, types in enumerate(self.variants):
            if len(types) == len(args) and all(t.matches(a) for t, a in zip(types, args, strict=True)):
                return number
        raise TypeError(f"{self.name}: no signature among {self.texts} fits {[_describe(a) for a in args]}")

    def bind(self, *args: Any) -> Callable[[int, int], None]:
        """Prepare a call with these arguments, to be made once by every member: ``bound(member, members)``.

        A team kernel's first argument here is the team's ``sync`` array.
        """
        return (self._launch or self._prepare())(*args)

    def _prepare(self) -> Callable[..., Callable[[int, int], None]]:
        self._launch = made = _launcher(self)
        self._repeat = getattr(made, "repeat", None)
        return made

    def rebind(self, last: Any, args: tuple[Any, ...]) -> Callable[[int, int], None]:
        """Prepare a call in the place of the ``last`` one that came from here (None at first) and is over."""
        launch = self._launch or self._prepare()
        return launch(*args) if self._repeat is None else self._repeat(last, args)


class Run(Protocol):
    """A function that runs a kernel on some threads and waits for them, such as ``Team.run``."""

    def __call__(self, kernel: Kernel, /, *args: Any) -> None:
        """Run a kernel with these arguments."""


def run_serial(kernel: Kernel, *args: Any) -> None:
    """Run a kernel on this thread; the default wherever a function takes ``run``."""
    kernel(*args)


class RepeatedCall:
    """A kernel that one thread runs again and again, mostly with the same arguments; it stands for it in ``Team.run``.

    Arguments that are the same objects as last time are not looked at again. The last ones are kept as long as this is.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.name = kernel.name
        self.takes_team = kernel.takes_team
        self._sync = (SERIAL_SYNC,) if kernel.takes_team else ()
        self._last: Any = None

    def __call__(self, *args: Any) -> None:
        """Run on this thread alone."""
        self._last = call = self._kernel.rebind(self._last, self._sync + args)
        call(0, 1)

    def bind(self, *args: Any) -> Callable[[int, int], None]:
        """Prepare a call; the one before must be over."""
        self._last = self._kernel.rebind(self._last, args)
        return self._last


class CallCache:
    """Runs kernels one after the other through ``run``, each of them mostly with the arguments of its last time."""

    def __init__(self, run: Callable[..., None]) -> None:
        self._run = run
        self._kept: dict[str, RepeatedCall] = {}

    def __call__(self, kernel: Kernel, *args: Any) -> None:
        """Run a kernel."""
        kept = self._kept.get(kernel.name)
        if kept is None:
            kept = self._kept[kernel.name] = RepeatedCall(kernel)
        self._run(kept, *args)


def _deciding_arguments(variants: tuple[tuple[signatures.Type, ...], ...]) -> list[int]:
    """The arguments whose types differ among variants."""
    if len({len(types) for types in variants}) != 1:
        return []
    return [i for i, kinds in enumerate(zip(*variants, strict=True)) if len(set(kinds)) > 1]


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{value.ndim}]"
    return type(value).__name__


def _launcher(kernel: Kernel) -> Callable[..., Callable[[int, int], None]]:
    chosen = mode()
    if chosen == "native":
        from sapwood.native.runtime import library as load

        return load.Launcher(kernel)
    if chosen == "jit":
        from sapwood.native.compiler import numba as compile

        function = compile.dispatcher(kernel)
    else:
        function = _quiet(kernel.function)

    def launch(*args: Any) -> Callable[[int, int], None]:
        if not kernel.takes_team:
            kernel.variant_of(args)
            return lambda member, members: function(*args)
        kernel.variant_of(args[1:])
        return lambda member, members: function(member, members, *args)

    return launch


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Integers wrap and floats follow IEEE without a word, as in compiled code."""

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return run


def kernel(*texts: str, noinline: bool = False) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare a kernel; each text is one signature (see ``signature.py``). With none, only kernels may call it.

    With ``noinline`` it is never inlined into its callers: a hot loop then has all registers to itself.
    """

    def decorate(function: Callable[..., Any]) -> Kernel:
        made = Kernel(function, texts, noinline)
        if made.name in REGISTRY and REGISTRY[made.name].function.__module__ != function.__module__:
            raise TypeError(f"two kernels are named {made.name}")
        REGISTRY[made.name] = made
        return made

    return decorate
