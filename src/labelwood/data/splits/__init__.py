"""Stratified and random splits, and folds, of sparse multi-label data."""

from labelwood.data.splits.stratification import (
    random_split,
    split,
    stratified_folds,
    stratified_split,
)

__all__ = ["random_split", "split", "stratified_folds", "stratified_split"]
