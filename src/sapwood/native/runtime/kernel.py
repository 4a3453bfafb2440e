"""The decorator that turns a plain Python function on arrays into a kernel.

A kernel with signatures can be called from anywhere; one without is called by other kernels only and is compiled into
them. How a call runs is chosen by ``SAPWOOD_KERNELS``: ``native`` (the library built with the package), ``jit`` (Numba)
or ``python`` (the function itself).

A kernel whose first arguments are ``member, members, sync`` can be run by a team (``native/threads/team.py``), each
thread with its own number. ``sync`` are the words of its barrier and lock (``kernels/threads/barrier.py``). Called
directly it runs as a team of one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.native.runtime.signature import Type, parse

MODES = ("native", "jit", "python")
TEAM_ARGUMENTS = ("member", "members", "sync")
SYNC_WORDS = 64

# A prepared call, to be run with the number of a member and the number of members; and what prepares it.
BoundCall = Callable[[int, int], None]
Launch = Callable[..., BoundCall]

REGISTRY: dict[str, Kernel] = {}
LAYOUTS: dict[str, type] = {}


def layout(cls: type) -> type:
    """Register a NamedTuple, so that kernel signatures can name it."""
    LAYOUTS[cls.__name__] = cls
    return cls


def mode() -> str:
    """Return how kernels run in this process: ``native``, ``jit`` or ``python``."""
    chosen = os.environ.get("SAPWOOD_KERNELS", "native")
    if chosen not in MODES:
        raise ValueError(f"SAPWOOD_KERNELS must be one of {', '.join(MODES)}, got {chosen!r}")
    return chosen


def new_sync() -> np.ndarray:
    """Return the synchronisation words of a team: barrier, lock and abort flag."""
    return np.zeros(SYNC_WORDS, dtype=np.int64)


# A team of one never waits at a barrier, so that all such teams can share their words.
SERIAL_SYNC = new_sync()


class Kernel:
    """A function on arrays with the types it accepts; calling it runs it in the chosen mode."""

    def __init__(self, function: Callable[..., Any], signatures: tuple[str, ...], noinline: bool = False) -> None:
        self.function = function
        self.noinline = noinline
        self.name = function.__name__
        self.signatures = signatures
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        self.takes_team = names[:3] == TEAM_ARGUMENTS
        self.is_entry = bool(signatures)
        self._launch: Launch | None = None
        self._repeat: Callable[..., BoundCall] | None = None

    @cached_property
    def variants(self) -> tuple[tuple[Type, ...], ...]:
        """Types of the arguments in each signature."""
        return tuple(parse(text, LAYOUTS) for text in self.signatures)

    @cached_property
    def _distinguishing(self) -> list[int]:
        return _distinguishing_arguments(self.variants)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def __call__(self, *args: Any) -> Any:
        """Run on this thread alone."""
        if not self.is_entry:
            return self.function(*args)  # called by another kernel in python mode, or by a test of that mode
        if self.takes_team and len(args) == len(self.variants[0]):
            self.bind(SERIAL_SYNC, *args)(0, 1)
        elif mode() == "python":
            return _without_warnings(self.function)(*args)
        else:
            self.bind(*args)(0, 1)
        return None

    def variant_of(self, args: tuple[Any, ...]) -> int:
        """Return the number of the signature that these arguments match."""
        if len(self._distinguishing) > 0 and len(args) == len(self.variants[0]):
            for number, types in enumerate(self.variants):
                if all(types[i].matches(args[i]) for i in self._distinguishing):
                    return number
        for number, types in enumerate(self.variants):
            if len(types) == len(args) and all(t.matches(a) for t, a in zip(types, args, strict=True)):
                return number
        raise TypeError(f"{self.name}: no signature among {self.signatures} matches {[_describe(a) for a in args]}")

    def bind(self, *args: Any) -> BoundCall:
        """Prepare a call with these arguments, to be run once by every member: ``call(member, members)``.

        A team kernel's first argument here is the team's ``sync`` array.
        """
        return (self._launch or self._prepare())(*args)

    def _prepare(self) -> Launch:
        self._launch = launch = _launcher(self)
        self._repeat = getattr(launch, "repeat", None)
        return launch

    def rebind(self, last: Any, args: tuple[Any, ...]) -> BoundCall:
        """Prepare a call in the block of the ``last`` one from here, which has ended (None for the first call)."""
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
    """A kernel that one thread calls repeatedly, mostly with the same arguments; ``Team.run`` takes it as a kernel.

    Arguments that are the same objects as in the last call are not packed again. The last ones are kept alive.
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

    def bind(self, *args: Any) -> BoundCall:
        """Prepare a call; the one before must have ended."""
        self._last = self._kernel.rebind(self._last, args)
        return self._last


class CallCache:
    """Runs kernels through ``run`` and keeps a ``RepeatedCall`` of each, so that equal arguments are packed once."""

    def __init__(self, run: Callable[..., None]) -> None:
        self._run = run
        self._calls: dict[str, RepeatedCall] = {}

    def __call__(self, kernel: Kernel, *args: Any) -> None:
        """Run a kernel."""
        call = self._calls.get(kernel.name)
        if call is None:
            call = self._calls[kernel.name] = RepeatedCall(kernel)
        self._run(call, *args)


def _distinguishing_arguments(variants: tuple[tuple[Type, ...], ...]) -> list[int]:
    """Return the positions of the arguments whose types differ among variants."""
    if len({len(types) for types in variants}) != 1:
        return []
    return [i for i, kinds in enumerate(zip(*variants, strict=True)) if len(set(kinds)) > 1]


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{value.ndim}]"
    return type(value).__name__


def _launcher(kernel: Kernel) -> Launch:
    chosen = mode()
    if chosen == "native":
        from sapwood.native.runtime.kernel_calls import Launcher

        return Launcher(kernel)
    if chosen == "jit":
        from sapwood.native.compiler.numba import dispatcher

        function = dispatcher(kernel)
    else:
        function = _without_warnings(kernel.function)

    def launch(*args: Any) -> BoundCall:
        if not kernel.takes_team:
            kernel.variant_of(args)
            return lambda member, members: function(*args)
        kernel.variant_of(args[1:])
        return lambda member, members: function(member, members, *args)

    return launch


def _without_warnings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let integers wrap and floats follow IEEE without warnings, as in compiled code."""

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return run


def kernel(*signatures: str, noinline: bool = False) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare a kernel with some signatures (see ``signature.py``). With none, only other kernels may call it.

    With ``noinline`` it is never inlined into its callers: a hot loop then has all registers to itself.
    """

    def decorate(function: Callable[..., Any]) -> Kernel:
        declared = Kernel(function, signatures, noinline)
        if declared.name in REGISTRY and REGISTRY[declared.name].function.__module__ != function.__module__:
            raise TypeError(f"two kernels are named {declared.name}")
        REGISTRY[declared.name] = declared
        return declared

    return decorate
