"""An ordered list of rules that is read, edited, evaluated and saved: a classifier by words."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.caller import user_stacklevel
from labelwood.core.classes import ClassEstimator
from labelwood.core.contract import FittedAttributes
from labelwood.core.params import Constraints, OneOf, check_parameters
from labelwood.core.types import CSR, AnyArray, DoubleArray, PointerArray
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.trees.rules.features import (
    categories_by_column,
    category_pairs,
    feature_names_of,
    fill_missing,
    read_matrix,
    seen_categories,
    warn_of_new_categories,
)
from labelwood.trees.rules.rule_set import as_json, editing
from labelwood.trees.rules.rule_set.conditions import Rule
from labelwood.trees.rules.rule_set.matching import (
    RuleText,
    check_labels,
    class_of_label,
    first_match,
    rule_problems,
    unseen_categories,
)
from labelwood.trees.rules.rule_set.parsing import parse_rules
from labelwood.trees.rules.rule_set.report import RuleChange, RuleReport, compare, report
from labelwood.trees.rules.rule_set.simplify import Simplification, shorten, simplify
from labelwood.trees.rules.unknown_words import in_vocabulary

_NO_COLUMN = -1


class RuleSet(ClassEstimator):
    """An ordered list of rules; the first that matches decides, OTHERWISE the last line.

    Rules come from a person or from `RuleTreeClassifier.rules`. They are plain text, can be
    dropped, added and moved, and remain a classifier that is evaluated, saved and loaded. Every
    edit gives a new rule set and is kept in `edits_`.

    Parameters
    ----------
    rules : str or None
        One rule a line, such as ``dividend & -loss -> earn``; a last line
        ``OTHERWISE -> ~earn`` says what holds where no rule matches, by default the commonest
        class there. See `labelwood.trees.rules.rule_set.parsing` for the grammar.
    feature_names : list of str or None
        Names of the columns of X, in order; else those of the data frame of `fit`, else x0, …
    missing : {"error", "value", "zero"}
        NaN is refused, a value of its own (``age is missing``), or a zero.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    text_ : str
        The rules, one per line.
    words_, columns_ : arrays
        The features that the rules read, and their columns (−1 for a word that X lacks).
    counts_ : array of shape (n_rules, n_classes)
        Weight of the training samples of each class that each rule was the first to match; 0
        for rules that were added since. `fit` counts again.
    categories_ : array of shape (n, 2)
        Columns and categories that training has seen, of features that rules ask for.
    edits_ : list of str
        What was changed since the rules were made, in order; `replay` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import RuleSet
    >>> X = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
    >>> y = ["earn", "earn", "other", "other"]
    >>> rules = RuleSet("shr -> earn", feature_names=["shr", "dividend", "loss"]).fit(X, y)
    >>> rules = rules.add("dividend & -loss -> earn")
    >>> print(rules)
    1  shr -> earn
    2  dividend & -loss -> earn
    3  OTHERWISE -> other
    >>> rules.predict(X).tolist()
    ['earn', 'earn', 'other', 'other']
    >>> rules.predict_words([{"dividend", "profit"}]).tolist()
    ['earn']
    """

    _constraints: ClassVar[Constraints] = {
        "rules": (RuleText(), None),
        "missing": OneOf("error", "value", "zero", "impute"),
    }
    _fitted: ClassVar[FittedAttributes] = {
        "text_": str,
        "words_": np.ndarray,
        "columns_": (np.int64, ("words",)),
        "imputed_": (np.float32, (None,)),
        "categories_": (np.int64, (None, 2)),
        "counts_": (np.float64, ("rules", "classes")),
        "edits_": list,
    }

    text_: str
    words_: AnyArray
    columns_: PointerArray
    imputed_: AnyArray
    categories_: PointerArray
    counts_: DoubleArray
    edits_: list[str]

    def __init__(
        self,
        rules: str | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        missing: Literal["error", "value", "zero", "impute"] = "error",
    ) -> None:
        self.rules = rules
        self.feature_names = feature_names
        self.missing = missing

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Read the rules, find their words in X, and count what each matches."""
        matrix, codes, weights = self._begin_classes(X, y, sample_weight)
        if self.missing == "impute":
            raise DataError("Imputed values come from a tree (RuleTreeClassifier.rules).")
        rules = parse_rules(self.rules or "")
        self.imputed_ = np.empty(0, dtype=np.float32)
        self.edits_ = []
        self._set_rules(rules, check_otherwise=False)
        asked = np.array(self._category_columns(rules), dtype=np.int64)
        self.categories_ = category_pairs(seen_categories(matrix[weights > 0], asked))
        matched = first_match(rules, self._values(matrix), self._word_places())
        if not rules or rules[-1].conditions:
            rest = weights * (matched == len(rules))
            totals = np.bincount(codes, rest if rest.any() else weights, self.classes_.size)
            rules = (*rules, Rule((), self._label_names(rules)[int(totals.argmax())]))
        self._set_rules(rules)
        self.counts_ = np.zeros((len(rules), self.classes_.size))
        np.add.at(self.counts_, (matched, codes), weights)
        _warn_of_each(rule_problems(rules))
        return self

    def _label_names(self, rules: Sequence[Rule]) -> list[str]:
        """The text of each class as a label of a rule."""
        names = [str(one) for one in self.classes_.tolist()]
        used = {rule.label for rule in rules}
        base = {one.removeprefix("~") for one in used}
        numbers = self.classes_.dtype.kind in "biuf"
        if numbers and len(names) == 2 and len(base) == 1 and not base & set(names):
            name = base.pop()
            return [f"~{name}", name]
        return names

    def _set_rules(self, rules: Sequence[Rule], *, check_otherwise: bool = True) -> None:
        """Take these rules and find the columns of their words."""
        check_labels(rules, self.classes_)
        if check_otherwise:
            editing.check_otherwise(rules)
        words = list(dict.fromkeys(name for rule in rules for name in rule.features))
        known = {
            name: column for column, name in feature_names_of(self, self.feature_names).items()
        }
        if not known:
            known = {f"x{column}": column for column in range(self.n_features_in_)}
        previous = dict(
            zip(getattr(self, "words_", ()), getattr(self, "columns_", ()), strict=True)
        )
        unknown = [word for word in words if word not in known and word not in previous]
        if unknown:
            lacking = f"The vocabulary has no {in_vocabulary(unknown, known)}: a rule that asks for"
            _warn_of_each([f"{lacking} such a word never matches, one that forbids it always may."])
        columns = [known.get(word, previous.get(word, _NO_COLUMN)) for word in words]
        self.words_ = np.array(words, dtype=np.str_)
        self.columns_ = np.array(columns, dtype=np.int64)
        self.text_ = "\n".join(map(str, rules))
        seen = categories_by_column(vars(self).get("categories_", np.empty((0, 2), dtype=np.int64)))
        by_word = {w: seen[c] for w, c in zip(words, columns, strict=True) if c in seen}
        _warn_of_each(unseen_categories(rules, by_word))

    def rule_list(self) -> tuple[Rule, ...]:
        """The rules as objects, OTHERWISE last."""
        check_is_fitted(self)
        return parse_rules(self.text_)

    def problems(self) -> list[str]:
        """Rules that contradict themselves or that no sample can reach."""
        return rule_problems(self.rule_list())

    def _check_X(self, X: object, *, reset: bool = False) -> CSR:
        matrix = read_matrix(self, X, reset=reset)
        if not reset:
            read = self._category_columns(self.rule_list())
            seen = categories_by_column(self.categories_)
            seen = {column: known for column, known in seen.items() if column in read}
            warn_of_new_categories(matrix, seen, "rules with 'in' do not match them")
        return matrix

    def _category_columns(self, rules: Sequence[Rule]) -> list[int]:
        """The columns that rules ask for membership in a set."""
        places = self._word_places()
        words = {
            one.feature for rule in rules for one in rule.conditions if one.categories is not None
        }
        columns = (int(self.columns_[places[word]]) for word in words)
        return sorted(column for column in columns if column >= 0)

    def _word_places(self) -> dict[str, int]:
        return {str(word): place for place, word in enumerate(self.words_)}

    def _values(self, matrix: CSR) -> DoubleArray:
        """The values of the words of the rules, of shape (n, n_words)."""
        matrix = fill_missing(matrix, self.missing, self.imputed_)
        values = np.zeros((matrix.shape[0], self.words_.size))
        there = self.columns_ >= 0
        values[:, there] = matrix[:, self.columns_[there]].toarray()
        return values

    def match(self, X: object) -> PointerArray:
        """The number of the first rule that each sample matches, from 0; OTHERWISE is the last."""
        matrix = self._check_X(X)
        return first_match(self.rule_list(), self._values(matrix), self._word_places())

    def _rule_classes(self) -> PointerArray:
        return class_of_label([rule.label for rule in self.rule_list()], self.classes_)

    def decision_function(self, X: object) -> DoubleArray:
        """How sure the matching rule is of its label: its share of training samples.

        For two classes of shape (n,), positive for the second; else of shape (n, n_classes),
        0 for all classes but that of the rule.
        """
        matched = self.match(X)
        classes = self._rule_classes()
        own = self.counts_[np.arange(classes.size), classes]
        shares = (own + 1) / (self.counts_.sum(axis=1) + 2)
        if self.classes_.size == 2:
            return np.where(classes == 1, shares, -shares)[matched]
        scores = np.zeros((matched.size, self.classes_.size))
        scores[np.arange(matched.size), classes[matched]] = shares[matched]
        return scores

    def predict_words(self, documents: Iterable[Iterable[str] | Mapping[str, float]]) -> AnyArray:
        """The class of each document, given by its words, or by values of its features.

        Only the words of the rules are looked at: neither a matrix nor a vocabulary is needed.
        """
        rules, classes = self.rule_list(), self._rule_classes()
        found = []
        for document in documents:
            if isinstance(document, str):
                raise DataError("A document must be its words, not a text: split it first.")
            values = document if isinstance(document, Mapping) else dict.fromkeys(document, 1.0)
            found.append(next(i for i, rule in enumerate(rules) if rule.matches(values)))
        return self.classes_[classes[np.array(found, dtype=np.intp)]]

    def evaluate(self, X: object, y: object, *, delta: float = 0.05) -> RuleReport:
        """Precision, recall and coverage of each rule on given data, with exact intervals."""
        return report(self, X, y, delta)

    def drop(self, number: int) -> "RuleSet":
        """Without the rule of this number (from 1, as printed)."""
        return self._edited(editing.Drop(number))

    def add(self, rule: str, *, at: int | None = None) -> "RuleSet":
        """With one more rule, before the one of number `at`; by default before OTHERWISE."""
        number = len(self.rule_list()) if at is None else at
        return self._edited(editing.Add(number, editing.one_rule(rule)))

    def move(self, number: int, to: int) -> "RuleSet":
        """With the rule of this number moved to another place."""
        return self._edited(editing.Move(number, to))

    def replay(self, edits: str | Iterable[str]) -> "RuleSet":
        """Apply edits as in `edits_`, one per line: drop 3, add 2: a & -b -> c, move 5 to 2.

        Labels and problems are those of the rules after the last edit.
        """
        return self._edited(*editing.parse_edits(edits))

    def edit_to(self, text: str) -> "RuleSet":
        """With the rules of a text that a person has edited; the difference becomes edits.

        The text has one rule a line, as `to_text` writes it, or is JSON as that of `to_json`, of
        which only the rules are read.
        """
        if isinstance(text, str) and text.lstrip().startswith("{"):  # no rule starts like this
            text = as_json.rules_in(text)
        return self._edited(*editing.difference(self.rule_list(), parse_rules(text)))

    def _edited(self, *edits: "editing.Edit") -> "RuleSet":
        rules, counts = self.rule_list(), self.counts_
        for edit in edits:
            rules, counts = edit.apply(rules), edit.apply_rows(counts)
        result = self._copy()
        result._set_rules(rules)
        result.counts_ = counts
        result.edits_ = [*self.edits_, *map(str, edits)]
        result.rules = result.text_
        _warn_of_each(sorted(set(rule_problems(rules)) - set(self.problems())))
        return result

    def _copy(self) -> "RuleSet":
        result = RuleSet(self.rules, feature_names=self.feature_names, missing=self.missing)
        result.__dict__.update(vars(self))
        return result

    def compare(self, before: "RuleSet", X: object, y: object) -> RuleChange:
        """What the edits from `before` to this rule set change on given data."""
        return compare(before, self, X, y)

    def simplify(self) -> Simplification:
        """Shorter rules that predict the same for every sample, with a report of the steps."""
        return simplify(self)

    def shorten(self, X: object, y: object, *, max_cost: float = 0.0) -> Simplification:
        """Shorter rules at a cost on held-out data that is reported.

        `max_cost` is the share of the samples by which errors may rise in all.
        """
        return shorten(self, X, y, max_cost)

    def to_text(self) -> str:
        """The rules as text that `RuleSet` and `edit_to` take."""
        check_is_fitted(self)
        return self.text_ + "\n"

    def to_json(self) -> str:
        """The rules, their training counts and the edits, as JSON that `from_json` takes."""
        check_is_fitted(self)
        return as_json.dump(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The fitted rule set that `to_json` wrote.

        Examples
        --------
        >>> rules = RuleSet("x0 -> b\\nOTHERWISE -> a").fit([[0.0], [1.0]], ["a", "b"])
        >>> RuleSet.from_json(rules.to_json()).predict([[3.0]]).tolist()
        ['b']
        """
        result = cls()
        as_json.load_into(result, text)
        check_parameters(result, cls._constraints)
        result.text_ = "\n".join(map(str, parse_rules(result.rules or "")))
        result._check_fitted()
        return result

    def __str__(self) -> str:
        if not hasattr(self, "text_"):
            return super().__str__()
        rules = self.rule_list()
        width = len(str(len(rules)))
        return "\n".join(f"{i:>{width}}  {rule}" for i, rule in enumerate(rules, start=1))

    def _sizes(self) -> dict[str, int]:
        return {
            "features": self.n_features_in_,
            "words": np.size(getattr(self, "words_", ())),
            "rules": len(parse_rules(getattr(self, "text_", ""))),
            "classes": self.classes_.size,
        }

    def _check_fitted(self) -> None:
        super()._check_fitted()
        rules = parse_rules(self.text_)
        editing.check_otherwise(rules)
        check_labels(rules, self.classes_)
        words = {name for rule in rules for name in rule.features}
        columns_fit = not np.any(self.columns_ < _NO_COLUMN) and not (
            np.any(self.columns_ >= self.n_features_in_)
            or np.any(self.categories_[:, 0] >= self.n_features_in_)
        )
        if set(self.words_.tolist()) != words or not columns_fit:
            raise DataError("the words of the rules and their columns do not fit together")
        if not np.isfinite(self.counts_).all() or np.any(self.counts_ < 0):
            raise DataError("counts_ must be weights of samples, finite and not negative")
        if not np.isfinite(self.imputed_).all():
            raise DataError("imputed_ must be finite")
        if self.missing == "impute" and self.imputed_.size != self.n_features_in_:
            raise DataError("imputed_ must have a value for each feature")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        # Without rules it predicts the commonest class.
        tags.classifier_tags.poor_score = True
        return tags


def _warn_of_each(problems: Iterable[str]) -> None:
    for problem in problems:
        warnings.warn(problem, LabelwoodWarning, stacklevel=user_stacklevel())
