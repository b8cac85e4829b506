"""Changed files of every format: read or refused, never anything else."""

import pytest

from data.readers.mutations import attack, samples


def wrong(found):
    return {
        name: [one for one in counts if one.startswith("wrong")] for name, counts in found.items()
    }


def test_every_unchanged_sample_is_read(tmp_path):
    for name, (suffix, data, read) in samples().items():
        path = tmp_path / f"file{suffix}"
        path.write_bytes(data)
        assert repr(read(path)), name


def test_a_changed_file_is_read_or_refused():
    found = attack(150, seed=1)
    assert wrong(found) == {name: [] for name in found}
    assert all(counts["refused"] > 5 for counts in found.values())


@pytest.mark.slow
def test_fifty_thousand_changed_files_of_each_format_are_read_or_refused():
    found = attack(50_000)
    print(found)
    assert wrong(found) == {name: [] for name in found}
