"""Which feature set suits: a trial on a sample of the texts and their labels.

The learner of the trial is a few passes of one-vs-rest on the most frequent labels. It lives
here, and not in `labelwood.linear`, because data come before learners: what it has to tell is
only which of two feature sets ranks labels better, not how well they can be ranked.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from labelwood.core.parallel import parallel
from labelwood.core.random import seed_sequence
from labelwood.core.sparse import csr_arrays
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, PointerArray
from labelwood.data.text._trial_kernels import score_labels, train_labels
from labelwood.errors import DataError, ParameterError

# The sizes keep a trial to a few seconds, on long documents and on short ones.
_FEWEST_TEXTS = 200  # fewer cannot tell feature sets apart
# On goemotions, comments of a dozen words, sets of characters with and without word pairs differ
# by 0.4 points, which 4,000 texts find in two of three samples and 12,000 in all of them.
_MOST_TEXTS = 12_000
_MOST_CHARACTERS = 2_000_000
_MOST_LABELS = 64
_FOLDS = 2
_PATH = (0.5, 2.0)  # C, from strong to weak regularization, each from the solution before
# A pass over few texts is a small step: four passes over 2,000 comments of goemotions were so far
# from the solution that precision by words differed by five points from one sample to the next;
# after twelve it differs by one. Many texts, or long ones, are passed over four times.
_FEWEST_PASSES, _MOST_PASSES = 4, 12
_TEXTS_PASSED, _CHARACTERS_PASSED = 24_000, 8_000_000
_KS = (1, 3, 5)

_PRICE = 0.05
"""Points of precision that twice the non-zeros must bring, as they double all later costs."""


# Sets of characters take nearly all of the time. Where they do not pay beside words, which the
# cheapest of them tells, the others are not tried.
_MORE_CHARS = ("chars", "words+pairs+chars")
_ORDER = ("words", "words+pairs", "words+chars", *_MORE_CHARS)


class Trial(NamedTuple):
    """One feature set: held-out precision in percent, and non-zeros per text.

    `gain` is how many points the mean of P@1, P@3 and P@5 lies above that of the first feature set,
    less the standard `error` of that difference and less the price of the non-zeros.
    """

    features: str
    p1: float
    p3: float
    p5: float
    nonzeros: float
    gain: float
    error: float = 0.0


def choose_features(
    vectorize: Callable[[str, Sequence[Any]], CSR],
    texts: object,
    Y: CSR | None,
    random_state: object,
    n_jobs: int | None = None,
) -> tuple[str, list[dict[str, Any]]]:
    """The best feature set, and the table of the trials.

    `vectorize(features, texts)` makes the matrix of a feature set.
    """
    if Y is None:
        raise ParameterError("features='auto' needs the labels: fit(texts, y).")
    if not isinstance(texts, Collection):
        raise DataError("features='auto' reads the texts twice; put them in a list.")
    if len(texts) != Y.shape[0]:
        raise DataError(f"There are {len(texts)} texts and {Y.shape[0]} rows of labels.")
    rng = np.random.Generator(np.random.PCG64(seed_sequence(random_state)))
    # A column of a table is indexed by its labels, a list by numbers.
    texts = texts if isinstance(texts, Sequence | np.ndarray) else list(texts)
    sample = _sample(texts, Y, rng)
    signs = _signs(Y[sample])
    if sample.size < _FEWEST_TEXTS or signs.shape[1] < 2:
        return "words", []
    chosen = [texts[i] for i in sample]
    n_passes = _passes(chosen)
    trials: list[Trial] = []
    first: DoubleArray | None = None
    for features in _ORDER:
        if features in _MORE_CHARS and not _chars_may_pay(trials):
            continue
        try:
            X = vectorize(features, chosen)
        except DataError:
            continue  # no feature of this kind is frequent enough
        precision = _precision(X, signs, n_passes, n_jobs)
        means = precision.mean(axis=1)
        first = means if first is None else first
        nonzeros = X.nnz / X.shape[0]
        price = _PRICE * np.log2(nonzeros / trials[0].nonzeros) if trials else 0.0
        gain, error = _paired(means - first)
        p1, p3, p5 = precision.mean(axis=0).tolist()
        # A gain within its standard error may be luck, and is not worth the non-zeros.
        trials.append(Trial(features, p1, p3, p5, nonzeros, gain - error - price, error))
    if not trials:
        return "words", []
    best = max(trials, key=lambda trial: trial.gain)
    return best.features, [{**trial._asdict(), "taken": trial is best} for trial in trials]


def _paired(gains: DoubleArray) -> tuple[float, float]:
    """Mean and standard error; texts are paired, so that what is hard for all sets cancels."""
    return float(gains.mean()), float(gains.std() / np.sqrt(gains.size))


def _chars_may_pay(trials: Sequence[Trial]) -> bool:
    """Whether characters beside words gain what they cost, within the standard error."""
    beside = [trial for trial in trials if trial.features == "words+chars"]
    return not beside or beside[0].gain + 2 * beside[0].error > 0


def trial_table(trials: Sequence[Mapping[str, Any]]) -> str:
    """The trials for people to read.

    Examples
    --------
    >>> trial = Trial("words", 50.0, 30.0, 20.0, 12.25, 0.0)
    >>> print(trial_table([{**trial._asdict(), "taken": True}]))
    features           non-zeros  held-out P@1/3/5
    words                   12.2  50.0 / 30.0 / 20.0   <- taken
    """
    if not trials:
        return ""
    lines = [f"{'features':<18} {'non-zeros':>9}  held-out P@1/3/5"]
    for trial in trials:
        precision = " / ".join(f"{trial[key]:.1f}" for key in ("p1", "p3", "p5"))
        taken = "   <- taken" if trial["taken"] else ""
        lines.append(f"{trial['features']:<18} {trial['nonzeros']:>9.1f}  {precision}{taken}")
    return "\n".join(lines)


def _sample(texts: Any, Y: CSR, rng: np.random.Generator) -> PointerArray:
    """Texts that have a label, in random order, up to the limits of a trial."""
    labeled = np.flatnonzero(np.diff(Y.indptr) > 0)
    order = rng.permutation(labeled)[:_MOST_TEXTS]
    sizes = np.cumsum([_length(texts[i]) for i in order])
    return order[: max(int(np.searchsorted(sizes, _MOST_CHARACTERS)), min(order.size, 100))]


def _length(text: Any) -> int:
    """Characters of a text or of all its fields; what is no text is refused when it is read."""
    if isinstance(text, Mapping):
        return sum(map(_length, text.values()))
    return len(text) if isinstance(text, str | bytes) else 0


def _signs(Y: CSR) -> FloatArray:
    """±1 of the most frequent labels."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    # A label must be there in both folds to be learned and found.
    labels = np.argsort(-counts, kind="stable")[:_MOST_LABELS]
    labels = labels[counts[labels] >= 2]
    return np.asarray(2 * Y[:, labels].toarray() - 1, dtype=np.float32)


def _passes(texts: Sequence[Any]) -> int:
    """How often the learner passes over a sample, the same for all feature sets."""
    affordable = min(
        _TEXTS_PASSED // len(texts), _CHARACTERS_PASSED // max(1, sum(map(_length, texts)))
    )
    return min(max(affordable, _FEWEST_PASSES), _MOST_PASSES)


def _precision(X: CSR, signs: FloatArray, n_passes: int, n_jobs: int | None) -> DoubleArray:
    """Percent of P@1, P@3 and P@5 of each text that has a label, by cross-validation.

    C is that of the path where the mean of all is best.
    """
    arrays = csr_arrays(X)
    n, n_labels = signs.shape
    precision = np.zeros((len(_PATH), n, len(_KS)))

    def validate(fold: int) -> None:
        train = np.flatnonzero(np.arange(n) % _FOLDS != fold)
        test = np.flatnonzero(np.arange(n) % _FOLDS == fold)
        alpha = np.zeros((n, n_labels), np.float32)
        W = np.zeros((X.shape[1] + 1, n_labels), np.float32)
        for step, C in enumerate(_PATH):
            train_labels(arrays, train, signs, C, n_passes, alpha, W)
            precision[step, test] = _hits(score_labels(arrays, test, W), signs[test] > 0)

    parallel(validate, range(_FOLDS), n_jobs=n_jobs)
    # Texts without any of the labels were negatives to learn from, with nothing to find.
    found = 100 * precision[:, (signs > 0).any(axis=1)]
    best: DoubleArray = found[np.argmax(found.mean(axis=(1, 2)))]
    return best


def _hits(scores: FloatArray, truth: AnyArray) -> DoubleArray:
    """Precision at each k, by row."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, : max(_KS)]
    found = np.take_along_axis(truth, order, axis=1)
    return np.stack([found[:, :k].sum(axis=1) / k for k in _KS], axis=1)
