import numpy as np
import pytest
import scipy.sparse as sp

from labelwood import (
    AnnotationTreeClassifier,
    OneVsRestSVM,
    load_dataset,
    metrics,
    save_dataset,
    studies,
    synthetic,
)
from labelwood.studies.coding_trees import _sets_as_labels

LEARNERS = ["one-vs-rest", "label powerset", "FastXML", "PT", "AT", "PT, budget", "AT, budget"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Made-up points in place of CAL500 (one file, folds) and of Bibtex (two files)."""
    place = tmp_path_factory.mktemp("study")
    made = synthetic(200, 60, 12, n_test=80, random_state=0)
    for name in ("bibtex", "cal500"):
        (place / name).mkdir()
    save_dataset(made.train, place / "cal500" / "all.txt.xz")
    save_dataset(made.train, place / "bibtex" / "train.txt.xz")
    save_dataset(made.test, place / "bibtex" / "test.txt.xz")
    return place


@pytest.fixture(scope="module")
def result(folder):
    return studies.run("coding-trees", data=folder, quick=True, jobs=1)


def row_of(result, data, learner):
    (row,) = [row for row in result.rows if (row["data"], row["learner"]) == (data, learner)]
    return row


def test_every_learner_is_measured_on_every_data_set_that_is_there(result):
    measured = [(r["data"], r["learner"]) for r in result.rows if "published" not in r["learner"]]
    assert measured == [(data, one) for data in ("cal500", "bibtex") for one in LEARNERS]
    assert list(result.skipped) == ["corel5k", "delicious", "eurlex57k"]


def test_published_figures_stand_below_ours(result):
    learners = [row["learner"] for row in result.rows]
    for learner, f1 in (("PT", 0.324), ("AT", 0.362)):
        assert learners[learners.index(learner) + 1] == f"{learner}, published"
        assert row_of(result, "cal500", f"{learner}, published")["F1"] == f1
    assert not [r for r in result.rows if r["data"] == "bibtex" and "published" in r["learner"]]


def test_f1_is_that_of_the_predicted_label_sets(result, folder):
    train, test = (load_dataset(folder / "bibtex" / f"{one}.txt.xz") for one in ("train", "test"))
    model = AnnotationTreeClassifier(random_state=0).fit(train.X, train.Y)
    row = row_of(result, "bibtex", "AT")
    assert row["F1"] == pytest.approx(metrics.f1_score(test.Y, model.predict(test.X)))
    top = model.predict_topk(test.X, 5)
    assert row["F1@5"] == pytest.approx(metrics.f1_at_k(test.Y, top, 5))
    assert row["decisions"] == pytest.approx(model.mean_decisions(test.X))
    assert row["±"] is None


def test_label_powerset_gives_the_set_whose_decision_is_largest(result, folder):
    train, test = (load_dataset(folder / "bibtex" / f"{one}.txt.xz") for one in ("train", "test"))
    names = [" ".join(map(str, np.flatnonzero(row))) for row in train.Y.toarray()]
    model = OneVsRestSVM(random_state=0).fit(train.X, [[name] for name in names])
    best = model.decision_function(test.X).toarray().argmax(axis=1)
    predicted = np.zeros(test.Y.shape)
    for row, name in zip(predicted, model.classes_[best], strict=True):
        row[[int(label) for label in name.split()]] = 1
    row = row_of(result, "bibtex", "label powerset")
    assert row["decisions"] == len(set(names))
    assert row["F1"] == pytest.approx(metrics.f1_score(test.Y, sp.csr_array(predicted)), abs=0.02)


def test_a_label_set_becomes_one_label_and_can_be_looked_up_again():
    made = synthetic(100, 20, 6, random_state=0)
    coded, sets = _sets_as_labels(made.train)
    assert np.diff(coded.Y.indptr).tolist() == [1] * 100
    assert (sets[coded.Y.indices] != made.train.Y).nnz == 0
    assert len({tuple(row) for row in sets.toarray()}) == sets.shape[0]


def test_figures_of_folds_come_with_their_standard_deviation(result):
    row = row_of(result, "cal500", "AT")
    assert 0 < row["±"] < 0.2
    assert row["F1"] > 0.1


def test_speed_is_relative_to_one_vs_rest(result):
    slow = row_of(result, "bibtex", "one-vs-rest")
    assert slow["speed"] == 1
    for learner in LEARNERS:
        row = row_of(result, "bibtex", learner)
        assert row["speed"] * row["µs a point"] == pytest.approx(slow["µs a point"])


def test_the_plot_names_the_learners_and_what_was_published(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("coding-trees").draw, result.rows).decode()
    for text in ("cal500", "bibtex", *LEARNERS, "AT, published"):
        assert f">{text}<" in image


@pytest.mark.shared
def test_it_runs_on_the_real_data(shared_data):
    result = studies.run("coding-trees", data=shared_data, only=("corel5k", "cal500"), quick=True)
    assert len(result.rows) == 14 + 11
