"""The linear support vector machine with squared hinge loss (L2-SVM)."""

from labelwood.linear.l2svm._block_kernels import (
    add_row_lanes,
    dot_lanes,
    rebuild_weights,
    scan_block,
    solve_block,
)
from labelwood.linear.l2svm._kernels import solve
from labelwood.linear.l2svm.solver import l2svm, row_norms

__all__ = [
    "add_row_lanes",
    "dot_lanes",
    "l2svm",
    "rebuild_weights",
    "row_norms",
    "scan_block",
    "solve",
    "solve_block",
]
