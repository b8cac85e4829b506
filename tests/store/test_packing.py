"""Model files with weights of eight bits."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import labelwood
from builders import separable, state
from labelwood import LabelTreeClassifier, OneVsRestSVM, PopularityClassifier
from labelwood.errors import ModelError, ParameterError
from labelwood.store.packing import pack, unpack

X, Y = separable(300, 30)


@pytest.fixture(scope="module", params=[OneVsRestSVM, LabelTreeClassifier])
def model(request):
    return request.param(random_state=0, prune_below=0.0).fit(X, Y)


def fitted(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def dense(model):
    """The weights of all classifiers, features in rows."""
    if isinstance(model, OneVsRestSVM):
        return model.coef_.toarray().T
    blocks = np.repeat(np.arange(model.block_indptr_.size - 1), np.diff(model.block_indptr_))
    rows = np.repeat(np.arange(model.features_.size), np.diff(model.entry_indptr_))
    matrix = np.zeros((model.n_features_in_, model.intercepts_.size), dtype=np.float32)
    matrix[model.features_[rows], blocks[rows] * 16 + model.lanes_] = model.weights_
    return matrix


def test_weights_come_back_within_half_a_step(model, tmp_path):
    labelwood.save(model, tmp_path / "m", precision="int8")
    before, after = dense(model), dense(labelwood.load(tmp_path / "m"))
    half_a_step = np.abs(before).max(axis=0) / 127 / 2
    assert np.all(np.abs(after - before) <= half_a_step * 1.001)
    assert np.any(after != before)


def test_a_packed_file_is_smaller_and_saving_what_was_loaded_gives_the_same_bytes(model, tmp_path):
    labelwood.save(model, tmp_path / "full")
    labelwood.save(model, tmp_path / "small", precision="int8")
    loaded = labelwood.load(tmp_path / "small")
    labelwood.save(loaded, tmp_path / "again", precision="int8")
    (full,), (first,), (second,) = (
        (tmp_path / one).glob("arrays*") for one in ("full", "small", "again")
    )
    # At this size much of it is not weights.
    assert first.stat().st_size < 0.6 * full.stat().st_size
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    assert state(vars(labelwood.load(tmp_path / "again"))) == state(vars(loaded))


def test_rankings_hardly_change(model, tmp_path):
    labelwood.save(model, tmp_path / "m", precision="int8")
    top, small = model.predict_topk(X, 1), labelwood.load(tmp_path / "m").predict_topk(X, 1)
    assert abs(top.hits(Y).mean() - small.hits(Y).mean()) < 0.01  # labels of a row nearly tie
    np.testing.assert_allclose(small.scores, top.scores, atol=0.05)


def test_features_beyond_sixteen_bits_come_back(model):
    if isinstance(model, OneVsRestSVM):
        pytest.skip("its features are pointers")
    wide = fitted(model) | {"features_": model.features_ * np.uint32(5000)}
    assert wide["features_"].max() > 2**17
    np.testing.assert_array_equal(
        unpack("LabelTreeClassifier", pack("LabelTreeClassifier", wide))["features_"],
        wide["features_"],
    )


def test_other_models_are_stored_in_full_for_older_programs(tmp_path):
    popular = PopularityClassifier().fit(X, Y)
    labelwood.save(popular, tmp_path / "m", precision="int8")
    assert json.loads((tmp_path / "m" / "model.json").read_text())["format_version"] == 2
    assert state(vars(labelwood.load(tmp_path / "m"))) == state(vars(popular))


def test_an_unknown_precision_is_refused(model, tmp_path):
    with pytest.raises(ParameterError, match="'precision' parameter of save"):
        labelwood.save(model, tmp_path / "m", precision="int4")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("packed_masks_", lambda masks: masks[:-1], "do not fit their classifiers"),
        ("packed_masks_", lambda masks: masks | 0xFFFF, "do not fit their masks"),
        ("packed_weights_", lambda numbers: numbers[:-1], "do not fit their masks"),
        ("packed_weights_", lambda numbers: numbers.astype(np.float32), "do not fit"),
        ("packed_scales_", lambda scales: scales[:-1], "do not fit their classifiers"),
    ],
)
def test_packed_arrays_that_do_not_fit_are_refused(model, name, change, message):
    kind = type(model).__name__
    packed = pack(kind, fitted(model))
    with pytest.raises(ModelError, match=message):
        unpack(kind, packed | {name: change(packed[name])})


def test_scales_that_are_not_finite_are_refused(model, tmp_path, monkeypatch):
    kind = type(model).__name__
    packed = pack(kind, fitted(model))
    packed["packed_scales_"][:] = np.inf
    monkeypatch.setattr("labelwood.store.codec.pack", lambda *_: packed)
    labelwood.save(model, tmp_path / "m", precision="int8")
    (file,) = (tmp_path / "m").glob("arrays*")
    assert any(name.endswith("packed_scales_") for name in load_file(file))
    with pytest.raises(ModelError, match="holds NaN or infinity"):
        labelwood.load(tmp_path / "m")
