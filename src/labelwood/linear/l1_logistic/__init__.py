"""L1-regularized logistic regression."""

from labelwood.linear.l1_logistic._column_kernels import gather_columns
from labelwood.linear.l1_logistic._kernels import solve

__all__ = ["gather_columns", "solve"]
