"""Model directories: whole at every moment, for readers, for other savers and after a kill."""

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load as load_safetensors

import labelwood
from builders import separable
from labelwood import PopularityClassifier
from labelwood.errors import ModelError
from labelwood.store import directory as directories
from labelwood.store.arrays import read_arrays, write_arrays

STRESS = Path(__file__).with_name("stress.py")


def stress(*arguments):
    command = [sys.executable, STRESS, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def popularity(n_labels=3):
    X, Y = separable(20, n_labels)
    return PopularityClassifier().fit(X, Y)


def check_race(counts):
    whole = counts.pop("whole a", 0), counts.pop("whole b", 0)
    assert min(whole) > 0
    assert counts == {"savers that failed": 0, "left over": 0}


def test_loads_beside_two_savers_get_whole_models():
    check_race(stress("race", 3))


@pytest.mark.slow
def test_loads_beside_two_savers_get_whole_models_for_five_minutes():
    check_race(stress("race", 300))


def check_kills(counts, n):
    assert counts.pop("whole a", 0) + counts.pop("whole b", 0) == n
    assert counts.pop("files left by the kill") >= 0
    assert counts == {"left over after the next save": 0}


def test_a_killed_save_leaves_a_whole_model():
    check_kills(stress("kills", 10), 10)


@pytest.mark.slow
def test_two_hundred_killed_saves_leave_whole_models():
    check_kills(stress("kills", 200), 200)


def test_a_save_that_ends_before_any_of_its_steps_leaves_a_whole_model():
    counts = stress("steps")
    assert counts.pop("steps") > 15
    assert counts.pop("whole a") + counts.pop("whole b") > 10
    assert counts.pop("no model yet") > 0
    assert counts == {"left over": 0}


def test_both_files_have_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        labelwood.save(popularity(), tmp_path / "m")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "m").iterdir()}
    assert modes == {0o640}


def test_both_files_are_on_the_disk_before_the_model_is_named(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor):
        events.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def replaced(source, target):
        events.append(Path(target).name)
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    labelwood.save(popularity(), tmp_path / "m")
    arrays, description = sorted((tmp_path / "m").iterdir())
    folder = (tmp_path / "m").stat().st_ino
    assert events == [
        arrays.stat().st_ino, arrays.name, description.stat().st_ino, folder, "model.json", folder
    ]  # fmt: skip


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_one_line_and_the_old_model_stays(tmp_path, monkeypatch, step):
    labelwood.save(popularity(2), tmp_path / "m")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, full)
    with pytest.raises(ModelError, match="cannot be written: No space left on device; make space"):
        labelwood.save(popularity(3), tmp_path / "m")
    assert labelwood.load(tmp_path / "m").classes_.size == 2
    assert len(list((tmp_path / "m").iterdir())) == 2
    with pytest.raises(ModelError, match="No space left"):
        labelwood.save(popularity(3), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_model_that_does_not_fit_on_the_disk_is_refused_before_it_is_written(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(directories.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(ModelError, match=r"needs about .* MB and 0\.0 MB are free there"):
        labelwood.save(popularity(), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_model_of_format_1_is_replaced_by_one_of_format_2(tmp_path):
    source = Path(__file__).parent / "formats" / "1"
    (tmp_path / "m").mkdir()
    for name in ("model.json", "arrays.safetensors"):
        (tmp_path / "m" / name).write_bytes((source / name).read_bytes())
    labelwood.save(popularity(), tmp_path / "m")
    names = sorted(path.name for path in (tmp_path / "m").iterdir())
    assert names[0].startswith("arrays-")
    assert names[1:] == ["model.json"]


@pytest.mark.parametrize("name", ["../m/model.json", "/etc/passwd", "arrays-xyz.safetensors", 3])
def test_arrays_are_read_from_the_directory_and_from_nowhere_else(tmp_path, name):
    labelwood.save(popularity(), tmp_path / "m")
    description = json.loads((tmp_path / "m" / "model.json").read_text())
    description["manifest"]["arrays_file"] = name
    (tmp_path / "m" / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelError, match="names no array file of a model"):
        labelwood.load(tmp_path / "m")


ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array([True, False, True]),
    "c": np.array([1, -2], dtype=">i8"),
    "d": np.empty((0, 3), dtype=np.uint16),
    "e": np.arange(10, dtype=np.float64)[::2],
}


def stored(arrays, tmp_path):
    with open(tmp_path / "arrays", "wb") as file:
        write_arrays(file, arrays)
    return (tmp_path / "arrays").read_bytes()


def test_arrays_are_written_as_the_safetensors_library_reads_them(tmp_path):
    content = stored(ARRAYS, tmp_path)
    for found in (load_safetensors(content), read_arrays(content, "file")):
        assert set(found) == set(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype.newbyteorder("=")


def with_header(content, change):
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    change(header)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["a"].update(dtype="F16"), "'a' holds numbers of the unknown type 'F16'"),
        (lambda h: h["a"].update(shape=[2, 4]), "the place of 'a' does not fit its shape"),
        (lambda h: h["a"].update(shape=[-2, -3]), "no whole numbers"),
        (lambda h: h["a"].update(shape=[2.0, 3]), "no whole numbers"),
        (lambda h: h["a"].update(shape=6), "not a valid array file"),
        (lambda h: h["a"].update(data_offsets=[0, 24]), "does not fit its shape"),
        (lambda h: h["a"].update(data_offsets="ab"), "not a valid array file"),
        (lambda h: h.pop("b"), "its arrays have .* bytes and the file"),
        (lambda h: h.update(z=3), "not a valid array file"),
        (lambda h: h["d"].update(shape=[0, 2**63]), "not a valid array file"),
    ],
)
def test_array_files_with_a_wrong_header_are_refused(tmp_path, change, message):
    with pytest.raises(ModelError, match=message):
        read_arrays(with_header(stored(ARRAYS, tmp_path), change), "file")


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 7, b"\xff" * 8, (5).to_bytes(8, "little") + b"[1,2]", b"\2" + b"\0" * 7 + b"[{"],
)
def test_what_is_no_array_file_is_refused(content):
    with pytest.raises(ModelError, match="is not a valid array file"):
        read_arrays(content, "file")
