"""Rules that mimic what a model decides about one label."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from labelwood.core.types import CSR, AnyArray
from labelwood.errors import DataError
from labelwood.trees.rules.decision_tree import RuleTreeClassifier
from labelwood.trees.rules.rule_set import RuleSet, Share

_HELD_OUT = 3  # every third sample measures the fidelity
_WORDS_AT_ONCE = 2_048


@dataclass(frozen=True)
class Mimicry:
    """Rules and how often they decide as the model does, on samples that they have not seen."""

    rules: RuleSet
    fidelity: Share
    agreement_on_positives: Share

    def __str__(self) -> str:
        return (
            f"{self.rules}\n"
            f"fidelity: {self.fidelity} of {self.fidelity.n} held-out samples; "
            f"{self.agreement_on_positives} of those that the model gives the label"
        )


def mimic(
    decide: Callable[[CSR], AnyArray],
    X: CSR,
    label: str,
    feature_names: AnyArray | None,
    *,
    max_leaves: int = 12,
) -> Mimicry:
    """Grow a small tree on a model's own decisions about a label, and read it as rules.

    `decide` tells, for rows of features, whether the model gives them the label. A third of
    the rows is kept to measure how often rules and model agree.
    """
    answers = np.asarray(decide(X), dtype=bool)
    held_out = np.arange(X.shape[0]) % _HELD_OUT == 0
    if np.unique(answers[~held_out]).size < 2:
        what = "all" if answers.any() else "none"
        raise DataError(
            f"The model gives {label!r} to {what} of the samples; rules need samples of both kinds."
        )
    tree = RuleTreeClassifier(max_leaves=max_leaves, presence_features="all", min_samples_leaf=2)
    named = sp.csr_array(answers[:, None].astype(np.float32))
    tree.fit(X[~held_out], named[~held_out])
    tree.classes_ = np.array([label])
    rules = tree.rules(feature_names, label=label).simplify().rules
    predicted = rules.predict(X[held_out]) == 1
    truth = answers[held_out]
    same = int(np.count_nonzero(predicted == truth))
    on_positives = Share(int(np.count_nonzero(predicted & truth)), int(truth.sum()))
    return Mimicry(rules, Share(same, truth.size), on_positives)


def pseudo_documents(
    decide_scores: Callable[[CSR], AnyArray], n_features: int, n: int = 3_000, seed: int = 0
) -> CSR:
    """Rows to question a model with, where there are no data.

    Half of them have a few of the words that speak for the label by themselves; all have other
    words at random. They are no sample of any real text: fidelity on them is fidelity on them.
    """
    rng = np.random.default_rng(seed)
    # One row for each word alone, asked in blocks.
    scores = np.concatenate(
        [
            np.asarray(
                decide_scores(_single_words(start, min(start + 2_048, n_features), n_features))
            )
            for start in range(0, n_features, 2_048)
        ]
    )
    strongest = np.argsort(-scores, kind="stable")[: min(50, n_features)]
    rows = []
    for i in range(n):
        words = rng.choice(n_features, size=min(20, n_features // 4 + 1), replace=False)
        if i % 2:
            n_strong = int(rng.integers(1, min(6, strongest.size) + 1))
            words = np.union1d(words, rng.choice(strongest, size=n_strong, replace=False))
        rows.append(np.unique(words))
    indptr = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    lengths = np.sqrt(np.repeat([row.size for row in rows], [row.size for row in rows]))
    data = (1 / lengths).astype(np.float32)
    return sp.csr_array((data, np.concatenate(rows), indptr), shape=(n, n_features))


def _single_words(start: int, stop: int, n_features: int) -> CSR:
    n = stop - start
    parts = (np.ones(n, dtype=np.float32), np.arange(start, stop), np.arange(n + 1))
    return sp.csr_array(parts, shape=(n, n_features))
