import lzma

import numpy as np
import pytest

from labelwood import studies
from labelwood.studies.reuters_rules import breakeven

WORDS = ["shr", "div", "dividend", "payout", "qtr", "merger", "stake", "the", "of", "in"]
TOPICS = ["acq", "earn", "grain"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "reuters21578").mkdir()
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        lines = ["240 10 3"]
        for i in range(240):
            topic = i % 3
            words = {0: [5, 6], 1: [0, 2], 2: [8]}[topic]
            words = [w for w in words if rng.random() < 0.9] + [7, 9]
            lines.append(f"{topic} " + " ".join(f"{w}:1" for w in sorted(set(words))))
        with lzma.open(folder / "reuters21578" / f"{part}.txt.xz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    (folder / "reuters21578" / "labels.txt").write_text("\n".join(TOPICS) + "\n")
    (folder / "reuters21578" / "features.txt").write_text("\n".join(WORDS) + "\n")
    return studies.run("reuters-rules", data=folder, quick=True, jobs=1).rows


def test_every_learner_has_a_row_for_each_topic_and_the_averages(rows):
    trees = [row["topic"] for row in rows if row["learner"] == "rule trees"]
    assert trees == [*TOPICS, "ten, mean", "ten, micro", "all, micro"]
    assert {row["topic"] for row in rows if row["learner"] == "12 printed rules"} == set(TOPICS)


def test_the_rules_of_the_lecture_stand_in_the_same_table(rows):
    lecture = [row for row in rows if row["learner"] == "ten rules of the lecture"]
    assert [row["topic"] for row in lecture] == ["earn"]
    assert lecture[0]["breakeven"] > 90


def test_published_figures_are_marked_by_their_authors(rows):
    published = [row for row in rows if "19" in str(row["learner"])]
    assert {row["breakeven"] for row in published} == {96.1, 79.4, 97.8, 88.4}


def test_breakeven_is_where_precision_equals_recall():
    truth = np.array([1, 0, 1, 0, 0])
    assert breakeven(truth, np.array([5.0, 4, 3, 2, 1])) == 50
    assert breakeven(truth, np.array([5.0, 1, 4, 2, 3])) == 100
    assert breakeven(truth, np.zeros(5)) == pytest.approx(40)
    assert np.isnan(breakeven(np.zeros(3), np.arange(3.0)))
