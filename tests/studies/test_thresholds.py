import json
import lzma

import pytest

from labelwood import studies


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
