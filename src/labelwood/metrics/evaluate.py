"""All metrics of one prediction, with their intervals."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from labelwood.core.frames import frame_matrix, frame_names, is_frame, is_numbered
from labelwood.core.names import shown, some
from labelwood.core.params import RANDOM_STATE, Integer, Real, check_parameter
from labelwood.core.propensity import Propensity, check_propensity
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import DataError, ParameterError
from labelwood.metrics._inputs import check_truth, require_labels
from labelwood.metrics.hierarchical import closed_sets
from labelwood.metrics.intervals import (
    PerSample,
    bootstrap_replicates,
    percentile_interval,
    ratio,
)
from labelwood.metrics.label_sets import MatchedSets, matched_sets
from labelwood.metrics.report import Evaluation, Figure
from labelwood.metrics.sensitivity import Sensitivity, sensitivities
from labelwood.metrics.topk import RankedHits, ranked_hits

if TYPE_CHECKING:
    from labelwood.data.taxonomy import Taxonomy

__all__ = ["Evaluation", "evaluate"]


def evaluate(
    Y_true: object,
    ranking: TopK | CSR | None = None,
    labels: object = None,
    *,
    propensity: object = None,
    ks: Sequence[int] = (1, 3, 5),
    taxonomy: "Taxonomy | None" = None,
    label_names: Sequence[str] | None = None,
    delta: float = 0.05,
    n_bootstrap: int = 1000,
    random_state: object = 0,
) -> Evaluation:
    """Measure a ranking, predicted label sets, or both, against the truth.

    Parameters
    ----------
    Y_true : sparse matrix, array or table of shape (n, n_labels)
        Indicator of the true labels.
    ranking : TopK or sparse matrix of scores, optional
        Gives P, R, F1 and nDCG at each of `ks`; with `propensity` also PSP and PSnDCG.
    labels : sparse matrix, array or table of shape (n, n_labels), optional
        Indicator of the predicted labels; the columns of a table are matched by name. Gives F1
        (samples, micro, macro), precision and recall over all pairs, the share of samples
        without a label, Hamming and subset loss; with `propensity` also PS-Hamming; with
        `taxonomy` hierarchical F1 and the share of samples with any label wrong.
    propensity : Propensity, array of shape (n_labels,) or sparse matrix (n, n_labels), optional
        From `propensity(Y_train)`. A `Propensity` also tells how far PSP and PSnDCG depend
        on its constants, which an array of probabilities cannot. A sparse matrix has one for
        each sample and label, at least where `Y_true` has an entry; unless all pairs have one,
        the propensity-scored figures have no guaranteed interval.
    ks : sequence of int
    taxonomy : Taxonomy, optional
        Its nodes are matched with the labels by name where these have names (`label_names`, or
        the classes of a `TopK`), and by position otherwise.
    label_names : sequence of str, optional
        What the columns of `Y_true` are called; those of a table have their names, unless these
        are the numbers 0, 1, 2….
    delta : float
        Each interval is meant to miss with this probability.
    n_bootstrap : int
        Replicates of the bootstrap; 0 leaves it out.
    random_state : int, Generator or None
        Of the bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import TopK
    >>> Y_true = np.tile([[1, 0, 0], [0, 1, 1]], (500, 1))
    >>> top = TopK(np.tile([[0], [0]], (500, 1)), np.ones((1000, 1)))
    >>> print(evaluate(Y_true, top, ks=[1]))
    1,000 samples, 3 labels; percent, with 95 % intervals
            figure      guaranteed       bootstrap
    P@1      50.00  [45.32, 54.68]  [46.90, 53.10]
    R@1      50.00  [45.32, 54.68]  [46.90, 53.10]
    F1@1     50.00  [45.32, 54.68]  [46.90, 53.10]
    nDCG@1   50.00  [45.32, 54.68]  [46.90, 53.10]
    """
    check_parameter("evaluate", "delta", delta, Real(above=0, below=1))
    check_parameter("evaluate", "n_bootstrap", n_bootstrap, Integer(low=0))
    check_parameter("evaluate", "random_state", random_state, RANDOM_STATE)
    if label_names is None and is_frame(Y_true) and not is_numbered(Y_true):
        label_names = frame_names(Y_true)
    Y = check_truth(Y_true)
    require_labels(Y)
    by_label = None
    if propensity is not None and not sp.issparse(propensity):
        by_label = check_propensity(propensity, Y.shape[1])
    p = propensity if by_label is None else by_label
    names = _label_names(label_names, ranking, Y.shape[1])
    labels = labels if names is None else _by_name(labels, names)
    metrics: dict[str, PerSample | float] = {}
    sensitivity: tuple[Sensitivity, ...] = ()
    shown = labels
    if ranking is not None:
        ks = _check_ks(ks)
        hits = ranked_hits(Y, ranking, ks[-1], p, label_names=label_names)
        metrics |= _ranking_metrics(hits, ks)
        if isinstance(propensity, Propensity):
            sensitivity = tuple(sensitivities(hits, Y, propensity, ks))
        if labels is None:
            ones = np.ones_like(hits.labels, dtype=np.float32)
            shown = TopK(hits.labels, ones).to_csr(Y.shape[1])
    elif labels is None:
        raise DataError("There is nothing to evaluate: give a ranking, label sets, or both.")
    sets = matched_sets(Y, shown)
    if labels is not None:
        metrics |= _set_metrics(sets, p)
    if taxonomy is not None:
        metrics |= _taxonomy_metrics(Y, labels, _aligned(taxonomy, names))
    return Evaluation(
        figures=tuple(_figures(metrics, delta, n_bootstrap, random_state)),
        n_samples=Y.shape[0],
        n_labels=Y.shape[1],
        n_unlabeled=int(np.count_nonzero(np.diff(Y.indptr) == 0)),
        delta=float(delta),
        per_label=sets.per_label(names, by_label),
        sensitivity=sensitivity,
        tags_per_sample=None if labels is None else sets.predicted.nnz / max(Y.shape[0], 1),
        true_per_sample=Y.nnz / max(Y.shape[0], 1),
    )


def _ranking_metrics(hits: RankedHits, ks: Sequence[int]) -> dict[str, PerSample]:
    metrics = {"P": hits.precision, "R": hits.recall, "F1": hits.f1, "nDCG": hits.ndcg}
    if hits.gains is not None:
        metrics |= {"PSP": hits.psp, "PSnDCG": hits.psndcg}
    return {f"{name}@{k}": metric(k) for name, metric in metrics.items() for k in ks}


def _set_metrics(sets: MatchedSets, p: object) -> dict[str, PerSample | float]:
    metrics: dict[str, PerSample | float] = {
        "F1 samples": sets.f1_samples(),
        "F1 micro": sets.f1_micro(),
        "F1 macro": sets.f1_macro(),
        "precision": sets.precision_micro(),
        "recall": sets.recall_micro(),
        "without a tag": sets.without_labels(),
        "subset loss": sets.subset_loss(),
        "Hamming": sets.hamming(),
    }
    if p is not None:
        metrics["PS-Hamming"] = sets.propensity_hamming(p)
    return metrics


def _taxonomy_metrics(Y: CSR, labels: object, taxonomy: "Taxonomy") -> dict[str, PerSample]:
    if labels is None:
        raise DataError("The metrics of a taxonomy need label sets: pass labels=model.predict(X).")
    closed = closed_sets(Y, labels, taxonomy)
    return {"hierarchical F1": closed.f1_micro(), "any wrong": closed.subset_loss()}


def _aligned(taxonomy: "Taxonomy", names: Sequence[str] | None) -> "Taxonomy":
    """The taxonomy over the labels in their order; a label that is no node is a root."""
    if names is None:
        return taxonomy
    nodes = set(taxonomy.names)
    if not nodes.intersection(names):
        raise DataError(
            f"No label is a node of the taxonomy: the labels are {some(map(shown, names))}, "
            f"the nodes {some(map(shown, taxonomy.names))}."
        )
    return taxonomy.align(names, unknown="root")


def _figures(
    metrics: Mapping[str, PerSample | float], delta: float, n_bootstrap: int, random_state: object
) -> Iterator[Figure]:
    """Every metric with its intervals; one that is no sum over samples has none."""
    sums = {name: metric for name, metric in metrics.items() if isinstance(metric, PerSample)}
    resampled = {}
    if n_bootstrap:
        replicates = _replicates(list(sums.values()), n_bootstrap, random_state)
        resampled = {
            name: percentile_interval(column, delta)
            for name, column in zip(sums, replicates.T, strict=True)
        }
    for name, metric in metrics.items():
        if isinstance(metric, PerSample):
            guaranteed = metric.guaranteed(delta) if np.isfinite(metric.span) else None
            yield Figure(name, metric.value, guaranteed, resampled.get(name))
        else:
            yield Figure(name, metric, None, None)


def _replicates(metrics: list[PerSample], n_bootstrap: int, random_state: object) -> DoubleArray:
    """Bootstrap replicates, one column a metric, all on the same resampled rows."""
    tops = np.column_stack([metric.numerator for metric in metrics])
    bottoms = np.column_stack([metric.denominator for metric in metrics])
    return bootstrap_replicates(
        lambda drawn: ratio(drawn @ tops, drawn @ bottoms),
        tops.shape[0],
        n_bootstrap=n_bootstrap,
        random_state=random_state,
    )


def _check_ks(ks: Sequence[int]) -> list[int]:
    for k in ks:
        check_parameter("evaluate", "ks", k, Integer(low=1))
    if not len(ks):
        raise ParameterError("The 'ks' parameter of evaluate must name at least one k. Got none.")
    return sorted({int(k) for k in ks})


def _by_name(labels: object, names: Sequence[str]) -> object:
    """Predicted label sets, the columns of a table of them in the order of the truth's `names`.

    Labels that are numbered, in the table or in the truth, are matched by position.
    """
    numbered = list(names) == [str(column) for column in range(len(names))]
    if numbered or not is_frame(labels) or is_numbered(labels):
        return labels
    given = frame_names(labels)
    if set(given) != set(names):
        odd = sorted(set(given) ^ set(names))[0]
        raise DataError(
            f"The columns of the label sets must be those of the truth: {shown(odd)} is in one of "
            "them alone."
        )
    return frame_matrix(labels, names)


def _label_names(
    label_names: Sequence[str] | None, ranking: object, n_labels: int
) -> Sequence[str] | None:
    if label_names is None:
        known = ranking.classes if isinstance(ranking, TopK) else None
        if known is None or len(known) != n_labels:
            return None
        return [str(name) for name in known]
    if len(label_names) != n_labels:
        raise DataError(f"label_names has {len(label_names)} entries, Y_true {n_labels} labels.")
    return label_names
