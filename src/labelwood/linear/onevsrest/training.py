"""Linear classifiers for many labels by working sets: sixteen labels at a time, in threads.

Labels are grouped so that those of a block need similar samples. A block starts from its positive
samples and some random ones, is solved, scores all samples, adds those that score too high to its
working set, and is solved again, until hardly any sample would join (`working_sets.train_block`);
this module runs the blocks.
"""

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.lanes import WIDTH
from labelwood.core.memory import require_memory
from labelwood.core.parallel import parallel
from labelwood.core.propensity import Propensity
from labelwood.core.random import kernel_states
from labelwood.core.sparse import CSRArrays, compact_columns, csr_arrays, make_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray, IndexArray
from labelwood.errors import ParameterError
from labelwood.linear.l2svm import row_norms
from labelwood.linear.label_means import group_labels
from labelwood.linear.onevsrest.working_sets import Block, Problem, Settings, train_block

# Rows with more non-zeros than this on average share features of some weight with every block,
# so that looking them up by feature never pays (EURLEX57K has 230, short titles have 9).
SHORT_ROW = 64


def label_costs(
    C: float | AnyArray,
    propensity: str | AnyArray | Propensity | None,
    Y: CSR,
    owner: str = "OneVsRestSVM",
) -> tuple[DoubleArray, DoubleArray]:
    """The cost of an error on a positive and on a negative sample of each label: C/p_l and C.

    `owner` is the estimator that error messages name.
    """
    cost = _checked(owner, "C", C, Y.shape[1])
    return cost / label_propensities(propensity, Y, owner), cost


def label_propensities(
    propensity: str | AnyArray | Propensity | None, Y: CSR, owner: str
) -> DoubleArray:
    """The propensity of each label: 1 for None, estimated from Y, or as given."""
    n, n_labels = Y.shape
    if propensity is None:
        return np.ones(n_labels)
    if isinstance(propensity, str):
        propensity = Propensity(np.bincount(Y.indices, minlength=n_labels), n)
    values = _checked(owner, "propensity", propensity, n_labels)
    if values.size and values.max() > 1:
        raise ParameterError(
            f"The 'propensity' parameter of {owner} must hold probabilities ≤ 1. "
            f"Got {values.max():g} instead."
        )
    return values


def _checked(
    owner: str, name: str, values: float | AnyArray | Propensity, n_labels: int
) -> DoubleArray:
    array = np.asarray(values)
    if array.ndim == 0 and array.dtype.kind in "biuf":
        array = np.full(n_labels, array)
    if (
        array.dtype.kind not in "biuf"
        or array.shape != (n_labels,)
        or not np.all((array > 1e-30) & (array < 1e30))
    ):
        raise ParameterError(
            f"The {name!r} parameter of {owner} must hold a number > 0, neither tiny nor "
            f"huge, for each of {n_labels} labels. Got {_first_bad(array, n_labels)} instead."
        )
    return array.astype(np.float64)


def _first_bad(array: AnyArray, n_labels: int) -> str:
    if array.dtype.kind not in "biuf" or array.shape != (n_labels,):
        return f"{array.dtype} of shape {array.shape}"
    label = int(np.flatnonzero(~((array > 1e-30) & (array < 1e30)))[0])
    return f"{array[label]:g} for label {label}"


def train_labels(
    X: CSR,
    Y: CSR,
    labels: IndexArray,
    cost_positive: DoubleArray,
    cost_negative: DoubleArray,
    settings: Settings,
    *,
    random_state: object,
    n_jobs: int | None,
    held_out: IndexArray | None = None,
) -> list[Block]:
    """Train the columns `labels` of Y; costs are the C of positive and negative samples.

    With `held_out`, each block also has the classifiers that have not seen those rows.
    """
    if labels.size == 0:
        return []
    # The sixteen weights of a feature fill a cache line; numbering features by frequency keeps
    # the weights that are read most often close together.
    arrays, features = compact_columns(X, commonest_first=True)
    # Each thread holds the weights of a block in single and in double precision, and a few
    # numbers for each row and label.
    n_threads = min(joblib.effective_n_jobs(n_jobs), -(-labels.size // WIDTH))
    needed = n_threads * 4 * WIDTH * (3 * features.size + 4 * X.shape[0])
    require_memory(needed, f"training on {n_threads} threads", "lower n_jobs")
    norms = row_norms(arrays, settings.bias)
    members = csr_arrays(sp.csr_array(Y.T))
    problem = Problem(
        arrays, *_postings_of_rows(arrays, features.size), features, norms, members,
        cost_positive, cost_negative, _mask(held_out, X.shape[0]), [],
    )  # fmt: skip
    groups = group_labels(arrays, problem.members, features.size, labels, WIDTH)
    states = kernel_states(random_state, len(groups))

    def train(block: int) -> Block:
        return train_block(problem, groups[block], settings, states[block])

    pilots = [2**i - 1 for i in range(len(groups).bit_length())]
    done = dict(zip(pilots, parallel(train, pilots, n_jobs=n_jobs), strict=True))
    _require_model_memory(done, len(groups))
    todo = [block for block in range(len(groups)) if block not in done]
    results = parallel(
        train,
        todo,
        n_jobs=n_jobs,
        description="training labels",
        weights=[groups[block].size for block in todo],
    )
    done.update(zip(todo, results, strict=True))
    return [done[block] for block in range(len(groups))]


def _mask(rows: IndexArray | None, n: int) -> NDArray[np.bool_]:
    """Marks of some rows, or nothing at all."""
    mask = np.zeros(0 if rows is None else n, dtype=np.bool_)
    if rows is not None:
        mask[rows] = True
    return mask


def _postings_of_rows(X: CSRArrays, n_features: int) -> tuple[CSRArrays, bool, float, bool]:
    """The rows of each feature, if rows are short; `use_postings`, `max_row_l1`, `has_negative`."""
    n = X.indptr.size - 1
    if X.indices.size > SHORT_ROW * n:
        nothing = np.zeros(n_features + 1, dtype=np.int64)
        return CSRArrays(nothing, X.indices[:0], X.data[:0]), False, 0.0, False
    columns = sp.csc_array(make_csr(X.indptr, X.indices, X.data, (n, n_features)))
    pointers = columns.indptr.astype(np.int64)
    by_feature = CSRArrays(pointers, columns.indices.view(np.uint32), columns.data)
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    sums = np.bincount(rows, np.abs(X.data), minlength=n)
    max_row_l1 = float(sums.max(initial=0))
    # Without a non-zero there is nothing to look up, and a pass over the rows costs nothing.
    return by_feature, max_row_l1 > 0, max_row_l1, bool(X.data.min(initial=0) < 0)


def _require_model_memory(pilots: dict[int, Block], n_blocks: int) -> None:
    """Estimate the model from a few blocks; later blocks have rarer labels and fewer weights."""
    ends = [*list(pilots)[1:], n_blocks]
    spans = zip(pilots.items(), ends, strict=True)
    estimate = sum(block.weights.nbytes * (end - start) for (start, block), end in spans)
    # All blocks are held twice while they are concatenated.
    require_memory(
        int(2.2 * estimate), f"a model of {n_blocks} blocks of labels", "raise prune_below"
    )
