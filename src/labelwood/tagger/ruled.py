"""A person's rules on top of a learner: the versions that were set, and what they change."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray
from labelwood.tagger import decisions
from labelwood.tagger.base import BaseTagger
from labelwood.trees.rules.label_rules import LabelRules, RuleEffect, Verdict


class RuledTagger(BaseTagger):
    """Label sets and rankings after the rules; see `labelwood.trees.rules.label_rules`."""

    @property
    def rules(self) -> LabelRules:
        """A person's rules for labels, applied after the estimator; see `set_rules`."""
        check_is_fitted(self, "estimator_")
        history: list[str] = getattr(self, "rules_history_", [])
        return LabelRules.from_text(history[-1]) if history else LabelRules()

    def set_rules(self, text: str) -> Self:
        """Take rules such as ``always earn if dividend & -loss``, in place of those there are.

        See `labelwood.trees.rules.label_rules` for what rules can be. Earlier versions stay in
        `rules_history_`.
        """
        check_is_fitted(self, "estimator_")
        rules = LabelRules.from_text(text)
        rules.check(self.label_names_, self.names_of_features())
        self.rules_history_ = [*getattr(self, "rules_history_", []), str(rules)]
        return self

    def names_of_features(self) -> AnyArray | None:
        """Names of the features, by which rules refer to them; None where there are none."""
        if self.vectorizer_ is not None:
            return np.asarray(self.vectorizer_.get_feature_names_out())
        return self.feature_names_

    def rule_effects(
        self,
        data: Any,
        *,
        threshold: float | None = None,
        k: int | None = None,
        at_least_one: bool = False,
    ) -> list[list[RuleEffect]]:
        """The labels that rules add to the answer of `predict`, or remove from it.

        `threshold`, `k` and `at_least_one` are those of `predict`; with `k` alone the answer is
        that of `predict_topk` as well.
        """
        X = self.unscaled_features(data)
        before = self._sets(X, threshold, k, at_least_one)
        after = self._decide(X, threshold, k, at_least_one)
        verdicts = self._verdicts(X, threshold)
        rows = (np.split(sets.indices, sets.indptr[1:-1]) for sets in (before, after))
        return [
            verdict.effects(set(old.tolist()), set(new.tolist()), self.label_names_)
            for verdict, old, new in zip(verdicts, *rows, strict=True)
        ]

    def _verdicts(self, X: CSR, threshold: float | None) -> list[Verdict]:
        """What the rules add to each sample and remove from it, whatever is asked for."""
        rules = self.rules
        predicted = self._sets(X, threshold, None, False) if rules.asks_for_labels else None
        return rules.verdicts(X, predicted, self.label_names_, self.names_of_features())

    def _decide(
        self,
        X: CSR,
        threshold: float | None = None,
        k: int | None = None,
        at_least_one: bool = False,
    ) -> CSR:
        """Label sets by the threshold (or by the estimator, if there is none), after the rules."""
        if not (len(self.rules) and X.shape[0]):
            return self._sets(X, threshold, k, at_least_one)
        ranked = self._ranked_sets(X, threshold, k, at_least_one)
        if ranked is not None:
            return decisions.as_sets(ranked, self.label_names_.size)
        decided = decisions.changed(self._sets(X, None, None, False), self._verdicts(X, None))
        return decisions.with_one(decided, self._rank(X, 1)) if at_least_one else decided

    def _ranked_sets(
        self, X: CSR, threshold: float | None, k: int | None, at_least_one: bool
    ) -> TopK | None:
        """Label sets after the rules, best first; None where the estimator itself decides."""
        at = self._used_threshold(threshold, k)
        if at is None:
            return None if k is None else self._rank(X, k)
        asked = decisions.count_asked(k, self.label_names_.size)
        ranked = self._rank(X, asked, True, threshold)
        return decisions.cut(ranked, at, at_least_one=at_least_one)

    def _rank(self, X: CSR, k: int, proba: bool = False, threshold: float | None = None) -> TopK:
        """The best labels of the estimator, after the rules."""
        rules = self.rules
        if not (len(rules) and X.shape[0]):
            return self._learner_topk(X, k, proba)
        top = self._learner_topk(X, k + rules.n_removable, proba)
        k = min(k, self.label_names_.size)
        return decisions.ranked_by_rules(top, self._verdicts(X, threshold), k, proba=proba)
