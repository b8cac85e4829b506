import json
import lzma

import pytest

from labelwood import pydocs, studies


def test_both_rules_are_measured_on_the_same_folds(tmp_path):
    folder = tmp_path / "reuters21578"
    folder.mkdir()
    kinds = [("a cat on a mat", ["cat"]), ("a dog", ["dog"]), ("a cat and a dog", ["cat", "dog"])]
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in kinds * 20]
    (folder / "train.jsonl.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    (row,) = studies.run("thresholds", data=tmp_path, only="reuters21578", quick=True, jobs=1).rows
    assert (row["samples"], row["labels"]) == (60, 2)
    assert row["F1 chosen"] == pytest.approx(100)
    assert 0 < row["threshold"] < 1
    assert row["untagged chosen"] <= row["untagged zero"]


@pytest.mark.parametrize("labels", ["parameters", "modules"])
def test_docstrings_need_no_data_folder_and_a_fifth_of_them_is_set_aside(labels):
    part = f"pydocs, {labels}"
    (row,) = studies.run("thresholds", only=part, quick=True, jobs=1).rows
    everything = pydocs(["joblib", "rich"], labels=labels)
    assert row["samples"] == min(round(0.8 * len(everything)), 200)
    assert row["labels"] == everything.n_labels
    assert row["F1 chosen"] > row["F1 zero"]
    assert row["untagged chosen"] <= row["untagged zero"]
