"""The two decorators under which every Numba kernel of the package is compiled.

Kernels are single-threaded, release the GIL and are cached on disk: beside the package, in the
user's cache directory, or in NUMBA_CACHE_DIR. A cached kernel is recompiled when its own file
changes, not when a kernel that it calls from another file does: `make clean` after such a change.

Where no directory is writable, kernels that were compiled before are still used from there, and
others are compiled in memory. The logger ``labelwood`` says when a process compiles for the first
time.
"""

import importlib
import logging
import os
import pkgutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast
from uuid import uuid4

from numba import njit, types
from numba.core import caching, event

_F = TypeVar("_F", bound=Callable[..., object])
_logger = logging.getLogger("labelwood")


def kernel(function: _F) -> _F:
    """Compile `function` with fast arithmetic: it must not rely on NaN or infinities."""
    return cast(_F, _compiled(function, fastmath=True))


def exact_kernel(function: _F) -> _F:
    """Compile `function` with IEEE arithmetic, for code that meets NaN or infinities."""
    return cast(_F, _compiled(function, fastmath=False))


def compile_seconds() -> float:
    """Seconds that this process has spent compiling kernels so far."""
    return _compilations.seconds


def caches_kernels() -> bool:
    """Whether compiled kernels are kept for other processes."""
    return _compilations.is_cached


def has_compiled_kernels(package: str) -> bool:
    """Whether a kernel of a package was compiled before, or it has none."""
    folder = importlib.import_module(package).__path__
    files = [one.name for one in pkgutil.iter_modules(folder) if one.name.endswith("_kernels")]
    indexes = []
    for module in (importlib.import_module(f"{package}.{name}") for name in files):
        for value in vars(module).values():
            cache = getattr(getattr(value, "_cache", None), "_cache_file", None)
            index = getattr(cache, "_index_path", None)  # Numba's internals may be others
            if index is not None and value.__module__ == module.__name__:
                indexes.append(index)
    # Some are not compiled in every training: one that was is enough.
    return not indexes or any(map(os.path.exists, indexes))


def _compiled(function: Callable[..., object], *, fastmath: bool) -> object:
    # No kernel is passed to another one, so wrappers for C callers would be compiled in vain.
    compiler: Any = partial(njit, nogil=True, fastmath=fastmath, no_cfunc_wrapper=True)
    dispatcher: Any
    try:
        dispatcher = compiler(cache=True)(function)
    except RuntimeError:  # no directory for the cache is writable
        dispatcher = compiler()(function)
        with suppress(RuntimeError, AttributeError):  # Numba's internals may be others
            dispatcher._cache = _ReadOnlyCache(function)  # type: ignore[no-untyped-call]
        _compilations.is_cached = False
    else:
        file = getattr(dispatcher._cache, "_cache_file", None)  # Numba's internals may be others
        if type(file) is caching.IndexDataCacheFile:
            file.__class__ = _SharedCacheFile
    _ignore_literals(dispatcher)
    return cast(object, dispatcher)


def _ignore_literals(dispatcher: Any) -> None:
    """Compile one kernel for all integers where other kernels call it.

    While Numba infers types, a variable that starts at 0 has the type "the literal 0", and a
    kernel that takes it would be compiled for that as well as for integers.
    """
    template, unliteral = dispatcher.get_call_template, cast(Any, types.unliteral)

    def without_literals(args: Any, kws: Any) -> Any:
        plain = {name: unliteral(kind) for name, kind in kws.items()}
        return template(tuple(unliteral(kind) for kind in args), plain)

    dispatcher.get_call_template = without_literals


class _Compilations(event.Listener):
    """Measures the time of compilations, and announces the first one."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_cached = True
        self._depth = 0
        self._start = 0.0

    def on_start(self, _: event.Event) -> None:
        if self.seconds == 0 and self._depth == 0:
            self._announce()
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1  # a kernel compiles those that it calls; Numba lets one thread in

    def on_end(self, _: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start

    def _announce(self) -> None:
        if self.is_cached:
            _logger.warning("compiling kernels, first run only (up to a minute)")
        else:
            _logger.warning(
                "compiling kernels in every process: no cache directory is writable; set "
                "NUMBA_CACHE_DIR to one, or run `labelwood warm-up` as a user who may write"
            )


_compilations = _Compilations()
event.register("numba:compile", _compilations)  # type: ignore[no-untyped-call]


class _SharedCacheFile(caching.IndexDataCacheFile):
    """A cache that several processes write at once.

    Numba numbers the files of a kernel, so that two processes could write different code under one
    number, and the index of the one would lead to the code of the other. Here each has a name that
    no other process takes, and is there before the index names it.
    """

    def save(self, key: Any, data: object) -> None:
        """Keep a compiled kernel."""
        overloads = self._load_index()  # type: ignore[no-untyped-call]
        name = overloads.get(key) or self._data_name(uuid4().int >> 65)  # type: ignore[no-untyped-call]
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        self._save_index({**overloads, key: name})  # type: ignore[no-untyped-call]


class _ReadOnlyLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """Kernels that were compiled before, where Numba would have put them."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        places = [os.path.join(os.path.dirname(file), "__pycache__")]
        if os.environ.get("NUMBA_CACHE_DIR"):
            subfolder = self.get_suitable_cache_subpath(file)  # type: ignore[no-untyped-call]
            places.insert(0, os.path.join(os.environ["NUMBA_CACHE_DIR"], subfolder))
        self._place = next((place for place in places if os.path.isdir(place)), places[-1])

    def ensure_cache_path(self) -> None:
        """Nothing is written there."""

    def get_cache_path(self) -> str:
        """The directory of the compiled kernels."""
        return self._place


class _ReadOnlyImplementation(caching.CompileResultCacheImpl):
    _locator_classes = [_ReadOnlyLocator]  # noqa: RUF012 - as its base declares it


class _ReadOnlyCache(caching.FunctionCache):
    """A cache that is read where that is possible, and never written."""

    _impl_class = _ReadOnlyImplementation

    def load_overload(self, sig: object, target_context: object) -> object:
        """A kernel that was compiled before, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except OSError:
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Nothing is written."""
