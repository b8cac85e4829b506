"""Parameters of an estimator for its algorithm, each of the kind that kernels expect."""

from typing import NamedTuple, TypeVar

_Settings = TypeVar("_Settings", bound=NamedTuple)


def settings_of(kind: type[_Settings], owner: object) -> _Settings:
    """The parameters of `owner` that the named tuple `kind` calls by the same names.

    Numbers get the kind that is declared, as kernels compile for each; None becomes the zero of it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Settings(NamedTuple):
    ...     C: float
    ...     budget: int
    >>> settings_of(Settings, SimpleNamespace(C=1, budget=None, n_jobs=2))
    Settings(C=1.0, budget=0)
    """
    values = {name: getattr(owner, name) for name in kind._fields}
    types = kind.__annotations__
    return kind(*(types[n]() if v is None else types[n](v) for n, v in values.items()))
