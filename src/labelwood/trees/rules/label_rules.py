"""A person's rules for labels, applied to what any learner predicts.

    always LABEL if CONDITIONS     the label is added
    never LABEL if CONDITIONS      it is removed
    never LABEL with LABEL         the first is removed where the second is predicted
    only LABEL if CONDITIONS       it is removed unless these (or those of another such line) hold

Conditions are those of `labelwood.trees.rules.rule_set.parsing`, on the words of a document.
Labels with spaces stand in quotes.

Each step has precedence over the steps before it:

1. What the learner predicts.
2. `only` removes a label where none of its `only` lines holds.
3. `always` adds a label.
4. `never … if` removes a label.
5. `never A with B` removes A where B is predicted after steps 1 to 4. These lines work in the
   order in which they are written: a label that one of them has removed removes no other.

B is predicted where the learner gives it at least the threshold (that of the fit, or one that is
given), or, without a threshold, where the learner decides for it. How many labels are asked for
makes no difference. So the labels that are removed from a sample are the same in label sets and
in rankings of any length.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from labelwood.core.caller import user_stacklevel
from labelwood.core.types import CSR, AnyArray
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.trees.rules.rule_set import (
    Condition,
    Rule,
    joined,
    parse_conditions,
    quoted,
    satisfied,
    unquoted,
)
from labelwood.trees.rules.unknown_words import in_vocabulary

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_VERB = re.compile(r"(?:always|never|only)(?=\s|$)")
_LABEL = re.compile(rf"{_QUOTED}|[^\s\"]\S*")
_WORD = re.compile(r"(?:if|with)(?=\s|$)")
# A comment starts with # at the start of a word; within quotes it is a sign like any other.
_COMMENT = re.compile(rf"(?P<comment>(?:^|(?<=\s))\#.*)|{_QUOTED}|.")


@dataclass(frozen=True)
class LabelRule:
    """One line: a verb, a label, and conditions on words, or the other label of "never with"."""

    verb: str
    label: str
    conditions: tuple[Condition, ...] = ()
    other: str | None = None

    def __str__(self) -> str:
        if self.other is not None:
            return f"{self.verb} {quoted(self.label)} with {quoted(self.other)}"
        return f"{self.verb} {quoted(self.label)} if {joined(self.conditions)}"


@dataclass(frozen=True)
class RuleEffect:
    """What a rule did to a sample: a label "added" or "removed", and the rule's line."""

    label: str
    action: str
    rule: str


class Verdict(NamedTuple):
    """What rules add to the labels of a sample and what they remove: label → the rule's line."""

    added: dict[int, str]
    removed: dict[int, str]

    def ranked(self, scores: dict[int, float], best: float) -> dict[int, float]:
        """The labels of a ranking after the rules: added ones come first, with score `best`."""
        rest = {k: v for k, v in scores.items() if k not in self.added and k not in self.removed}
        return dict.fromkeys(self.added, best) | rest

    def effects(self, before: set[int], after: set[int], names: AnyArray) -> list[RuleEffect]:
        """How the rules have changed an answer from `before` to `after`."""
        changes = [
            ("added", self.added, after - before),
            ("removed", self.removed, before - after),
        ]
        return [
            RuleEffect(str(names[label]), action, line)
            for action, lines, changed in changes
            for label, line in lines.items()
            if label in changed
        ]


@dataclass(frozen=True)
class LabelRules:
    """Rules for labels, in order.

    Examples
    --------
    >>> rules = LabelRules.from_text("always earn if dividend & -loss  # by the desk")
    >>> print(rules)
    always earn if dividend & -loss
    """

    rules: tuple[LabelRule, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> "LabelRules":
        """Read rules, one per line; what follows # is a comment, except within quotes."""
        if not isinstance(text, str):
            raise DataError(f"Rules must be text, one rule a line. Got {type(text).__name__}.")
        found = []
        for number, line in enumerate(text.splitlines(), start=1):
            content = _without_comment(line)
            if content:
                found.append(_parse_line(content, number))
        return cls(tuple(found))

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the rules ask for."""
        names = (one.feature for rule in self.rules for one in rule.conditions)
        return tuple(dict.fromkeys(names))

    def check(self, label_names: AnyArray, feature_names: AnyArray | None) -> None:
        """Refuse labels that the model lacks and rules that contradict; warn of unknown words."""
        known = set(label_names.tolist())
        for rule in self.rules:
            for label in (rule.label, rule.other):
                if label is not None and label not in known:
                    raise DataError(f"The model has no label {label!r} (rule: {rule}).")
            if rule.other == rule.label:
                raise DataError(f"A label cannot exclude itself (rule: {rule}).")
            if Rule(rule.conditions, rule.label).contradictory:
                _warn(f"The rule '{rule}' never applies: its conditions contradict each other.")
        for one in self.rules:
            same = [r for r in self.rules if r.verb == "never" and r.label == one.label]
            if one.verb == "always" and any(r.conditions == one.conditions for r in same):
                _warn(f"The rule '{one}' has no effect: 'never' with the same conditions wins.")
        words = set() if feature_names is None else set(feature_names.tolist())
        unknown = [word for word in self.words if word not in words]
        if unknown:
            _warn(
                f"The vocabulary has no {in_vocabulary(unknown, words)}: a rule that asks for such "
                "a word never applies."
            )

    def verdicts(
        self,
        X: CSR,
        predicted: CSR | None,
        label_names: AnyArray,
        feature_names: AnyArray | None,
    ) -> list[Verdict]:
        """What the rules add to the labels of each sample, and what they remove from them.

        `predicted` has the label sets of the learner; only "never with" asks for them.
        """
        held = self._held(X, feature_names)
        place = {name: i for i, name in enumerate(label_names.tolist())}
        found = []
        for row in range(X.shape[0]):
            labels = set()
            if predicted is not None:
                start, end = predicted.indptr[row : row + 2]
                labels = set(predicted.indices[start:end].tolist())
            found.append(self._verdict(held[:, row], labels, place))
        return found

    @property
    def asks_for_labels(self) -> bool:
        """Whether a rule depends on what else is predicted."""
        return any(rule.other is not None for rule in self.rules)

    @property
    def n_removable(self) -> int:
        """How many labels the rules can remove: so many more have to be ranked."""
        return len({rule.label for rule in self.rules if rule.verb != "always"})

    def _held(self, X: CSR, feature_names: AnyArray | None) -> AnyArray:
        """Which rules' conditions hold for which samples, of shape (n_rules, n)."""
        names = [] if feature_names is None else feature_names.tolist()
        column = {name: i for i, name in enumerate(names)}
        values = np.zeros((X.shape[0], len(self.words)))
        for place, word in enumerate(self.words):
            if word in column:
                values[:, place] = X[:, [column[word]]].toarray()[:, 0]
        places = {word: place for place, word in enumerate(self.words)}
        rules = (Rule(rule.conditions, rule.label) for rule in self.rules)
        found = [satisfied(rule, values, places) for rule in rules]
        return np.array(found, dtype=bool).reshape(len(self.rules), X.shape[0])

    def _verdict(self, held: AnyArray, predicted: set[int], place: dict[str, int]) -> Verdict:
        """The steps 2 to 5 of the order of precedence for one sample."""
        removed = {place[label]: lines for label, lines, allowed in self._only(held) if not allowed}
        added: dict[int, str] = {}
        holding = [rule for rule, holds in zip(self.rules, held, strict=True) if holds]
        for rule in holding:
            if rule.verb == "always":
                added.setdefault(place[rule.label], str(rule))
                removed.pop(place[rule.label], None)
        for rule in holding:
            if rule.verb == "never" and rule.other is None:
                removed.setdefault(place[rule.label], str(rule))
                added.pop(place[rule.label], None)
        present = (predicted | added.keys()) - removed.keys()
        for rule in self.rules:
            if rule.other is not None and place[rule.other] in present:
                removed.setdefault(place[rule.label], str(rule))
                added.pop(place[rule.label], None)
                present.discard(place[rule.label])
        return Verdict(added, removed)

    def _only(self, held: AnyArray) -> list[tuple[str, str, bool]]:
        """For each label with "only" rules: their lines, and whether one of them holds."""
        found: dict[str, tuple[list[str], bool]] = {}
        for rule, holds in zip(self.rules, held, strict=True):
            if rule.verb == "only":
                lines, allowed = found.get(rule.label, ([], False))
                found[rule.label] = ([*lines, str(rule)], allowed or bool(holds))
        return [(label, "; ".join(lines), ok) for label, (lines, ok) in found.items()]


def _parse_line(line: str, number: int) -> LabelRule:
    """One line of rules; an error names the column at which something else was expected."""
    verb = _take(_VERB, line, 0, number, "'always', 'never' or 'only'")
    label = _take(_LABEL, line, verb.end(), number, "a label")
    words = "'if' or 'with'" if verb[0] == "never" else "'if'"
    word = _take(_WORD, line, label.end(), number, words)
    if word[0] == "with" and verb[0] != "never":
        _fail(line, word.start(), number, f"{words} (only 'never' goes with a label)")
    if word[0] == "if":
        # Conditions are parsed with blanks in place of what stands before them, for the column.
        rest = " " * word.end() + line[word.end() :]
        return LabelRule(verb[0], unquoted(label[0]), parse_conditions(rest, number))
    other = _take(_LABEL, line, word.end(), number, "a label")
    if line[other.end() :].strip():
        _fail(line, other.end(), number, "the end of the line")
    return LabelRule("never", unquoted(label[0]), other=unquoted(other[0]))


def _take(
    pattern: re.Pattern[str], line: str, start: int, number: int, expected: str
) -> re.Match[str]:
    """What the pattern matches after `start` and blanks."""
    start += len(line[start:]) - len(line[start:].lstrip())
    found = pattern.match(line, start)
    return _fail(line, start, number, expected) if found is None else found


def _fail(line: str, start: int, number: int, expected: str) -> NoReturn:
    start += len(line[start:]) - len(line[start:].lstrip())
    rest = line[start:].split()
    got = repr(rest[0]) if rest else "the end of the line"
    raise DataError(f"line {number}, column {start + 1}: expected {expected}, got {got}.")


def _without_comment(line: str) -> str:
    comments = (one.start() for one in _COMMENT.finditer(line) if one["comment"])
    return line[: next(comments, len(line))].rstrip()


def _warn(message: str) -> None:
    warnings.warn(message, LabelwoodWarning, stacklevel=user_stacklevel())


def check_history(history: Sequence[object]) -> None:
    """Refuse a history of rules that is none (after loading)."""
    if not isinstance(history, list) or not all(isinstance(one, str) for one in history):
        raise DataError("rules_history_ must be a list of texts")
    for text in history:
        LabelRules.from_text(str(text))
