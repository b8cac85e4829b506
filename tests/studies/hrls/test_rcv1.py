import numpy as np
import pytest

from labelwood import (
    HierarchicalPerceptron,
    HierarchicalRLSClassifier,
    LabelTreeClassifier,
    load_dataset,
    metrics,
    save_dataset,
    studies,
)
from labelwood.data.dataset import Dataset
from labelwood.studies.hrls.rcv1 import LEARNERS, MARGINS, PUBLISHED
from taxonomy.hierarchies import FOREST, labeled_forest

N_TRAIN, N_TEST = 300, 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Made-up documents along a small forest, in the files of the real ones."""
    place = tmp_path_factory.mktemp("study") / "rcv1-15k-hier"
    place.mkdir()
    X, Y = labeled_forest(N_TRAIN + N_TEST, 12)
    for name, rows in (("train", slice(N_TRAIN)), ("test", slice(N_TRAIN, None))):
        save_dataset(Dataset(X=X[rows], Y=Y[rows]), place / f"{name}.txt.xz")
    edges = [f"{parent} {child}\n" for child, parent in enumerate(FOREST.parent)]
    (place / "hierarchy.txt").write_text("".join(edges))
    return place.parent


@pytest.fixture(scope="module")
def result(folder):
    return studies.run("hrls-rcv1", data=folder, jobs=1)


@pytest.fixture(scope="module")
def parts(folder):
    place = folder / "rcv1-15k-hier"
    return [load_dataset(place / f"{name}.txt.xz") for name in ("train", "test")]


def row_of(result, learner, part="test"):
    (row,) = [r for r in result.rows if (r["part"], r["learner"]) == (part, learner)]
    return row


def test_every_learner_is_measured_and_followed_by_what_was_published(result):
    learners = [row["learner"] for row in result.rows if row["part"] == "test"]
    assert [one for one in learners if "published" not in one] == list(LEARNERS)
    for learner, figure in PUBLISHED.items():
        assert learners[learners.index(learner) + 1] == f"{learner}, published"
        assert row_of(result, f"{learner}, published")["any wrong"] == figure


@pytest.mark.parametrize(
    ("learner", "model"),
    [
        ("RLS, exact", HierarchicalRLSClassifier(FOREST)),
        ("RLS, exact, independent", HierarchicalRLSClassifier(FOREST, train="independent")),
        ("Perceptron", HierarchicalPerceptron(FOREST)),
        ("Perceptron, independent", HierarchicalPerceptron(FOREST, train="independent")),
        ("label tree", LabelTreeClassifier(random_state=0)),
    ],
)
def test_figures_are_those_of_the_label_sets_with_their_ancestors(result, parts, learner, model):
    train, test = parts
    predicted = model.fit(train.X, train.Y).predict(test.X).toarray()
    for node in FOREST.order[::-1]:
        if FOREST.parent[node] >= 0:
            predicted[:, FOREST.parent[node]] += predicted[:, node]
    wrong = np.any((predicted > 0) != (test.Y.toarray() > 0), axis=1).mean()
    row = row_of(result, learner)
    assert row["any wrong"] == pytest.approx(100 * wrong)
    assert row["±"] == pytest.approx(100 * np.sqrt(wrong * (1 - wrong) / N_TEST))
    f1 = metrics.f1_score(test.Y, (predicted > 0).astype(float), average="micro")
    assert row["F1"] == pytest.approx(100 * f1)


def test_kept_examples_are_counted_by_node_and_by_document(result, parts):
    train, _ = parts
    model = HierarchicalRLSClassifier(FOREST, store="margin", max_support=2000)
    model.partial_fit(train.X, train.Y)
    row = row_of(result, "RLS, space-efficient")
    assert row["kept"] == pytest.approx(100 * model.n_support_.sum() / model.n_seen_.sum())
    kept = [rows[:n] for rows, n in zip(model.support_rows_, model.n_support_, strict=True)]
    assert row["documents"] == pytest.approx(100 * len(set(np.hstack(kept))) / N_TRAIN)
    assert 0 < row["kept"] < row["documents"] <= 100
    assert "kept" not in row_of(result, "label tree")


def test_the_margin_is_chosen_without_the_test_set(result, parts):
    train, _ = parts
    exact = HierarchicalRLSClassifier(FOREST).fit(train.X[:240], train.Y[:240])
    wrong = 100 * metrics.any_wrong_loss(train.Y[240:], exact.predict(train.X[240:]), FOREST)
    first, *others = [row for row in result.rows if row["part"] == "margin"]
    assert first["any wrong"] == pytest.approx(wrong)
    assert len(others) == len(MARGINS)
    near = [row["any wrong"] <= first["any wrong"] + first["±"] for row in others]
    taken = ["taken" in row["learner"] for row in others]
    assert taken == [i == near.index(True) for i in range(len(near))]


def test_the_plot_names_parts_and_learners(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("hrls-rcv1").draw, result.rows).decode()
    for text in ("margin", "test", *LEARNERS, "Perceptron, published"):
        assert f">{text}<" in image


@pytest.mark.shared
def test_it_runs_on_the_real_data(shared_data):
    result = studies.run("hrls-rcv1", data=shared_data, only="test", quick=True)
    assert len(result.rows) == len(LEARNERS) + len(PUBLISHED)
    assert all(0 < row["any wrong"] < 100 for row in result.rows)
