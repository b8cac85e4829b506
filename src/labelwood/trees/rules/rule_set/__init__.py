"""Ordered rules: conditions, the text people write, matching, edits, reports, shortening."""

from labelwood.trees.rules.rule_set.conditions import Condition, Rule, joined, quoted
from labelwood.trees.rules.rule_set.estimator import RuleSet
from labelwood.trees.rules.rule_set.matching import satisfied
from labelwood.trees.rules.rule_set.parsing import parse_conditions, unquoted
from labelwood.trees.rules.rule_set.report import Share

__all__ = [
    "Condition",
    "Rule",
    "RuleSet",
    "Share",
    "joined",
    "parse_conditions",
    "quoted",
    "satisfied",
    "unquoted",
]
