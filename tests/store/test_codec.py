import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labelwood.errors import ModelError
from labelwood.metrics import Propensity
from labelwood.store.codec import Decoder, Encoder, decode_checked

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("abc_", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_plain_values_survive_the_codec(value):
    encoder = Encoder()
    encoded = json.loads(json.dumps(encoder.encode(value, "x"), allow_nan=False))
    again = Decoder(encoder.arrays).decode(encoded)
    assert repr(again) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        np.array(["a", "ü", ""]),
        np.array([], dtype="U1"),
        np.arange(6, dtype=np.uint64).reshape(2, 3),
        np.array([True, False]),
        np.zeros((0, 3), dtype=np.float32),
    ],
)
def test_arrays_survive_the_codec(value):
    encoder = Encoder()
    again = Decoder(encoder.arrays).decode(encoder.encode(value, "x"))
    np.testing.assert_array_equal(again, value)
    assert again.dtype.kind == value.dtype.kind


@pytest.mark.parametrize("value", [object(), np.array([object()]), {1: 2}, {"$x": 1}, b"bytes"])
def test_what_cannot_be_stored_is_refused_by_name(value):
    with pytest.raises(ModelError, match="thing"):
        Encoder().encode(value, "thing")


def test_csr_matrices_survive_with_their_shape():
    matrix = sp.csr_array((np.ones(1, dtype=np.float32), ([2], [5])), shape=(7, 9))
    encoder = Encoder()
    again = Decoder(encoder.arrays).decode(encoder.encode(matrix, "m"))
    assert again.shape == (7, 9)
    np.testing.assert_array_equal(again.toarray(), matrix.toarray())


def test_propensities_survive_the_codec():
    value = Propensity(np.array([5, 0, 2]), 10, 0.5, 0.4)
    encoder = Encoder()
    encoded = json.loads(json.dumps(encoder.encode(value, "p")))
    assert Decoder(encoder.arrays).decode(encoded) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 4}, "Label 0 has the count 5, outside 0…4"),
        ({"a": -1}, "'a' parameter of Propensity must be"),
        ({"counts": {"$array": "gone"}}, "'gone' is missing"),
        ({"counts": "many"}, "one whole number per label"),
        ({"p": 1}, "unexpected keyword argument"),
    ],
)
def test_broken_propensities_are_refused(change, message):
    encoder = Encoder()
    encoded = encoder.encode(Propensity(np.array([5, 0, 2]), 10), "p")
    encoded["$propensity"].update(change)
    with pytest.raises(ModelError, match=message):
        decode_checked(encoded, encoder.arrays, "model.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [7, 3]}, "column index 5, outside 0…2"),
        ({"shape": [float("inf"), 9]}, "not a valid labelwood model"),
        ({"shape": [10**30, 9]}, "not a valid labelwood model"),
        ({"indices": "m.data"}, "no integers"),
        ({"indices": "gone"}, "'gone' is missing"),
    ],
)
def test_a_broken_matrix_is_refused(change, message):
    matrix = sp.csr_array((np.ones(1, dtype=np.float32), ([2], [5])), shape=(7, 9))
    encoder = Encoder()
    encoded = encoder.encode(matrix, "m")
    encoded["$csr"].update(change)
    with pytest.raises(ModelError, match=message):
        decode_checked(encoded, encoder.arrays, "model.json")


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_array, sp.csc_array])
def test_sparse_matrices_of_any_kind_come_back_as_csr(kind):
    matrix = sp.random_array((4, 3), density=0.5, rng=np.random.default_rng(0))
    encoder = Encoder()
    content = encoder.encode(kind(matrix), "m")
    back = Decoder(encoder.arrays).decode(content)
    assert isinstance(back, sp.csr_array)
    np.testing.assert_array_equal(back.toarray(), matrix.toarray())
