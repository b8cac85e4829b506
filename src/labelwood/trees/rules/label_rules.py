"""A person's rules for labels, applied to what any learner predicts.

    always LABEL if CONDITIONS     the label is added
    never LABEL if CONDITIONS      it is removed
    never LABEL with LABEL         the first is removed where the second is predicted
    only LABEL if CONDITIONS       it is removed unless these (or those of another such line) hold

Conditions are those of `labelwood.trees.rules.rule_set.parsing`, on the words of a document.
Labels with spaces stand in quotes. Removal by `only` comes first, then `always`, then `never`,
which wins.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from labelwood.core.caller import user_stacklevel
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.trees.rules.rule_set import Condition, Rule, parse_conditions, quoted, satisfied

_LINE = re.compile(
    r"\s*(?P<verb>always|never|only)\s+(?P<label>\"(?:[^\"\\]|\\.)*\"|\S+)\s+"
    r"(?P<word>if|with)\s+(?P<rest>.*\S)\s*"
)
_FORMS = "'always LABEL if …', 'never LABEL if …', 'never LABEL with LABEL' or 'only LABEL if …'"


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
        what = " & ".join(str(one) for one in self.conditions)
        return f"{self.verb} {quoted(self.label)} if {what}"


@dataclass(frozen=True)
class RuleEffect:
    """What a rule did to a sample: a label "added" or "removed", and the rule's line."""

    label: str
    action: str
    rule: str


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
        """Read rules, one a line; what follows # is a comment."""
        found = []
        for number, line in enumerate(text.splitlines(), start=1):
            content = re.sub(r"(^|\s)#.*", "", line)
            if content.strip():
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
                f"The vocabulary has no {', '.join(map(repr, unknown))}: a rule that asks for such "
                "a word never applies."
            )

    def decide(
        self, decided: CSR, X: CSR, label_names: AnyArray, feature_names: AnyArray | None
    ) -> tuple[CSR, list[list[RuleEffect]]]:
        """Label sets after the rules, and what the rules did to each sample."""
        held = self._held(X, feature_names)
        place = {name: i for i, name in enumerate(label_names.tolist())}
        Y = sp.lil_array(decided)
        effects: list[list[RuleEffect]] = []
        for row in range(X.shape[0]):
            labels = {int(one) for one in Y.rows[row]}
            effects.append(self._apply(labels, held[:, row], place, label_names))
            Y.rows[row] = sorted(labels)
            Y.data[row] = [1.0] * len(labels)
        return sp.csr_array(Y, dtype=np.float32), effects

    def rank(
        self,
        top: TopK,
        k: int,
        X: CSR,
        label_names: AnyArray,
        feature_names: AnyArray | None,
        *,
        proba: bool = False,
    ) -> tuple[TopK, list[list[RuleEffect]]]:
        """The best labels after the rules; an added one comes first, as sure as the surest.

        "never A with B" removes A where B stands before it.
        """
        held = self._held(X, feature_names)
        place = {name: i for i, name in enumerate(label_names.tolist())}
        labels = np.full((len(top), k), -1, dtype=np.int32)
        scores = np.full((len(top), k), -np.inf, dtype=np.float32)
        effects = []
        for row in range(len(top)):
            there = top.labels[row] >= 0
            score = dict(zip(top.labels[row][there].tolist(), top.scores[row][there], strict=True))
            best = 1.0 if proba else max(score.values(), default=1.0)
            kept: dict[int, float] = {}
            changed = self._apply_ranked(score, held[:, row], place, label_names, kept, best)
            order = sorted(kept, key=lambda one: -kept[one])[:k]
            labels[row, : len(order)] = order
            scores[row, : len(order)] = [kept[one] for one in order]
            effects.append(changed)
        return TopK(labels, scores, label_names), effects

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

    def _apply(
        self, labels: set[int], held: AnyArray, place: dict[str, int], names: AnyArray
    ) -> list[RuleEffect]:
        """Change a set of labels in place; what was done."""
        score = dict.fromkeys(labels, 0.0)
        kept: dict[int, float] = {}
        effects = self._apply_ranked(score, held, place, names, kept, 1.0)
        labels.clear()
        labels.update(kept)
        return effects

    def _apply_ranked(
        self,
        score: dict[int, float],
        held: AnyArray,
        place: dict[str, int],
        names: AnyArray,
        kept: dict[int, float],
        best: float,
    ) -> list[RuleEffect]:
        """Fill `kept` with the labels that remain, added ones first, and their scores."""
        effects = []
        remaining = dict(score)
        for label, lines, allowed in self._only(held):
            if not allowed and remaining.pop(place[label], None) is not None:
                effects.append(RuleEffect(label, "removed", lines))
        added: dict[int, float] = {}
        for rule, holds in zip(self.rules, held, strict=True):
            if rule.verb == "always" and holds and place[rule.label] not in added:
                added[place[rule.label]] = best
                if place[rule.label] not in score:
                    effects.append(RuleEffect(rule.label, "added", str(rule)))
        kept.update(added | {k: v for k, v in remaining.items() if k not in added})
        for rule, holds in zip(self.rules, held, strict=True):
            if rule.verb != "never" or place[rule.label] not in kept:
                continue
            order = list(kept)
            if rule.other is None:
                hit = bool(holds)
            else:
                other = place[rule.other]
                # In a set of labels all scores are equal, and the place says nothing.
                before = other in kept and (
                    kept[other] >= kept[place[rule.label]]
                    or order.index(other) < order.index(place[rule.label])
                )
                hit = before
            if hit:
                del kept[place[rule.label]]
                effects.append(RuleEffect(rule.label, "removed", str(rule)))
        gone = {e.label for e in effects if e.action == "removed"}
        return [e for e in effects if e.action == "removed" or e.label not in gone]

    def _only(self, held: AnyArray) -> list[tuple[str, str, bool]]:
        """For each label with "only" rules: their lines, and whether one of them holds."""
        found: dict[str, tuple[list[str], bool]] = {}
        for rule, holds in zip(self.rules, held, strict=True):
            if rule.verb == "only":
                lines, allowed = found.get(rule.label, ([], False))
                found[rule.label] = ([*lines, str(rule)], allowed or bool(holds))
        return [(label, "; ".join(lines), ok) for label, (lines, ok) in found.items()]


def _parse_line(line: str, number: int) -> LabelRule:
    found = _LINE.fullmatch(line)
    if found is None or (found["word"] == "with" and found["verb"] != "never"):
        raise DataError(f"line {number}, column 1: expected {_FORMS}, got {line.strip()!r}.")
    label = _unquoted(found["label"])
    if found["word"] == "with":
        return LabelRule("never", label, other=_unquoted(found["rest"]))
    start = found.start("rest")
    # Conditions are parsed with blanks in place of what stands before them, for the column.
    return LabelRule(found["verb"], label, parse_conditions(" " * start + found["rest"], number))


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def _warn(message: str) -> None:
    warnings.warn(message, LabelwoodWarning, stacklevel=user_stacklevel())


def check_history(history: Sequence[object]) -> None:
    """Refuse a history of rules that is none (after loading)."""
    if not isinstance(history, list) or not all(isinstance(one, str) for one in history):
        raise DataError("rules_history_ must be a list of texts")
    for text in history:
        LabelRules.from_text(str(text))
