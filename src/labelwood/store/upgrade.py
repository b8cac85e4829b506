"""Names in models of older formats, and what they are called now.

A parameter or fitted attribute that was renamed maps to its new name; one that was replaced
maps to a function of the old JSON value that returns the new names with their JSON values.
Later formats are read as they are.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Change: TypeAlias = str | Callable[[Any], Mapping[str, Any]]

_FOREST: dict[str, Change] = {
    "max_leaf": "max_leaf_samples",
    "labels_per_leaf": "max_leaf_labels",
    "bias": lambda value: _intercept(value),
}
_CODING_TREE: dict[str, Change] = {"bias": lambda value: _intercept(value)}
_TAIL_CENTERS = {"mle": "likelihood"}
# The constants a and b were parameters; now a Propensity carries them, and what was estimated
# with them is a fitted attribute.
_PROPENSITY_FOREST: dict[str, Change] = {
    **_FOREST,
    "a": lambda _: {},
    "b": lambda _: {},
    "propensities": lambda old: {"propensity": "estimate" if old is None else old},
    "tail": lambda old: {"center": _TAIL_CENTERS.get(old, old)},
}

PARAMETERS: dict[str, dict[str, Change]] = {
    "Tagger": {"estimator": lambda value: {"estimator": "auto" if value is None else value}},
    "AnnotationTreeClassifier": _CODING_TREE,
    "PowersetTreeClassifier": _CODING_TREE,
    "BudgetedTreeClassifier": {"min_split": "min_samples_split"},
    "FastXMLClassifier": _FOREST,
    "LabelTreeClassifier": {
        "max_leaf": "max_leaf_labels",
        "budget": "max_weights",
        "bias": lambda value: _intercept(value),
    },
    "OneVsRestSVM": {"bias": lambda value: _intercept(value)},
    "PfastXMLClassifier": _PROPENSITY_FOREST,
    "PfastreXMLClassifier": _PROPENSITY_FOREST,
    "RerankedClassifier": {"weight": "alpha"},
    "TailClassifier": {"centre": lambda old: {"center": _TAIL_CENTERS.get(old, old)}},
}
"""Class → old parameter of format 1 → what became of it."""

ATTRIBUTES: dict[str, dict[str, Change]] = {
    "BudgetedTreeClassifier": {"n_points_": "n_samples_"},
    "OneVsRestSVM": {"n_iter_": "n_passes_"},
    "HierarchicalRLSClassifier": {"n_iter_": "n_iter_labels_"},
    "PfastXMLClassifier": {"propensities_": "propensity_"},
    "PfastreXMLClassifier": {"propensities_": "propensity_"},
    "Tagger": {"n_points_": "n_samples_"},
    "TailClassifier": {
        "centres_indptr_": "centers_indptr_",
        "centres_indices_": "centers_indices_",
        "centres_data_": "centers_data_",
        "centre_squares_": "center_squares_",
    },
}
"""Class → old fitted attribute of format 1 → what became of it."""

_PROPENSITY: dict[str, Change] = {"n_points": "n_samples"}


def upgrade(content: Any, version: int) -> Any:
    """The JSON of a model of format `version` with the names of today.

    Examples
    --------
    >>> old = {"$object": {"class": "Tagger", "params": {}, "fitted": {"n_points_": 15}}}
    >>> upgrade(old, 1)["$object"]["fitted"]
    {'n_samples_': 15}
    """
    return content if version > 1 else _renamed(content)


def _intercept(bias: Any) -> dict[str, Any]:
    """The two parameters of an intercept, from the value of the constant feature."""
    return {"fit_intercept": bias != 0, "intercept_scaling": bias or 1.0}


def _renamed(value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed(one) for one in value]
    if not isinstance(value, dict):
        return value
    value = {key: _renamed(one) for key, one in value.items()}
    stored = value.get("$object")
    if isinstance(stored, dict):
        kind = stored.get("class")
        for part, table in (("params", PARAMETERS), ("fitted", ATTRIBUTES)):
            if isinstance(stored.get(part), dict) and isinstance(kind, str):
                stored[part] = _apply(table.get(kind, {}), stored[part])
    if isinstance(value.get("$propensity"), dict):
        value["$propensity"] = _apply(_PROPENSITY, value["$propensity"])
    return value


def _apply(changes: Mapping[str, Change], old: Mapping[str, Any]) -> dict[str, Any]:
    new: dict[str, Any] = {}
    for name, value in old.items():
        change = changes.get(name, name)
        new |= {change: value} if isinstance(change, str) else change(value)
    return new
