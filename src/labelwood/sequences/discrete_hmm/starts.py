"""Where EM starts for symbols and counts: stretches of steps that lean to a state."""

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.sequences.engine import Sequences


def random_blocks(data: Sequences, n_states: int, rng: np.random.Generator) -> DoubleArray:
    """Responsibilities to start from: short stretches of steps, each leaning to one state.

    Neighboring steps tend to share a state, so that stretches say more of it than single steps.
    """
    length = max(1, min(10, data.n_steps // (4 * n_states)))
    n_blocks = -(-data.n_steps // length)
    states = np.concatenate([np.arange(n_states), rng.integers(0, n_states, n_blocks)])[:n_blocks]
    rng.shuffle(states)
    return np.asarray((0.1 / n_states + 0.9 * np.eye(n_states))[np.repeat(states, length)])[
        : data.n_steps
    ]
