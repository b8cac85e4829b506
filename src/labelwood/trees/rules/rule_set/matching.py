"""Which rule matches a sample, what its label stands for, and rules that never match."""

from collections.abc import Mapping, Sequence

import numpy as np

from labelwood.core.types import AnyArray, DoubleArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.rules.rule_set.conditions import Rule


class RuleText:
    """Constraint of a parameter that holds rules; they are parsed in `fit`."""

    def accepts(self, value: object) -> bool:
        """Whether `value` is text."""
        return isinstance(value, str)

    def parse(self, text: str) -> object:
        """`text` itself."""
        return text

    def __str__(self) -> str:
        return "rules as text, one per line"


def satisfied(rule: Rule, values: DoubleArray, places: Mapping[str, int]) -> AnyArray:
    """Which rows of `values`, whose columns `places` names, satisfy a rule."""
    found = np.ones(values.shape[0], dtype=bool)
    for condition in rule.conditions:
        found &= condition.holds_for(values[:, places[condition.feature]])
    return found


def first_match(
    rules: Sequence[Rule], values: DoubleArray, places: Mapping[str, int]
) -> PointerArray:
    """The first rule that each row satisfies; `len(rules)` where none does."""
    matched = np.full(values.shape[0], len(rules), dtype=np.int64)
    open_rows = np.arange(values.shape[0])
    for number, rule in enumerate(rules):
        hit = satisfied(rule, values[open_rows], places)
        matched[open_rows[hit]] = number
        open_rows = open_rows[~hit]
    return matched


def class_of_label(labels: Sequence[str], classes: AnyArray) -> PointerArray:
    """The class that each label of a rule stands for, −1 for none.

    ~earn is the other one of two classes. Where the classes bear other names, such as 0 and 1,
    and all rules speak of one label, the label is the second class.
    """
    names = [str(one) for one in classes.tolist()]
    place = {name: i for i, name in enumerate(names)}
    bases = {label.removeprefix("~") for label in labels}
    if len(names) == 2:
        numbers = classes.dtype.kind in "biuf"
        if numbers and len(bases) == 1 and not bases & set(names):
            base = next(iter(bases))
            place = {f"~{base}": 0, base: 1}
        else:
            place = {f"~{names[0]}": 1, f"~{names[1]}": 0} | place
    return np.array([place.get(label, -1) for label in labels], dtype=np.int64)


def check_labels(rules: Sequence[Rule], classes: AnyArray) -> None:
    """Refuse a rule whose label is no class."""
    found = class_of_label([rule.label for rule in rules], classes)
    if np.any(found < 0):
        number = int(np.flatnonzero(found < 0)[0])
        names = ", ".join(str(one) for one in classes.tolist()[:10])
        raise DataError(
            f"Rule {number + 1} ({rules[number]}) has a label that is no class; classes: {names}."
        )


def rule_problems(rules: Sequence[Rule]) -> list[str]:
    """What is wrong with rules: contradictions, and rules behind others that match more.

    Examples
    --------
    >>> from labelwood.trees.rules.rule_set.parsing import parse_rules
    >>> for line in rule_problems(parse_rules("a > 3 & a < 2 -> X\\nb -> X\\nb & c -> Y")):
    ...     print(line)
    Rule 1 (a > 3 & a < 2 -> X) never matches: its conditions contradict each other.
    Rule 3 (b & c -> Y) is never reached: rule 2 (b -> X) matches all that it matches.
    """
    problems = []
    for number, rule in enumerate(rules):
        if rule.contradictory:
            problems.append(
                f"Rule {number + 1} ({rule}) never matches: its conditions contradict each other."
            )
            continue
        for earlier in range(number):
            before = rules[earlier]
            if not before.contradictory and rule.implies(before):
                problems.append(
                    f"Rule {number + 1} ({rule}) is never reached: rule {earlier + 1} ({before}) "
                    "matches all that it matches."
                )
                break
    return problems


def unseen_categories(rules: Sequence[Rule], seen: Mapping[str, PointerArray]) -> list[str]:
    """What rules ask for of features whose categories are known, and training has not seen."""
    found = []
    for one in (one for rule in rules for one in rule.conditions):
        if one.categories is not None and one.feature in seen:
            new = sorted(one.categories - set(seen[one.feature].tolist()))
            if new:
                found.append(f"Training has not seen category {new[0]} of {one.feature!r} ({one}).")
    return found
