"""How good predictions are, and how sure that is."""

from labelwood.core.propensity import Propensity, check_propensity
from labelwood.metrics import scorers
from labelwood.metrics.brier import brier_score, propensity_brier
from labelwood.metrics.evaluate import evaluate
from labelwood.metrics.fitted_propensity import fit_propensity
from labelwood.metrics.hierarchical import (
    any_wrong_loss,
    closed_sets,
    h_loss,
    hierarchical_f1,
)
from labelwood.metrics.intervals import (
    Interval,
    PerSample,
    bernstein_interval,
    bootstrap_interval,
    bootstrap_replicates,
    concentration_radius,
    guaranteed_interval,
    hoeffding_interval,
)
from labelwood.metrics.label_sets import (
    MatchedSets,
    f1_score,
    hamming_loss,
    matched_sets,
    propensity_hamming,
    subset_loss,
)
from labelwood.metrics.per_label import PerLabel
from labelwood.metrics.propensity import propensity
from labelwood.metrics.report import Evaluation, Figure
from labelwood.metrics.sensitivity import Sensitivity
from labelwood.metrics.topk import (
    RankedHits,
    f1_at_k,
    ndcg_at_k,
    precision_at_k,
    psgain_at_k,
    psndcg_at_k,
    psp_at_k,
    psrecall_at_k,
    ranked_hits,
    recall_at_k,
)

__all__ = [
    "Evaluation",
    "Figure",
    "Interval",
    "MatchedSets",
    "PerLabel",
    "PerSample",
    "Propensity",
    "RankedHits",
    "Sensitivity",
    "any_wrong_loss",
    "bernstein_interval",
    "bootstrap_interval",
    "bootstrap_replicates",
    "brier_score",
    "check_propensity",
    "closed_sets",
    "concentration_radius",
    "evaluate",
    "f1_at_k",
    "f1_score",
    "fit_propensity",
    "guaranteed_interval",
    "h_loss",
    "hamming_loss",
    "hierarchical_f1",
    "hoeffding_interval",
    "matched_sets",
    "ndcg_at_k",
    "precision_at_k",
    "propensity",
    "propensity_brier",
    "propensity_hamming",
    "psgain_at_k",
    "psndcg_at_k",
    "psp_at_k",
    "psrecall_at_k",
    "ranked_hits",
    "recall_at_k",
    "scorers",
    "subset_loss",
]
