"""Weights in eight bits with a scale for each classifier, for small model files.

A weight w of a classifier whose largest is m becomes the whole number q = round(w/s), −127 … 127,
where s is m/127 rounded up to sixteen significant bits. So q · s is exact in single precision, and
packing what was unpacked gives the same bytes again. Weights that round to zero are left out; which
of sixteen lanes a feature has is a mask of sixteen bits.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood.core.lanes import WIDTH
from labelwood.core.types import AnyArray, FloatArray
from labelwood.errors import ModelError

Fitted: TypeAlias = dict[str, Any]

_LARGEST = 127
_SCALE_BITS = 16
_PACKED = ("packed_masks_", "packed_weights_", "packed_scales_")


def pack(kind: str, fitted: Mapping[str, Any]) -> Fitted | None:
    """The fitted attributes of a class with its weights packed, or None where there is no way.

    So it is with an estimator that was not fitted, as one that is a parameter of another.
    """
    return _WAYS[kind][0](dict(fitted)) if kind in _WAYS and fitted else None


def unpack(kind: str, fitted: Mapping[str, Any]) -> Fitted:
    """The fitted attributes that `pack` was given, but for the rounding of weights."""
    if kind not in _WAYS:
        raise ModelError(f"{kind} has no packed weights")
    return _WAYS[kind][1](dict(fitted))


def _pack_one_vs_rest(fitted: Fitted) -> Fitted:
    blocks = fitted["postings_blocks_"]
    weights = fitted.pop("postings_weights_").reshape(-1, WIDTH)
    rows, lanes = np.nonzero(weights)
    n_lanes = fitted["lane_labels_"].size
    fitted |= _packed(weights[rows, lanes], rows, lanes, blocks, n_lanes)
    if n_lanes // WIDTH <= 2**16:
        fitted["postings_blocks_"] = blocks.astype(np.uint16)
    return fitted


def _unpack_one_vs_rest(fitted: Fitted) -> Fitted:
    blocks = fitted["postings_blocks_"].astype(np.uint32)
    values, rows, lanes = _unpacked(fitted, blocks, fitted["lane_labels_"].size)
    weights = np.zeros((blocks.size, WIDTH), dtype=np.float32)
    weights[rows, lanes] = values
    return fitted | {"postings_blocks_": blocks, "postings_weights_": weights.ravel()}


def _pack_label_tree(fitted: Fitted) -> Fitted:
    features, pointers = fitted.pop("features_"), fitted.pop("entry_indptr_")
    lanes, weights = fitted.pop("lanes_"), fitted.pop("weights_")
    rows = np.repeat(np.arange(features.size), np.diff(pointers))
    blocks = _block_of_rows(fitted["block_indptr_"])
    fitted |= _packed(weights, rows, lanes.astype(np.int64), blocks, fitted["intercepts_"].size)
    # Features rise within a block, so that their upper halves are runs, of which lengths suffice.
    upper = (features >> 16).astype(np.int64)
    n_runs = int(upper.max(initial=0)) + 1
    n_blocks = fitted["block_indptr_"].size - 1
    runs = np.bincount(blocks * n_runs + upper, minlength=n_blocks * n_runs)
    fitted["packed_features_"] = (features & 0xFFFF).astype(np.uint16)
    fitted["packed_runs_"] = runs.reshape(n_blocks, n_runs).astype(np.uint32)
    return fitted


def _unpack_label_tree(fitted: Fitted) -> Fitted:
    lower, runs = fitted.pop("packed_features_"), fitted.pop("packed_runs_")
    blocks = _block_of_rows(fitted["block_indptr_"])
    if runs.ndim != 2 or runs.sum() != lower.size or blocks.size != lower.size:
        raise ModelError("the packed features do not fit their blocks")
    upper = np.repeat(np.tile(np.arange(runs.shape[1]), runs.shape[0]), runs.ravel())
    values, rows, lanes = _unpacked(fitted, blocks, fitted["intercepts_"].size)
    counts = np.bincount(rows, minlength=lower.size)
    return fitted | {
        "features_": (lower.astype(np.uint32) | (upper.astype(np.uint32) << 16)),
        "entry_indptr_": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "lanes_": lanes.astype(np.uint8),
        "weights_": values,
    }


_WAYS: dict[str, tuple[Callable[[Fitted], Fitted], Callable[[Fitted], Fitted]]] = {
    "OneVsRestSVM": (_pack_one_vs_rest, _unpack_one_vs_rest),
    "LabelTreeClassifier": (_pack_label_tree, _unpack_label_tree),
}


def _block_of_rows(block_indptr: AnyArray) -> AnyArray:
    """The block of each row of features."""
    return np.repeat(np.arange(block_indptr.size - 1), np.diff(block_indptr))


def _packed(
    values: FloatArray, rows: AnyArray, lanes: AnyArray, blocks: AnyArray, n_lanes: int
) -> Fitted:
    """Masks of the rows, whole numbers and scales, from the entries of all rows in order."""
    classifier = blocks[rows].astype(np.int64) * WIDTH + lanes
    largest = np.zeros(n_lanes, dtype=np.float32)
    np.maximum.at(largest, classifier, np.abs(values))
    scales = _rounded_up(largest.astype(np.float64) / _LARGEST)
    numbers = np.rint(values / scales[classifier]).astype(np.int8)
    kept = numbers != 0
    bits = (1 << lanes[kept]).astype(np.float64)
    masks = np.bincount(rows[kept], bits, minlength=blocks.size).astype(np.uint16)
    return dict(zip(_PACKED, (masks, numbers[kept], scales.astype(np.float32)), strict=True))


def _rounded_up(scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of sixteen significant bits that are not smaller; 1 for a classifier without any."""
    mantissas, exponents = np.frexp(scales)
    rounded = np.ldexp(np.ceil(np.ldexp(mantissas, _SCALE_BITS)), exponents - _SCALE_BITS)
    return np.where(scales > 0, rounded, 1.0)


def _unpacked(
    fitted: Fitted, blocks: AnyArray, n_lanes: int
) -> tuple[FloatArray, AnyArray, AnyArray]:
    """The weights, and the row and the lane of each."""
    masks, numbers, scales = (fitted.pop(name) for name in _PACKED)
    kinds = (masks.dtype, numbers.dtype, scales.dtype)
    if kinds != (np.uint16, np.int8, np.float32) or not (
        masks.shape == blocks.shape and scales.shape == (n_lanes,)
    ):
        raise ModelError("the packed weights do not fit their classifiers")
    rows, lanes = np.nonzero((masks[:, None] >> np.arange(WIDTH, dtype=np.uint16)) & 1)
    if rows.size != numbers.size:
        raise ModelError("the packed weights do not fit their masks")
    classifier = blocks[rows].astype(np.int64) * WIDTH + lanes
    return numbers * scales[classifier], rows, lanes
