"""Shorter rules: steps that keep every prediction, and steps whose cost is measured."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labelwood.core.params import Real, check_parameter
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.trees.rules.rule_set.conditions import (
    Condition,
    Rule,
    conditions_imply,
    intersect_conditions,
)
from labelwood.trees.rules.rule_set.matching import class_of_label, first_match
from labelwood.trees.rules.rule_set.report import RuleChange, compare, known_classes

if TYPE_CHECKING:
    from labelwood.trees.rules.rule_set.estimator import RuleSet

# Cuts for one condition: lists of a hundred rules read off trees need some dozens.
_MAX_CUTS = 2_000


@dataclass(frozen=True)
class Step:
    """One step: what it does, and rules and conditions before and after."""

    name: str
    n_rules: tuple[int, int]
    n_conditions: tuple[int, int]

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.n_rules[0]} -> {self.n_rules[1]} rules, "
            f"{self.n_conditions[0]} -> {self.n_conditions[1]} conditions"
        )


@dataclass(frozen=True)
class Simplification:
    """Simpler rules, the steps that led to them, and their cost on held-out data, if measured."""

    rules: "RuleSet"
    steps: tuple[Step, ...]
    cost: RuleChange | None = None

    def __str__(self) -> str:
        lines = [str(step) for step in self.steps]
        return "\n".join(lines if self.cost is None else [*lines, str(self.cost)])


class Counted(NamedTuple):
    """A rule, and the weight of the training samples of each class that it was first to match."""

    rule: Rule
    counts: DoubleArray

    def with_conditions(self, conditions: tuple[Condition, ...]) -> "Counted":
        """The rule with other conditions, which match the same samples."""
        return Counted(replace(self.rule, conditions=conditions), self.counts)


def simplify(rules: "RuleSet") -> Simplification:
    """Steps after which every sample gets the label that it had.

    Training counts go with their rules; a rule that is dropped leaves them to the one that
    answers in its place.

    1. Conditions implied by others of the same rule are dropped.
    2. Conditions are dropped where earlier rules match all samples that fail them.
    3. Rules with the label of OTHERWISE are dropped where no later rule would answer otherwise.
    4. Two rules of one label become one where they differ in opposite conditions, or where one of
       them matches all that the other does.
    """
    logic = _Logic(rules.missing == "value")
    steps: list[tuple[str, Callable[[list[Counted]], list[Counted]]]] = [
        ("drop implied conditions", _drop_implied),
        ("drop conditions settled by earlier rules", logic.drop_settled),
        ("leave to OTHERWISE", _leave_to_otherwise),
        ("merge rules", logic.merge),
    ]
    current = [Counted(*one) for one in zip(rules.rule_list(), rules.counts_, strict=True)]
    reports = []
    for name, step in steps:
        after = step(current)
        reports.append(_step(name, [one.rule for one in current], [one.rule for one in after]))
        current = after
    result = _with_rules(rules, [one.rule for one in current])
    result.counts_ = np.array([one.counts for one in current], dtype=np.float64)
    return Simplification(result, tuple(reports))


def shorten(rules: "RuleSet", X: object, y: object, max_cost: float) -> Simplification:
    """Drop conditions and rules one by one while held-out errors rise by `max_cost` at most.

    Each step takes the removal that leaves fewest errors, of equal ones the first.
    """
    check_parameter("shorten", "max_cost", max_cost, Real(low=0, high=1))
    truth = known_classes(rules, y)
    values = rules._values(rules._check_X(X))
    places = rules._word_places()
    before = list(rules.rule_list())

    def errors(found: Sequence[Rule]) -> int:
        classes = class_of_label([rule.label for rule in before], rules.classes_)
        labels = dict(zip((rule.label for rule in before), classes.tolist(), strict=True))
        of_rule: PointerArray = np.array([labels[rule.label] for rule in found])
        return int(np.count_nonzero(of_rule[first_match(found, values, places)] != truth))

    current = before
    limit = errors(current) + max_cost * truth.size
    while True:
        candidates = _removals(current)
        scores = [errors(one) for one in candidates]
        if not scores or min(scores) > limit:
            break
        best = int(np.argmin(scores))
        current = candidates[best]
    result = _with_rules(rules, current)
    counts: DoubleArray = np.zeros((len(current), rules.classes_.size))
    np.add.at(counts, (first_match(current, values, places), truth), 1.0)
    result.counts_ = counts
    step = _step("drop conditions and rules on held-out data", before, current)
    return Simplification(result, (step,), compare(rules, result, X, y))


def _removals(rules: list[Rule]) -> list[list[Rule]]:
    """The lists with one condition or one rule fewer."""
    found = []
    for i, rule in enumerate(rules[:-1]):
        found.append([*rules[:i], *rules[i + 1 :]])
        if len(rule.conditions) > 1:
            for k in range(len(rule.conditions)):
                left = (*rule.conditions[:k], *rule.conditions[k + 1 :])
                found.append([*rules[:i], replace(rule, conditions=left), *rules[i + 1 :]])
    return found


def _with_rules(rules: "RuleSet", found: Sequence[Rule]) -> "RuleSet":
    result = rules._copy()
    result._set_rules(found)
    result.rules = result.text_
    return result


def _step(name: str, before: Sequence[Rule], after: Sequence[Rule]) -> Step:
    sizes = [sum(len(rule.conditions) for rule in one) for one in (before, after)]
    return Step(name, (len(before), len(after)), (sizes[0], sizes[1]))


def _overlap(a: Sequence[Condition], b: Sequence[Condition]) -> bool:
    return not any(one.impossible for one in intersect_conditions([*a, *b]))


def _drop_implied(rules: list[Counted]) -> list[Counted]:
    return [Counted(one.rule.compact(), one.counts) for one in rules]


def _leave_to_otherwise(rules: list[Counted]) -> list[Counted]:
    kept: list[Counted] = [rules[-1]]
    label = rules[-1].rule.label
    for one in reversed(rules[:-1]):
        rule = one.rule
        others = [later.rule for later in kept[:-1] if later.rule.label != label]
        needed = rule.label != label or any(
            _overlap(rule.conditions, other.conditions) for other in others
        )
        if needed and not rule.contradictory:
            kept.insert(0, one)
        else:
            # Every sample implies OTHERWISE, so that a heir is always found.
            heir = next(i for i, later in enumerate(kept) if rule.implies(later.rule))
            kept[heir] = Counted(kept[heir].rule, kept[heir].counts + one.counts)
    return kept


@dataclass(frozen=True)
class _Logic:
    """Opposites of conditions; a missing value counts only where it is a value of its own."""

    keeps_missing: bool

    def opposite(self, condition: Condition) -> Condition | None:
        """The opposite of a condition, if it is one condition."""
        found = condition.opposite()
        return found if found is None or self.keeps_missing else replace(found, missing=False)

    def covered(
        self,
        region: tuple[Condition, ...],
        rules: list[tuple[Condition, ...]],
        n_calls: Iterator[int] | None = None,
    ) -> bool:
        """Whether every sample that satisfies the conditions is matched by one of the rules.

        The region is cut along the conditions of the first rule that it overlaps; the parts outside
        of that rule must be covered by the others. The answer is False, which keeps a condition,
        when that takes too many cuts.
        """
        n_calls = count() if n_calls is None else n_calls
        region = intersect_conditions(region)
        if any(one.impossible for one in region):
            return True
        if next(n_calls) > _MAX_CUTS:
            return False
        for place, conditions in enumerate(rules):
            if not _overlap(region, conditions):
                continue
            inside = region
            for one in conditions:
                opposite = self.opposite(one)
                if opposite is None:
                    break
                if not self.covered((*inside, opposite), rules[place + 1 :], n_calls):
                    break
                inside = (*inside, one)
            else:
                return True
        return False

    def drop_settled(self, rules: list[Counted]) -> list[Counted]:
        """Drop conditions whose opposite is never met, as earlier rules have matched by then."""
        current = list(rules)
        for i in range(1, len(current) - 1):
            rule = current[i].rule
            earlier = [one.rule.conditions for one in current[:i]]
            k = 0
            while k < len(rule.conditions):
                rest = (*rule.conditions[:k], *rule.conditions[k + 1 :])
                opposite = self.opposite(rule.conditions[k])
                settled = (
                    bool(rest) and opposite is not None and self.covered((*rest, opposite), earlier)
                )
                if settled:
                    current[i] = current[i].with_conditions(rest)
                    rule = current[i].rule
                else:
                    k += 1
        return current

    def merge(self, rules: list[Counted]) -> list[Counted]:
        """Merge until no pair is left."""
        current = list(rules)
        while True:
            pair = self.mergeable([one.rule for one in current])
            if pair is None:
                return current
            kept, gone, conditions = pair
            both = current[kept].counts + current[gone].counts
            current[kept] = Counted(replace(current[kept].rule, conditions=conditions), both)
            del current[gone]

    def mergeable(self, rules: list[Rule]) -> tuple[int, int, tuple[Condition, ...]] | None:
        """The first two rules that can become one: its place, the other's, and its conditions.

        A rule before one of the same label that matches all that it matches is left to that one,
        unless a rule of another label between them would match some of it. Otherwise the
        merged rule stands where the earlier one stood.
        """
        for i, first in enumerate(rules[:-1]):
            for j in range(i + 1, len(rules) - 1):
                second = rules[j]
                if second.label != first.label or second.contradictory:
                    continue
                between = [one for one in rules[i + 1 : j] if one.label != first.label]
                if first.implies(second) and not any(
                    _overlap(first.conditions, one.conditions) for one in between
                ):
                    return j, i, second.conditions
                if any(_overlap(second.conditions, one.conditions) for one in between):
                    continue
                joined = self.union(first.conditions, second.conditions)
                if joined is not None:
                    return i, j, joined
        return None

    def union(
        self, a: tuple[Condition, ...], b: tuple[Condition, ...]
    ) -> tuple[Condition, ...] | None:
        """The conditions of both together, where they differ in one opposite pair, if at all."""
        if conditions_imply(b, a):
            return a
        by_feature = {one.feature: one for one in intersect_conditions(b)}
        mine = intersect_conditions(a)
        if set(by_feature) != {one.feature for one in mine}:
            return None
        different = [one for one in mine if by_feature[one.feature] != one]
        if len(different) != 1 or self.opposite(different[0]) != by_feature[different[0].feature]:
            return None
        rest = tuple(one for one in mine if one is not different[0])
        return rest or None
