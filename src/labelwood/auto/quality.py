"""How well a fitted model ranks the held-out samples of a part, by any objective."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelwood.linear.tuning import Part, Quality, quality_of_hits
from labelwood.metrics.label_sets import matched_sets
from labelwood.metrics.propensity import propensity
from labelwood.metrics.topk import ranked_hits

_KS = (1, 3, 5)


def quality_on(part: Part, model: Any, objective: str) -> Quality:
    """P@1, 3, 5 and the objective on the held-out samples of a part."""
    X, Y = part.X_held_out, part.Y_held_out
    top = model.predict_topk(X, max(_KS))
    by_precision = quality_of_hits(top.hits(Y))
    if objective == "P@k":
        return by_precision
    precisions = by_precision.precisions
    if objective == "micro-F1":
        return Quality(precisions, matched_sets(Y, model.predict(X)).f1_micro().value)
    weights = propensity(part.Y) if objective == "PSP@k" else None
    hits = ranked_hits(Y, top, top.k, weights)
    measure: Callable[[int], Any] = hits.psp if objective == "PSP@k" else hits.ndcg
    return Quality(precisions, float(np.mean([measure(min(k, top.k)).value for k in _KS])))
