"""Vectors of texts as a pandas table of sparse columns, where `set_output` asks for it."""

from typing import Any

from labelwood.core.params import OneOf, check_parameter
from labelwood.core.types import CSR, AnyArray
from labelwood.errors import ParameterError


def check_output(transform: object) -> None:
    """Refuse a kind of table that cannot hold sparse columns."""
    if transform == "polars":
        raise ParameterError(
            "polars has no sparse columns, which vectors of texts need; use "
            "set_output(transform='pandas'), or 'default' for a sparse matrix."
        )
    check_parameter("set_output", "transform", transform, (OneOf("default", "pandas"), None))


def as_output(matrix: CSR, names: AnyArray, texts: object) -> Any:
    """A table of the vectors, a column for each feature, indexed as `texts` are."""
    from pandas import DataFrame

    index = getattr(texts, "index", None)
    return DataFrame.sparse.from_spmatrix(
        matrix, index=None if callable(index) else index, columns=names
    )
