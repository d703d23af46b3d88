"""How a kernel runs: interpreted by Python, or compiled by Numba.

A kernel is a Python function over arrays and addresses. Numba compiles it to machine code. That takes seconds the first
time; later it is loaded from a cache on disk (beside the source, or where Numba keeps caches if that folder is not
writable; if neither is, every process compiles, and logs a warning; a change of any kernel makes all of it stale). But
loading Numba alone takes half a second and 80 MB, and a small program is done before that. So a kernel is
**interpreted** at first: Python runs it, on the same arrays and with the same results, and there is nothing to convert
when it is compiled later. `Kernel` decides by one rule, for each kernel and call:

- A call with much work is compiled: more than `most` of `work`, by default `MOST_ITEMS` items of all arrays together.
- A kernel that has been interpreted for about as long as it takes to compile it is compiled: after `PATIENCE` seconds,
  or its own `patience`; earlier if it is in the cache, after `PATIENCE_IF_CACHED` once Numba is loaded.
- An interpreted call that turns out to be long raises `Outgrown`. It has changed nothing, and is made again, compiled.

The environment variable `DELTALOG_KERNELS` is `auto` (this rule), `compile` (compile every kernel on first use) or
`interpret` (compile none).

The two forms of a kernel are functions with namespaces of their own. In the compiled one (`dispatcher`), the names of
other kernels are Numba's dispatchers. In the interpreted one (`interpreted`), they are Python functions, and words of
64 bits are Python's integers (`kernels.plain_numbers`). A kernel that small programs call, and that would be slow as it
is written, has a second version for Python: the function of the same name in the module of the same name in
`kernels.interpreted`. It must save the loading of Numba in a run that would not load it otherwise.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Namespace = dict[str, Any]

SETTING = "DELTALOG_KERNELS"
AUTO, INTERPRET, COMPILE = "auto", "interpret", "compile"

MOST_ITEMS = 1 << 12  # at about a microsecond each
MOST_ITEMS_BY_NUMPY = 1 << 17  # at about ten nanoseconds each
PATIENCE = 0.25  # seconds: compiling a kernel takes 0.2 to 3 s, loading Numba 0.5 s
PATIENCE_IF_CACHED = 0.02  # loading a compiled kernel takes 10 to 50 ms

CALLED = {"nogil": True, "cache": True}  # options of Numba for kernels that others call
KERNELS: list[Kernel] = []
_chosen = ""
_interpreted: dict[str, Namespace] = {}
_compiled: dict[str, Namespace] = {}
loading = threading.RLock()  # held while Numba or a module of kernels is imported; a fork waits for it


class Outgrown(Exception):
    """An interpreted call has more work than was expected; it has changed nothing."""


def setting() -> str:
    """How kernels run."""
    how = _chosen or os.environ.get(SETTING) or AUTO
    if how not in (AUTO, INTERPRET, COMPILE):
        raise ValueError(f"{SETTING}={how}: expected {AUTO}, {INTERPRET} or {COMPILE}")
    return how


def choose(how: str) -> None:
    """How kernels run in this process from now on, whatever the environment says, as if none had been called yet."""
    global _chosen
    _chosen = how
    for each in KERNELS:
        each.start_over()


def outgrown(work: int, most: int) -> None:
    """Gives up on an interpreted call that has much work, unless all kernels are interpreted."""
    if work > most and setting() != INTERPRET:
        raise Outgrown


def items(*arguments: Any) -> int:
    """The number of items of all arrays, also of those in tuples."""
    count = 0
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            count += argument.size
        elif isinstance(argument, tuple):
            count += items(*argument)
    return count


def form(work: Callable[..., int] = items, most: int = MOST_ITEMS, patience: float = PATIENCE) -> Callable[[F], F]:
    """The form that Python runs, of a kernel or of its version for Python: it runs if a call has no more than so much
    work, and for about so many seconds in all: as long as it takes to compile it."""

    def with_limit(function: F) -> F:
        function.work, function.most, function.patience = work, most, patience  # type: ignore[attr-defined]
        return function

    return with_limit


by_numpy = form(most=MOST_ITEMS_BY_NUMPY)  # for versions without loops of Python over items


class Kernel:
    """A function that is interpreted or compiled; `run` is what a call calls."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.start_over()
        KERNELS.append(self)

    def __call__(self, *arguments: Any) -> Any:
        return self.run(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__.removeprefix('deltalog.kernels.')}.{self.__name__}>"

    def start_over(self) -> None:
        """As if it had not been called yet."""
        self.run: Callable[..., Any] = self._first
        self.seconds = 0.0  # that it was interpreted
        self._cached: bool | None = None

    def compile(self) -> None:
        """From now on, calls are compiled."""
        if self.options != CALLED:
            raise TypeError(f"{self} can be called by kernels only")
        self.run = self.dispatcher

    @property
    def interpreted(self) -> Callable[..., Any]:
        """The form that Python runs."""
        return _interpreted_namespace(self.__module__)[self.__name__]  # type: ignore[no-any-return]

    @property
    def straight(self) -> Callable[..., Any]:
        """The function as it is written, for a version that prepares its arguments."""
        return _copy(self.function, _interpreted_namespace(self.__module__))

    @property
    def dispatcher(self) -> Callable[..., Any]:
        """The form that Numba compiles, for each combination of types of arguments."""
        return _compiled_namespace(self.__module__)[self.__name__]  # type: ignore[no-any-return]

    def _first(self, *arguments: Any) -> Any:
        form = self.interpreted
        self._form, self._work, self._most = form, getattr(form, "work", items), getattr(form, "most", MOST_ITEMS)
        self._patience = getattr(form, "patience", PATIENCE)
        self.run = {COMPILE: self._compiled, INTERPRET: form}.get(setting(), self._measured)
        return self.run(*arguments)

    def _compiled(self, *arguments: Any) -> Any:
        self.compile()
        return self.run(*arguments)

    def _measured(self, *arguments: Any) -> Any:
        if self._work(*arguments) > self._most or (self.seconds > PATIENCE_IF_CACHED and self._is_due()):
            return self._compiled(*arguments)
        started = time.perf_counter()
        try:
            return self._form(*arguments)
        except Outgrown:
            pass
        finally:
            self.seconds += time.perf_counter() - started
        return self._compiled(*arguments)

    def _is_due(self) -> bool:
        """Whether it has been interpreted for as long as it would take to compile or to load it."""
        if self._cached is None and ("numba" in sys.modules or self.seconds > PATIENCE):
            self._cached = self._is_cached()
        return bool(self._cached) or self.seconds > self._patience

    def _is_cached(self) -> bool:
        """Whether the cache has the kernel, for some types of arguments."""
        folder = self.dispatcher.stats.cache_path  # type: ignore[attr-defined]
        line = self.function.__code__.co_firstlineno
        return folder is not None and any(Path(folder).glob(f"*.{self.__name__}-{line}.*.nbi"))


class Instruction(Kernel):
    """A kernel that is one piece of LLVM code when it is compiled: that of its name in `kernels.instructions`."""


def kernel(function: Callable[..., Any]) -> Kernel:
    """A function that others call. Compiled, it is cached on disk, and lets other threads run."""
    return Kernel(function, CALLED)


def inner(function: Callable[..., Any]) -> Kernel:
    """A function that only kernels call."""
    return Kernel(function, {"nogil": True, "no_cpython_wrapper": True})


def inlined(function: Callable[..., Any]) -> Kernel:
    """A single expression, put into its callers before types are known."""
    return Kernel(function, {"inline": "always"})


def merged(function: Callable[..., Any]) -> Kernel:
    """A function that LLVM puts into its callers."""
    return Kernel(function, {"nogil": True, "no_cpython_wrapper": True, "forceinline": True})


def instruction(function: Callable[..., Any]) -> Kernel:
    """The interpreted form of a piece of LLVM code."""
    return Instruction(function, {})


# Namespaces.


def _interpreted_namespace(module: str) -> Namespace:
    found = _interpreted.get(module)
    return _interpreted.setdefault(module, _with_python(module)) if found is None else found


def _with_python(module: str) -> Namespace:
    """The names of a module, with Python's numbers and functions."""
    with loading:
        from deltalog.kernels.plain_numbers import plain
    names, versions = vars(sys.modules[module]), _versions(module)
    space = {name: plain(value) for name, value in names.items() if not isinstance(value, Kernel)}
    for name, value in names.items():
        if isinstance(value, Kernel):
            own = value.__module__ == module
            space[name] = (versions.get(name) or _copy(value.function, space)) if own else value.interpreted
    return space


def _versions(module: str) -> Namespace:
    """The versions of a module's kernels that are written for Python."""
    try:
        with loading:
            return vars(importlib.import_module(module.replace(".kernels.", ".kernels.interpreted.")))
    except ModuleNotFoundError:
        return {}


def _copy(function: Callable[..., Any], space: Namespace) -> Callable[..., Any]:
    """A function with another namespace, and with the limits that `form` gave it."""
    copy = FunctionType(function.__code__, space, function.__name__, function.__defaults__)
    vars(copy).update(vars(function))
    return copy


def _compiled_namespace(module: str) -> Namespace:
    found = _compiled.get(module)
    return _compiled.setdefault(module, _with_dispatchers(module)) if found is None else found


def _with_dispatchers(module: str) -> Namespace:
    """The names of a module, with Numba's dispatchers."""
    with loading:
        from deltalog.kernels import instructions
    names = vars(sys.modules[module])
    space = dict(names)
    for name, value in names.items():
        if isinstance(value, Instruction):
            space[name] = getattr(instructions, value.__name__)
        elif isinstance(value, Kernel):
            own = value.__module__ == module
            space[name] = _dispatcher(instructions.njit, value, space) if own else value.dispatcher
    return space


def _dispatcher(njit: Any, kernel: Kernel, space: Namespace) -> Any:
    options = {option: value for option, value in kernel.options.items() if option != "cache"}
    dispatcher = njit(**options)(_copy(kernel.function, space))
    if kernel.options.get("cache"):
        _enable_cache(dispatcher)
    return dispatcher


def _enable_cache(dispatcher: Any) -> None:
    """Keeps compiled code on disk; a folder that cannot be written, or no longer, is no reason to fail."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # Numba finds no folder
        CACHE.give_up("neither the folder of the package nor the user's cache folder can be written")
        return
    cache = dispatcher._cache
    cache._cache_file._source_stamp = kernel_sources()
    save = cache.save_overload

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as problem:
            CACHE.give_up(str(problem))

    cache.save_overload = save_if_possible


@lru_cache(maxsize=1)
def kernel_sources() -> str:
    """A digest of the source of all kernels. Compiled code has inner kernels of other files in it, so a change of any
    file makes all of the cache stale; Numba by itself looks at the file of the outer kernel only."""
    digest = blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class KernelCache:
    """Whether compiled kernels are kept on disk, and why not."""

    def __init__(self) -> None:
        self.problem = ""

    def give_up(self, problem: str) -> None:
        """Logs the first problem."""
        if not self.problem:
            self.problem = problem
            logging.getLogger("deltalog").warning(NOT_KEPT, problem)


NOT_KEPT = (
    "compiled kernels cannot be kept on disk (%s), so every process compiles them again, which takes some seconds; "
    "set NUMBA_CACHE_DIR to a folder that can be written"
)
CACHE = KernelCache()
