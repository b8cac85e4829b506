"""One linear classifier for each label, trained by working sets.

`working_sets.train_block` grows the working set of sixteen labels, `training.train_labels`
runs all blocks in threads.
"""

from labelwood.linear.onevsrest.estimator import OneVsRestSVM
from labelwood.linear.onevsrest.postings import Postings
from labelwood.linear.onevsrest.training import label_costs, label_propensities

__all__ = ["OneVsRestSVM", "Postings", "label_costs", "label_propensities"]
