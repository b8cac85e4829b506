"""The two decorators under which every Numba kernel of the package is compiled.

Kernels are single-threaded, release the GIL and are cached on disk. A cached
kernel is recompiled when its own file changes, not when a kernel that it calls
from another file does: `make clean` after such a change.
"""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

_F = TypeVar("_F", bound=Callable[..., object])


def kernel(function: _F) -> _F:
    """Compile `function` with fast arithmetic: it must not rely on NaN or infinities."""
    return cast(_F, njit(nogil=True, fastmath=True, cache=True)(function))


def exact_kernel(function: _F) -> _F:
    """Compile `function` with IEEE arithmetic, for code that meets NaN or infinities."""
    return cast(_F, njit(nogil=True, fastmath=False, cache=True)(function))
