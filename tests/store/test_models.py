import hashlib
import json
import mmap
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import labelwood
from builders import separable
from labelwood import LabelTreeClassifier, OneVsRestSVM, PopularityClassifier, metrics
from labelwood.errors import ModelError
from labelwood.store import arrays as array_files
from labelwood.store import models as store

FORMATS = Path(__file__).parent / "formats"


@pytest.fixture
def saved(tmp_path):
    """A fitted model and the directory it was saved to."""
    X, Y = separable(50, 4)
    model = OneVsRestSVM(random_state=3).fit(X, Y)
    labelwood.save(model, tmp_path / "model")
    return model, tmp_path / "model", X


def array_file(directory):
    (path,) = directory.glob("arrays*.safetensors")
    return path


def rewrite(directory, change_json=None, change_arrays=None):
    """Change a stored model the way a careful stranger would: hash and all."""
    description = json.loads((directory / "model.json").read_text())
    if change_arrays is not None:
        arrays = dict(load_file(array_file(directory)))
        change_arrays(arrays)
        save_file(arrays, array_file(directory))
        digest = array_files.content_hash(array_file(directory).read_bytes())
        description["manifest"]["arrays_pieces_sha256"] = digest
    if change_json is not None:
        change_json(description)
    if description["manifest"]:
        description["manifest"]["model_sha256"] = store._content_hash(description["model"])
    (directory / "model.json").write_text(json.dumps(description))


def test_a_loaded_model_is_the_saved_one(saved):
    model, directory, X = saved
    loaded = labelwood.load(directory)
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.coef_.toarray(), model.coef_.toarray())
    np.testing.assert_array_equal(loaded.predict_topk(X).scores, model.predict_topk(X).scores)


def test_loaded_arrays_are_maps_of_the_file_that_never_change_it(saved):
    _, directory, _ = saved
    before = array_file(directory).read_bytes()
    loaded = labelwood.load(directory)
    base = loaded.postings_weights_
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, memoryview)
    assert isinstance(base.obj, mmap.mmap)
    loaded.postings_weights_[:] = 0
    assert array_file(directory).read_bytes() == before


def test_the_same_model_gives_the_same_bytes(saved, tmp_path):
    model, directory, _ = saved
    labelwood.save(model, tmp_path / "again")
    for name in ("model.json", array_file(directory).name):
        assert (directory / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_manifest_tells_seed_and_versions(saved):
    _, directory, _ = saved
    manifest = json.loads((directory / "model.json").read_text())["manifest"]
    assert manifest["seed"] == 3
    assert manifest["versions"]["labelwood"] == labelwood.__version__
    assert len(manifest["arrays_pieces_sha256"]) == 64


def test_a_generator_as_seed_is_not_stored(tmp_path):
    X, Y = separable(30, 2)
    labelwood.save(OneVsRestSVM(random_state=np.random.default_rng(0)).fit(X, Y), tmp_path / "m")
    assert labelwood.load(tmp_path / "m").random_state is None


@pytest.mark.parametrize("kind", [OneVsRestSVM, LabelTreeClassifier])
def test_propensities_are_stored_with_what_they_were_computed_from(kind, tmp_path):
    X, Y = separable(50, 4)
    model = kind(propensity=metrics.propensity(Y, a=0.6, b=2.6), random_state=0).fit(X, Y)
    labelwood.save(model, tmp_path / "m")
    assert labelwood.load(tmp_path / "m").get_params() == model.get_params()


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        labelwood.save(OneVsRestSVM(), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_stranger_class_is_not_saved(tmp_path):
    class Other(PopularityClassifier):
        pass

    X, Y = separable(20, 2)
    with pytest.raises(ModelError, match="'Other' is not an estimator of labelwood"):
        labelwood.save(Other().fit(X, Y), tmp_path / "m")


def test_a_table_is_not_saved_and_the_remedy_is_no_method_of_its_own(tmp_path):
    class Frame:
        def to_json(self):
            return "[]"

    remedy = "no estimator and cannot be saved: save a fitted estimator, such as a Tagger"
    with pytest.raises(ModelError, match=remedy):
        labelwood.save(Frame(), tmp_path / "m")


def test_a_model_is_replaced_and_nothing_else_is_left(saved):
    _, directory, X = saved
    other = PopularityClassifier().fit(X, separable(50, 4)[1])
    labelwood.save(other, directory)
    assert isinstance(labelwood.load(directory), PopularityClassifier)
    assert [path.name for path in directory.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("step", ["store_arrays", "replace_description"])
def test_an_interruption_leaves_the_old_model_and_no_litter(saved, monkeypatch, step):
    model, directory, _ = saved
    before = (directory / "model.json").read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"labelwood.store.models.{step}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        labelwood.save(model, directory)
    assert (directory / "model.json").read_bytes() == before
    assert [path.name for path in directory.parent.iterdir()] == ["model"]


def test_what_is_not_a_model_is_not_replaced(saved, tmp_path):
    model, directory, _ = saved
    (directory / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match=r"holds 'thesis.txt', which is no part of a model"):
        labelwood.save(model, directory)
    with pytest.raises(ModelError, match="is a file; give a directory"):
        labelwood.save(model, directory / "thesis.txt")
    assert (directory / "thesis.txt").read_text() == "years of work"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.json").write_text('{"mine": 1}')
    with pytest.raises(ModelError, match="holds something that is not a model"):
        labelwood.save(model, tmp_path / "other")
    with pytest.raises(ModelError, match="is not a writable directory"):
        labelwood.save(model, directory / "model.json" / "m")


def test_a_roundabout_path_or_a_link_names_the_same_model(saved, tmp_path):
    model, directory, X = saved
    labelwood.save(model, directory / ".." / directory.name)
    (tmp_path / "link").symlink_to(directory)
    labelwood.save(PopularityClassifier().fit(X, separable(50, 4)[1]), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert isinstance(labelwood.load(directory), PopularityClassifier)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "model"]


def test_a_swapped_name_is_noticed(saved):
    _, directory, _ = saved
    text = (directory / "model.json").read_text()
    (directory / "model.json").write_text(text.replace('"random_state": 3', '"random_state": 4'))
    with pytest.raises(ModelError, match="it was changed after it was saved"):
        labelwood.load(directory)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: shutil.rmtree(d), "there is no such directory; name that of a saved model"),
        (lambda d: (d / "model.json").unlink(), "is not a model: it has no model.json"),
        (lambda d: array_file(d).unlink(), r"arrays-[0-9a-f]+\.safetensors is missing"),
        (
            lambda d: (d / "model.json").write_bytes((d / "model.json").read_bytes()[:-20]),
            r"model.json is damaged",
        ),
        (lambda d: (d / "model.json").write_bytes(b"\xff\xfe{}"), r"model.json is damaged"),
        (lambda d: (d / "model.json").write_text("[" * 100_000), r"model.json is damaged"),
        (lambda d: (d / "model.json").write_text("{}"), "does not describe a labelwood model"),
        (
            lambda d: array_file(d).write_bytes(array_file(d).read_bytes()[:-1]),
            "its content is not what model.json says",
        ),
    ],
)
def test_a_damaged_directory_is_refused(saved, damage, message):
    _, directory, _ = saved
    damage(directory)
    with pytest.raises(ModelError, match=message):
        labelwood.load(directory)


def changed(*path, to):
    """A change of one entry of model.json."""

    def change(description):
        for key in path[:-1]:
            description = description[key]
        description[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("format_version", to=4), "format version 4; this labelwood reads up to 3"),
        (changed("format_version", to="x"), "format version 'x'"),
        (changed("manifest", to=None), "has no manifest"),
        (changed("model", to={"$call": "os.system"}), r"unknown kind of entry '\$call'"),
        (changed("model", to={"$object": {}}), "'class' is missing"),
        (changed("model", to={"$object": []}), "not a valid labelwood model"),
        (changed("model", "$object", "class", to="Popen"), "'Popen' is not an estimator"),
        (changed("model", "$object", "class", to="load"), "'load' is not an estimator"),
        (changed("model", "$object", "params", "evil", to=1), "unexpected keyword argument"),
        (changed("model", "$object", "fitted", to={}), "this OneVsRestSVM was never fitted"),
        (changed("model", "$object", "fitted", "fit", to=1), "fitted attribute 'fit'"),
        (changed("model", "$object", "fitted", "__dict___", to=1), "fitted attribute '__dict___'"),
        (changed("model", "$object", "fitted", "intercept_", to=[1]), "intercept_ must be"),
        (changed("model", "$object", "fitted", "intercept_", to={"$array": "x"}), "is missing"),
        (changed("model", "$object", "fitted", "n_features_in_", to=3), "postings of the features"),
        (changed("model", "$object", "params", "C", to=-1), "must be a number > 0"),
        (changed("model", "$object", "fitted", "classes_", to=None), "classes_ must be"),
        (
            changed("model", "$object", "fitted", "intercept_", to={"$csr": {}, "$array": "x"}),
            "mixes",
        ),
        (changed("model", to=json.loads("[" * 600 + "]" * 600)), "not a valid labelwood model"),
    ],
)
def test_a_changed_description_is_refused(saved, change, message):
    _, directory, _ = saved
    rewrite(directory, change_json=change)
    with pytest.raises(ModelError, match=message):
        labelwood.load(directory)


def put(name, value):
    def change(arrays):
        arrays[f"OneVsRestSVM.{name}"] = value(arrays[f"OneVsRestSVM.{name}"])

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("postings_blocks_", lambda a: a + 1000), "postings of the features"),
        (put("postings_blocks_", lambda a: a.astype(np.int64)), "must be an array of uint32"),
        (put("postings_indptr_", lambda a: a + 5), "postings of the features"),
        (put("postings_indptr_", lambda a: a[::-1].copy()), "postings of the features"),
        (put("postings_weights_", lambda a: a[:-1].copy()), "postings of the features"),
        (put("postings_weights_", lambda a: a.astype(np.float64)), "must be an array of float32"),
        (put("lane_labels_", lambda a: a + 9), "lane_labels_ names a label"),
        (put("lane_labels_", lambda a: a[:-1].copy()), "postings of the features"),
        (put("intercept_", lambda a: a[:-1].copy()), "intercept_ must be an array of float32"),
    ],
)
def test_arrays_that_would_send_a_kernel_astray_are_refused(saved, change, message):
    _, directory, _ = saved
    rewrite(directory, change_arrays=change)
    with pytest.raises(ModelError, match=message):
        labelwood.load(directory)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(saved, number):
    _, directory, _ = saved

    def change(weights):
        weights[0] = number
        return weights

    rewrite(directory, change_arrays=put("postings_weights_", change))
    with pytest.raises(ModelError, match=r"OneVsRestSVM\.postings_weights_ holds NaN or infinity"):
        labelwood.load(directory)


def test_numbers_that_are_not_finite_on_purpose_are_kept(saved, tmp_path):
    model, _, _ = saved
    model.objective_ = np.full_like(model.objective_, np.nan)
    labelwood.save(model, tmp_path / "m")
    assert np.isnan(labelwood.load(tmp_path / "m").objective_).all()


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_random_damage_never_ends_in_anything_but_a_refusal(tmp_path_factory, data):
    X, Y = separable(12, 2)
    directory = tmp_path_factory.mktemp("fuzz") / "model"
    labelwood.save(PopularityClassifier().fit(X, Y), directory)
    name = data.draw(st.sampled_from(["model.json", array_file(directory).name]))
    content = bytearray((directory / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    (directory / name).write_bytes(content)
    try:
        loaded = labelwood.load(directory)
    except ModelError:
        return
    assert loaded.predict_topk(X, 1).k == 1  # a changed word in the manifest does no harm


def test_models_of_every_released_format_still_load():
    directories = sorted(FORMATS.iterdir())
    assert directories
    for directory in directories:
        model = labelwood.load(directory)
        expected = json.loads((directory / "expected.json").read_text())
        assert model.predict_topk(["the owl and the cat"], k=2).names() == expected


def test_a_large_file_has_the_hash_of_the_hashes_of_its_pieces():
    content = np.random.default_rng(0).bytes(2 * 2**23 + 5)
    pieces = [content[start : start + 2**23] for start in range(0, len(content), 2**23)]
    joined = b"".join(hashlib.sha256(piece).digest() for piece in pieces)
    assert len(pieces) == 3
    assert array_files.content_hash(content) == hashlib.sha256(joined).hexdigest()


@pytest.mark.parametrize("size", [0, 5, 2**23])
def test_a_file_of_one_piece_has_its_plain_hash(size):
    assert array_files.content_hash(b"x" * size) == hashlib.sha256(b"x" * size).hexdigest()


def test_a_model_with_the_hash_of_its_whole_file_is_read(saved, monkeypatch):
    model, directory, X = saved
    description = json.loads((directory / "model.json").read_text())
    content = array_file(directory).read_bytes()
    del description["manifest"]["arrays_pieces_sha256"]
    description["manifest"]["arrays_sha256"] = hashlib.sha256(content).hexdigest()
    (directory / "model.json").write_text(json.dumps(description))
    monkeypatch.setattr(array_files.content_hash, "__defaults__", (64,))  # many pieces, were it cut
    loaded = labelwood.load(directory)
    np.testing.assert_array_equal(loaded.predict_topk(X).scores, model.predict_topk(X).scores)
