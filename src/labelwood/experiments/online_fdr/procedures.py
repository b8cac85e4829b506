"""Online control of the false discovery rate: one interface, the procedures by name."""

import inspect
from collections.abc import Mapping
from typing import Any

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.online_fdr import investing, lord
from labelwood.experiments.online_fdr.base import OnlineProcedure

PROCEDURES: dict[str, type[OnlineProcedure]] = {
    one.name: one
    for one in (
        lord.Lord,
        lord.Lord15,
        investing.LordPlusPlus,
        investing.AlphaInvesting,
        investing.Saffron,
        lord.Bonferroni,
        lord.Uncorrected,
    )
}


def online_fdr(name: str, alpha: float, /, **options: Any) -> OnlineProcedure:
    """Start a procedure for a stream of tests.

    Parameters
    ----------
    name : str
        "lord", "lord15", "lord++", "gai" (generalized alpha-investing), "saffron", "bonferroni",
        or "none" (every test at α).
    alpha : float
        The error rate to keep to, between 0 and 1.
    **options
        `initial_wealth` (below α; half of it by default) and `gamma` (see `as_gamma`) for "lord",
        "lord++", "gai" and "saffron"; `gamma` for "lord15"; `decay` (at most 1, where nothing is
        forgotten) for "lord++"; `candidate` (λ) for "saffron".

    Returns
    -------
    OnlineProcedure
        With `next_level()`, `record(p)`, `wealth`, `n_tests`, `n_discoveries` and `to_dict()`.

    Examples
    --------
    >>> procedure = online_fdr("lord", 0.05)
    >>> for p in (0.0001, 0.3, 0.0004):
    ...     level = procedure.next_level()
    ...     print(f"{level:.5f} {procedure.record(p)} {procedure.wealth:.5f}")
    0.00137 True 0.04863
    0.00267 False 0.04596
    0.00058 True 0.07038
    """
    owner = _find(name)
    known = [one for one in inspect.signature(owner).parameters if one != "alpha"]
    for option in options:
        if option not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ParameterError(f"The procedure {name!r} has no option {option!r}; {has}.")
    return owner(alpha, **options)


def online_fdr_from_dict(content: Mapping[str, Any]) -> OnlineProcedure:
    """The procedure that `to_dict` described, in the same state.

    Examples
    --------
    >>> procedure = online_fdr("saffron", 0.1, candidate=0.4)
    >>> again = online_fdr_from_dict(procedure.to_dict())
    >>> again.next_level() == procedure.next_level()
    True
    """
    if not isinstance(content, Mapping) or "procedure" not in content:
        raise DataError(f"not the state of a procedure: {content!r}")
    return _find(content["procedure"]).from_dict(content)


def _find(name: object) -> type[OnlineProcedure]:
    if not isinstance(name, str) or name not in PROCEDURES:
        known = ", ".join(repr(one) for one in PROCEDURES)
        raise ParameterError(f"No procedure is called {name!r}; there are {known}.")
    return PROCEDURES[name]
