"""Stratified splits and folds of sparse multi-label data."""

from labelwood.data.splits.stratification import split, stratified_folds, stratified_split

__all__ = ["split", "stratified_folds", "stratified_split"]
