"""The ledger: all that is needed to recompute every decision of a sequence of experiments."""

from labelwood.experiments.ledger.entry import Entry, check_text, compared_p_value, leading_arms
from labelwood.experiments.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger", "check_text", "compared_p_value", "leading_arms"]
