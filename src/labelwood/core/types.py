"""Dtypes and array aliases, declared once."""

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

CSR: TypeAlias = sp.csr_array
"""A sparse matrix in compressed rows."""

FloatArray: TypeAlias = NDArray[np.float32]
DoubleArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.uint32]
PointerArray: TypeAlias = NDArray[np.int64]
AnyArray: TypeAlias = NDArray[Any]
