"""One linear classifier for each label, trained by working sets.

`block_training.train_block` grows the working set of sixteen labels, `working_sets.train_labels`
runs all blocks in threads.
"""

from labelwood.linear.onevsrest.estimator import OneVsRestSVM
from labelwood.linear.onevsrest.postings import Postings
from labelwood.linear.onevsrest.working_sets import label_costs, label_propensities

__all__ = ["OneVsRestSVM", "Postings", "label_costs", "label_propensities"]
