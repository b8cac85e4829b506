"""Names in models of older formats, and what they are called now.

A parameter or fitted attribute that was renamed maps to its new name; one that was replaced
maps to a function of the old JSON value that returns the new names with their JSON values.
Later formats are read as they are.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Change: TypeAlias = str | Callable[[Any], Mapping[str, Any]]

PARAMETERS: dict[str, dict[str, Change]] = {}
"""Class → old parameter of format 1 → what became of it."""

ATTRIBUTES: dict[str, dict[str, Change]] = {"Tagger": {"n_points_": "n_samples_"}}
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
