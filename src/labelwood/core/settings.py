"""Parameters of an estimator for its algorithm, each of the type that kernels expect."""

from typing import Any, NamedTuple, TypeVar

_Settings = TypeVar("_Settings", bound=NamedTuple)


def settings_of(kind: type[_Settings], owner: object, **replaced: object) -> _Settings:
    """The parameters of `owner` that the named tuple `kind` calls by the same names.

    `replaced` are values that are computed from several parameters. Values are converted to the
    declared types, as kernels compile for each type; None becomes the zero of its type.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Settings(NamedTuple):
    ...     C: float
    ...     budget: int
    >>> settings_of(Settings, SimpleNamespace(C=1, budget=None, n_jobs=2))
    Settings(C=1.0, budget=0)
    """
    values: dict[str, Any] = {
        name: replaced[name] if name in replaced else getattr(owner, name) for name in kind._fields
    }
    types = kind.__annotations__
    return kind(*(types[n]() if v is None else types[n](v) for n, v in values.items()))
