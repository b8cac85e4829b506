"""Labels in any of the accepted forms, as one CSR indicator matrix and its classes."""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.caller import user_stacklevel
from labelwood.core.frames import frame_matrix, frame_names, is_frame
from labelwood.core.names import CONTROL_REFUSED, count, has_control, shown
from labelwood.core.sparse import checked_csr, make_csr
from labelwood.core.types import CSR, AnyArray, IndexArray
from labelwood.errors import DataError, LabelwoodWarning

_MAX_UNUSED_LABELS = 2**24


class EncodedLabels(NamedTuple):
    """`Y` is a float32 indicator of shape (n, len(classes))."""

    Y: CSR
    classes: AnyArray
    multilabel: bool


def has_unused_labels(n_labels: int, n_entries: int) -> bool:
    """Whether there are far more labels than are ever used, as where codes count as columns.

    Examples
    --------
    >>> has_unused_labels(98_000_000, 1_000), has_unused_labels(3_000_000, 1_000)
    (True, False)
    """
    return n_labels > _MAX_UNUSED_LABELS + 100 * n_entries


def check_label_space(Y: CSR) -> None:
    """Refuse to learn from far more labels than are ever used."""
    if has_unused_labels(Y.shape[1], Y.nnz):
        raise DataError(
            f"Y has {Y.shape[1]:,} labels, which are given {Y.nnz:,} times in all; are the numbers "
            "codes? Give a list of labels for each sample."
        )


def encode_labels(y: object) -> EncodedLabels:
    """Read labels of any accepted form.

    - a sparse matrix or a two-dimensional array of zeros and ones: classes are 0…L−1;
    - a table with a column of zeros and ones for each label, as `pandas.get_dummies` makes it:
      classes are the names of the columns;
    - a list of lists (tuples, sets) of names or numbers, or a Series or array of objects that
      holds them: classes are the sorted names;
    - a one-dimensional sequence: exactly one class for each sample, as in scikit-learn.

    Examples
    --------
    >>> Y, classes, multilabel = encode_labels([["owl", "cat"], [], ["cat"]])
    >>> Y.toarray().tolist(), classes.tolist(), multilabel
    ([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]], ['cat', 'owl'], True)
    """
    if sp.issparse(y):
        Y = indicator(y)
        return EncodedLabels(Y, np.arange(Y.shape[1]), True)
    if is_frame(y) and len(frame_names(y)) > 1:
        return EncodedLabels(indicator(frame_matrix(y)), np.asarray(frame_names(y)), True)
    y = plain_lists(y)
    if is_label_lists(y):
        lists = [list(labels) for labels in y]  # type: ignore[attr-defined]
        _refuse_nested_indicator(lists)
        names: set[object] = {name for labels in lists for name in labels}
        _refuse_control_characters(names)
        try:
            classes = sorted(names)  # type: ignore[type-var]
        except TypeError:
            kinds = ", ".join(sorted({type(name).__name__ for name in names}))
            raise DataError(f"Labels must be all names or all numbers. Got {kinds}.") from None
        Y = lists_to_indicator(lists, classes)
        return EncodedLabels(Y, np.asarray(classes, dtype=None if classes else np.int64), True)
    if isinstance(y, Sequence) or (isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1):
        _refuse_control_characters(y)  # before NumPy drops a final NUL
    try:
        array = np.asarray(y)
    except ValueError:  # neither all lists nor all names
        odd = next((i, one) for i, one in enumerate(y) if not is_label_lists([one]))  # type: ignore[arg-type, var-annotated]
        raise DataError(
            f"Every sample must have a list of labels. Got {odd[1]!r} for sample {odd[0]}."
        ) from None
    if array.ndim == 2 and array.shape[1] != 1:
        Y = indicator(array)
        return EncodedLabels(Y, np.arange(Y.shape[1]), True)
    return _encode_classes(array)


def _refuse_control_characters(names: Iterable[object]) -> None:
    for name in names:
        if isinstance(name, str) and has_control(name):
            raise DataError(f"Y holds {shown(name)}, {CONTROL_REFUSED}.")


def labels_with_samples(Y: CSR) -> IndexArray:
    """The labels that have a sample; a warning says how many have none."""
    labels = np.unique(Y.indices).astype(np.uint32)
    if labels.size < Y.shape[1]:
        n_empty = Y.shape[1] - labels.size
        verb, they = ("has", "it is") if n_empty == 1 else ("have", "they are")
        warnings.warn(
            f"{n_empty:,} of {count(Y.shape[1], 'label')} {verb} no sample; {they} never "
            "predicted.",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )
    return labels


def _refuse_nested_indicator(lists: list[list[object]]) -> None:
    """Refuse rows of zeros and ones, which would be taken for the labels 0 and 1."""
    width = len(lists[0])
    for labels in lists:
        if len(labels) != width or any(type(one) not in (int, bool) for one in labels):
            return
        if not {0, 1}.issuperset(labels):  # type: ignore[arg-type]
            return
    if width > 2:
        raise DataError(
            "Y looks like an indicator in nested lists, which are read as lists of labels. "
            "Give numpy.asarray(Y)."
        )


def _encode_classes(array: AnyArray) -> EncodedLabels:
    # scikit-learn takes a while to import, and reading data does not need it.
    from sklearn.utils import assert_all_finite
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    try:
        array = column_or_1d(array, warn=True)
        _refuse_odd_classes(array)
        if array.dtype.kind == "f":
            assert_all_finite(array, input_name="y")
        check_classification_targets(array)
    except ValueError as error:
        raise DataError(str(error)) from None
    classes, codes = np.unique(array, return_inverse=True)
    _refuse_control_characters(classes.tolist() if classes.dtype.kind == "U" else ())
    n = array.size
    Y = make_csr(np.arange(n + 1), codes, np.ones(n, dtype=np.float32), (n, classes.size))
    return EncodedLabels(Y, classes, False)


def _refuse_odd_classes(array: AnyArray) -> None:
    """Refuse classes that cannot be sorted: a missing one, bytes, names among numbers."""
    if array.dtype.kind not in "OS":
        return
    names = array.tolist()
    kind = str if names and isinstance(names[0], str) else object
    for sample, one in enumerate(names):
        if one is None or isinstance(one, bytes) or not isinstance(one, kind):
            raise DataError(
                f"Classes must be all names (str) or all numbers. Got {one!r} for sample {sample}."
            )


def is_label_lists(y: object) -> bool:
    """Whether `y` is a list of label lists (see `plain_lists` for arrays and columns of them)."""
    if isinstance(y, (str, bytes, np.ndarray)) or not isinstance(y, Sequence):
        return False
    return len(y) > 0 and all(isinstance(one, Collection) and not _is_no_list(one) for one in y)


def _is_no_list(value: object) -> bool:
    return isinstance(value, (str, bytes, np.ndarray, Mapping))


def plain_lists(y: object) -> object:
    """A list of lists, where `y` is a column of a table or an array of objects that holds lists.

    Everything else is returned as it is. Arrays in the place of lists, as Parquet readers give
    them, become lists too.

    Examples
    --------
    >>> column = np.empty(2, dtype=object)
    >>> column[:] = [["cat", "owl"], np.array(["cat"])]
    >>> plain_lists(column)
    [['cat', 'owl'], ['cat']]
    """
    values = y
    if hasattr(y, "to_numpy") and len(getattr(y, "shape", ())) == 1:
        values = y.to_numpy()  # a Series of pandas or polars
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        values = values.tolist()
    if not isinstance(values, list) or not values or isinstance(values[0], (str, bytes)):
        return y
    lists = [one.tolist() if _is_flat_array(one) else one for one in values]
    return lists if is_label_lists(lists) else y


def _is_flat_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OUSiu"


def indicator(Y: object, *, name: str = "Y") -> CSR:
    """A float32 CSR indicator matrix from a sparse matrix or an array of zeros and ones.

    Stored zeros are dropped; a label given twice to a sample counts once.
    """
    if sp.issparse(Y):
        matrix = checked_csr(Y, name)
    else:
        try:
            dense = np.asarray(Y)
        except ValueError:  # lists of different lengths
            dense = np.empty(0)
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise DataError(
                f"{name} must be a matrix of zeros and ones with a column for each label; "
                "of lists of labels a Dataset makes one (Dataset.from_lists(…).Y)."
            )
        matrix = sp.csr_array(dense)
    values = matrix.data
    bad = np.flatnonzero((values != 0) & (values != 1))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"{name} must hold zeros and ones. Got {values[bad[0]]:g} in row {row}, "
            f"label {matrix.indices[bad[0]]}."
        )
    if matrix.dtype == np.float32 and matrix.has_canonical_format and np.all(values):
        return matrix
    matrix = matrix.astype(np.float32)  # a copy: the caller's matrix stays as it is
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data[:] = 1
    return matrix


def lists_to_indicator(lists: Sequence[Collection[object]], classes: Sequence[object]) -> CSR:
    """Label lists as an indicator over `classes`; a name outside them is an error."""
    index = {name: i for i, name in enumerate(classes)}
    indptr = np.zeros(len(lists) + 1, dtype=np.int64)
    indices: list[int] = []
    for row, labels in enumerate(lists):
        try:
            indices.extend(sorted({index[name] for name in labels}))
        except KeyError as error:
            raise DataError(f"Sample {row} has the unknown label {error.args[0]!r}.") from None
        indptr[row + 1] = len(indices)
    data = np.ones(len(indices), dtype=np.float32)
    columns = np.asarray(indices, dtype=np.int32)
    return make_csr(indptr, columns, data, (len(lists), len(classes)))
