"""Labels and features of a model and of other data, matched by name."""

import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from labelwood.core.caller import user_stacklevel
from labelwood.core.names import count, shown
from labelwood.core.sparse import make_csr
from labelwood.core.types import CSR, AnyArray
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, LabelwoodWarning

_UNKNOWN_SHARE = 0.5
"""Data of which less than this share of the named features is known to the model are refused."""
_SEPARATORS = {";": ";", "|": "|", ",": ",", "/": "/", " ": "space"}
"""What usually stands between labels that were not split, and what it is called."""
_MISSING_SHARE = 0.05
"""A warning counts the features of the model that the data lack, if they are more than this."""


def label_names(dataset: Dataset) -> Sequence[str]:
    """Names of the labels; their indices where they have none."""
    if dataset.label_names is not None:
        return dataset.label_names
    return [str(label) for label in range(dataset.n_labels)]


def warn_of_alike_labels(names: Sequence[str]) -> None:
    """Warn of labels that differ only in case, or in blanks at their ends ("a; b" split at ";")."""
    known = set(names)
    padded = [name for name in names if name != name.strip() and name.strip() in known]
    if padded:
        one = len(padded) == 1
        verb, their = ("differs", "its") if one else ("differ", "their")
        _warn(
            f"{len(padded):,} of {len(names):,} labels {verb} from others only in blanks at "
            f"{their} ends ({padded[0]!r} from {padded[0].strip()!r}{'' if one else ', …'}) and "
            f"{'is' if one else 'are'} learned apart; strip the names."
        )
    _warn_of_case(names)


def _warn_of_case(names: Sequence[str]) -> None:
    if len({name.casefold() for name in names}) == len(names):
        return  # as most do, which is soon known
    folded = [name.casefold() for name in names]
    counts = Counter(folded)
    alike = [name for name, one in zip(names, folded, strict=True) if counts[one] > 1]
    first, second = [name for name in alike if name.casefold() == alike[0].casefold()][:2]
    pair, remedy = f"{shown(first)} and {shown(second)}", "write them alike if they mean the same."
    if len(alike) == 2:
        _warn(f"{pair} are two labels, which differ only in case; {remedy}")
        return
    _warn(
        f"{len(alike):,} of {count(len(names), 'label')} differ from others only in case "
        f"({pair}, …) and are learned apart; {remedy}"
    )


def _warn(message: str) -> None:
    warnings.warn(message, LabelwoodWarning, stacklevel=user_stacklevel())


def matched_labels(
    known_names: AnyArray, dataset: Dataset, *, may_be_new: bool = False
) -> tuple[CSR, list[str], int]:
    """The truth in the model's label order, unseen labels last, all names, and how many are unseen.

    Labels of a data set without names are the model's, when there are as many.
    """
    known = {name: column for column, name in enumerate(known_names.tolist())}
    names = list(known)
    place = np.empty(dataset.n_labels, dtype=np.int64)
    used = np.bincount(dataset.Y.indices, minlength=dataset.n_labels) > 0
    numbered = dataset.label_names is None and dataset.n_labels == len(names)
    for column, name in enumerate(list(names) if numbered else label_names(dataset)):
        if name not in known and used[column]:
            known[name] = len(names)
            names.append(name)
        place[column] = known.get(name, -1)
    unseen = len(names) - known_names.size
    if unseen and not may_be_new:
        n_used = int(np.count_nonzero(used))
        hint = _joined(names[-unseen:], set(known_names.tolist()), dataset)
        _warn_of_unseen(names[-unseen:], n_used, hint)
    Y = dataset.Y
    matched = make_csr(Y.indptr, place[Y.indices], Y.data, (len(dataset), len(names)))
    matched.sort_indices()
    return matched, names, unseen


def _joined(unseen: Sequence[str], known: set[str], dataset: Dataset) -> str:
    """A hint at the separator at which most of the unseen labels that hold it are known ones."""
    best, most = "", 0
    for mark in _SEPARATORS:
        joined = [name for name in unseen if mark in name]
        n = sum(known.issuperset(map(str.strip, name.split(mark))) for name in joined)
        if n > most and 2 * n > len(joined):
            best, most = mark, n
    if not best:
        return ""
    remedy = "lists of labels"
    if dataset.label_columns is not None:  # read from a table, or as a table is
        remedy = f"label_separator={_SEPARATORS[best]!r}"
    verb = "joins" if most == 1 else "join"
    return f"{most:,} of them {verb} known labels by {best!r}: give {remedy}"


def _warn_of_unseen(unseen: list[str], n_used: int, hint: str) -> None:
    if len(unseen) == n_used:
        remedy = hint or "were they read from their column, as by label_column?"
        raise DataError(
            f"The model knows none of the labels of the data ({unseen[0]!r}, …); {remedy}"
        )
    verb, they = ("was", "it") if len(unseen) == 1 else ("were", "they")
    _warn(
        f"{len(unseen):,} of {count(n_used, 'label')} {verb} never seen in training "
        f"({unseen[0]!r}{'' if len(unseen) == 1 else ', …'}); "
        f"{hint or f'{they} can only be missed'}."
    )


def features_by_name(X: CSR, names: Sequence[str], wanted: np.ndarray) -> CSR:
    """Columns of `X` in the order of `wanted`; features unknown to the model are left out."""
    if len(names) == wanted.size and np.array_equal(np.asarray(names), wanted):
        return X
    known = set(wanted.tolist())
    strangers = [name for name in names if name not in known]
    n_known = len(names) - len(strangers)
    n_missing = wanted.size - n_known
    if n_known < _UNKNOWN_SHARE * len(names):
        stranger = strangers[0]
        raise DataError(
            f"The model knows {n_known} of the {len(names)} features of the data (not "
            f"{stranger!r}, …): fewer than {_UNKNOWN_SHARE:.0%} is taken for other data."
        )
    if n_missing > _MISSING_SHARE * wanted.size or n_known < len(names):
        missing = np.setdiff1d(wanted, np.asarray(names))[:1].tolist()
        verb, counts, more = ("is", "counts", "") if n_missing == 1 else ("are", "count", ", …")
        _warn(
            f"{n_missing:,} of {count(wanted.size, 'feature')} of the model {verb} not in the data"
            f"{f' ({missing[0]!r}{more})' if missing else ''} and {counts} as 0; "
            f"{len(strangers):,} of {len(names):,} in the data "
            f"{'is' if len(strangers) == 1 else 'are'} unknown to the model."
        )
    return columns_by_name(X, names, wanted.tolist())


def columns_by_name(X: CSR, names: Sequence[str], wanted: Sequence[str]) -> CSR:
    """Columns of `X`, which are called `names`, in the order of `wanted`; others are left out.

    Examples
    --------
    >>> columns_by_name(sp.csr_array([[1.0, 2.0]]), ["a", "b"], ["b", "c"]).toarray().tolist()
    [[2.0, 0.0]]
    """
    place = {name: column for column, name in enumerate(wanted)}
    columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    kept = np.flatnonzero(columns >= 0)
    spread = sp.csr_array(
        (np.ones(kept.size, dtype=np.float32), (kept, columns[kept])),
        shape=(len(names), len(wanted)),
    )
    return sp.csr_array(X @ spread)
