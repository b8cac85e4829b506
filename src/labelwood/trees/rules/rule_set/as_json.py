"""Rule sets as JSON: all that prediction and later edits need, in a form people can read."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwood.core.types import PointerArray
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.trees.rules.rule_set.estimator import RuleSet


def dump(rules: "RuleSet") -> str:
    """A rule set as JSON, one rule a line, the vocabulary last."""
    names = [str(one) for one in rules.classes_.tolist()]
    lines = [
        {"rule": str(rule), "counts": dict(zip(names, row.tolist(), strict=True))}
        for rule, row in zip(rules.rule_list(), rules.counts_, strict=True)
    ]
    content: dict[str, Any] = {
        "rules": lines,
        "edits": rules.edits_,
        "classes": rules.classes_.tolist(),
        "columns": dict(zip(rules.words_.tolist(), rules.columns_.tolist(), strict=True)),
        "n_features": rules.n_features_in_,
        "missing": rules.missing,
    }
    if rules.imputed_.size:
        content["imputed"] = rules.imputed_.tolist()
    if rules.categories_.size:
        content["categories"] = rules.categories_.tolist()
    if rules.feature_names is not None:
        content["feature_names"] = [str(one) for one in rules.feature_names]
    if hasattr(rules, "feature_names_in_"):
        content["feature_names_in"] = rules.feature_names_in_.tolist()
    parts = [f"{_text(key)}: {_value(value)}" for key, value in content.items()]
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _value(value: object) -> str:
    """A list of rules or edits has a line for each; all else stands on one line."""
    if not isinstance(value, list) or not value or not isinstance(value[0], (dict, str)):
        return _text(value)
    if isinstance(value[0], str) and not any(" " in one for one in value):
        return _text(value)
    return "[\n    " + ",\n    ".join(_text(one) for one in value) + "\n  ]"


def rules_in(text: str) -> str:
    """The rules in a JSON document, as text; strings, or objects with a "rule"."""
    content = _read(text)
    try:
        rules = [one if isinstance(one, str) else one["rule"] for one in content["rules"]]
        return "\n".join(rules)
    except (KeyError, TypeError):
        raise DataError(
            'JSON of rules must be an object with a list "rules" of texts, or of objects with a '
            '"rule".'
        ) from None


def load_into(result: "RuleSet", text: str) -> None:
    """Set the fitted attributes of a rule set to those of a document of `dump`."""
    content = _read(text)
    rules = rules_in(text)
    try:
        result.rules, result.missing = rules, content["missing"]
        result.feature_names = content.get("feature_names")
        result.classes_ = np.array(content["classes"])
        names = [str(one) for one in content["classes"]]
        result.counts_ = np.array(
            [[one["counts"][name] for name in names] for one in content["rules"]], dtype=np.float64
        )
        columns = content["columns"]
        result.words_ = np.array(list(columns), dtype=np.str_)
        result.columns_ = _whole(list(columns.values()))
        result.n_features_in_ = int(_whole([content["n_features"]])[0])
        result.imputed_ = np.array(content.get("imputed", []), dtype=np.float32)
        result.categories_ = _whole(content.get("categories", [])).reshape(-1, 2)
        result.edits_ = list(content["edits"])
        if "feature_names_in" in content:
            result.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
    except KeyError as error:
        raise DataError(
            f"The JSON has no {error}: from_json takes what to_json wrote; rules alone go to "
            "RuleSet(rules) or edit_to."
        ) from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"The JSON is not what to_json writes: {error}.") from None


def _whole(values: list[Any]) -> PointerArray:
    """Whole numbers as an array; others would be rounded without a word."""
    found = np.array(values)
    if found.size and found.dtype.kind != "i":
        raise ValueError(f"{values!r} should be whole numbers")
    return found.astype(np.int64)


def _read(text: str) -> dict[str, Any]:
    if not isinstance(text, str):
        raise DataError(f"JSON of rules must be text. Got {type(text).__name__}.")
    try:
        content = json.loads(text)
    except ValueError as error:
        raise DataError(f"Not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise DataError(f"JSON of rules must be an object. Got {type(content).__name__}.")
    return content
