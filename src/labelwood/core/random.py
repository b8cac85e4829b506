"""Random streams: one seed, one independent stream for each tree or block."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None


def seed_sequence(random_state: object) -> np.random.SeedSequence:
    """The root of all streams of one fit.

    A generator (NumPy's new or old kind) is advanced by the draw of one seed, so
    that two fits in a row differ, as scikit-learn's users expect.
    """
    if isinstance(random_state, np.random.SeedSequence):
        # A new one, as spawning would change the caller's.
        return np.random.SeedSequence(
            random_state.entropy,
            spawn_key=random_state.spawn_key,
            pool_size=random_state.pool_size,
        )
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31)))
    if random_state is None:
        return np.random.SeedSequence()
    return np.random.SeedSequence(int(random_state))  # type: ignore[call-overload]


def kernel_states(random_state: object, n: int) -> list[NDArray[np.uint64]]:
    """`n` independent states for the generators of `core._kernels`.

    Examples
    --------
    >>> a, b = kernel_states(0, 2)
    >>> a.dtype, a.size, bool((a == b).any())
    (dtype('uint64'), 4, False)
    """
    children = seed_sequence(random_state).spawn(n)
    return [child.generate_state(4, np.uint64).astype(np.uint64, copy=False) for child in children]
