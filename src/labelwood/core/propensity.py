"""The propensity model of Jain, Prabhu and Varma, KDD 2016.

"Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking & Other Missing
Label Applications".
"""

import numpy as np

from labelwood.core.types import AnyArray, DoubleArray


def label_propensity(counts: AnyArray, n_points: int, a: float, b: float) -> DoubleArray:
    """p_l = 1/(1 + C (N_l + b)^(−a)), C = (ln N − 1)(b + 1)^a, from the labels' counts N_l.

    With N < e the formula would give p > 1; C is then 0 and every propensity 1.
    """
    C = max(np.log(n_points) - 1, 0) * (b + 1) ** a
    return np.asarray(1 / (1 + C * (counts + b) ** -a), dtype=np.float64)
