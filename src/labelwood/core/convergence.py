"""Why an iterative fit ended: one wording for all estimators, and a warning at the limit."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from labelwood.core.caller import user_stacklevel


def convergence_report(
    n_unsolved: int, what: str, remedy: str, *, limit: str = "iteration limit"
) -> str:
    """The `stop_reason_` of a fit of many small problems.

    Parameters
    ----------
    n_unsolved : int
        How many of them ended at a limit; if any did, a ConvergenceWarning with the same text
        is shown where the user called `fit`.
    what : str
        What was solved: "label", "node", "decision".
    remedy : str
        What raises the limit, as in "raise max_iter (now 100) or tol".
    limit : str
        Which limit it was.

    Examples
    --------
    >>> convergence_report(0, "label", "raise max_iter")
    'tolerance met for every label'
    """
    if not n_unsolved:
        return f"tolerance met for every {what}"
    first, *rest = what.split(" ", 1)  # "2 blocks of classifiers"
    many = " ".join([first + ("s" if n_unsolved > 1 else ""), *rest])
    reason = f"{limit} for {n_unsolved} {many}; {remedy}"
    warnings.warn(reason, ConvergenceWarning, stacklevel=user_stacklevel())
    return reason
