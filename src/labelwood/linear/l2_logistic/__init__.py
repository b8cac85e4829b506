"""L2-regularized logistic regression, sixteen labels at a time."""

from labelwood.linear.l2_logistic._block_kernels import solve_logistic_block

__all__ = ["solve_logistic_block"]
