import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from labelwood import HierarchicalPerceptron, HierarchicalRLSClassifier, Taxonomy
from labelwood.errors import DataError, LabelwoodWarning, ModelError, ParameterError
from labelwood.taxonomy.hierarchy import Nodes
from taxonomy.hierarchies import FOREST, consistent, labeled_forest, node_examples, on_line


def perceptron(S, v, n_epochs=1):
    """Weights and mistakes of the Perceptron on the columns of S, one by one."""
    weights, mistakes = np.zeros(len(S)), 0
    for _ in range(n_epochs):
        for x, sign in zip(S.T, v, strict=True):
            if sign * (weights @ x) <= 0:
                weights, mistakes = weights + sign * x, mistakes + 1
    return weights, mistakes


@pytest.mark.parametrize("train", ["hierarchical", "independent"])
@pytest.mark.parametrize("n_epochs", [1, 3])
def test_every_node_is_a_perceptron_on_its_own_examples(train, n_epochs):
    X, Y = labeled_forest(90, 8)
    model = HierarchicalPerceptron(FOREST, train=train, n_epochs=n_epochs).fit(X, Y)
    for node in range(len(FOREST)):
        S, v = node_examples(X, Y, FOREST, node, independent=train == "independent")
        wanted, _ = perceptron(S, v, n_epochs)
        np.testing.assert_allclose(model.coef_.toarray()[node], wanted, atol=1e-6)


def test_on_line_learning_ends_where_one_pass_does_and_counts_mistakes():
    X, Y = labeled_forest(90, 8)
    stream = on_line(HierarchicalPerceptron(FOREST), X, Y, 7)
    whole = HierarchicalPerceptron(FOREST).fit(X, Y)
    np.testing.assert_array_equal(stream.coef_.toarray(), whole.coef_.toarray())
    for node in range(len(FOREST)):
        S, v = node_examples(X, Y, FOREST, node)
        assert stream.n_support_[node] == perceptron(S, v)[1]
        assert stream.n_seen_[node] == v.size
        assert stream.n_positive_[node] == (v > 0).sum()


def test_a_fit_that_is_interrupted_in_a_later_epoch_leaves_the_model_as_it_was(monkeypatch):
    X, Y = labeled_forest(90, 8)
    model = HierarchicalPerceptron(FOREST, n_epochs=3).fit(X, Y)
    learn, before, calls = Nodes.learn, model.coef_.toarray(), []

    def learn_and_stop(*examples):
        calls.append(learn(*examples))
        if len(calls) > 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(Nodes, "learn", learn_and_stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:50], Y[:50])
    np.testing.assert_array_equal(model.coef_.toarray(), before)
    assert "support_counts_" not in vars(model)


def test_predictions_agree_with_the_forest():
    X, Y = labeled_forest(300, 8)
    model = HierarchicalPerceptron(FOREST).fit(X[:200], Y[:200])
    predicted = model.predict(X[200:])
    assert consistent(predicted, FOREST)
    assert predicted.nnz > 0
    for path in model.explain(X[200:]):
        assert all(one.predicted and one.margin > 0 and one.estimate is None for one in path)
    given = [sorted(one.label for one in path) for path in model.explain(X[200:])]
    assert given == [row.tolist() for row in np.split(predicted.indices, predicted.indptr[1:-1])]


@pytest.mark.parametrize("stop", [1, 50])
def test_learning_that_was_interrupted_goes_on_bit_by_bit(tmp_path, stop):
    X, Y = labeled_forest(90, 8)
    straight = HierarchicalPerceptron(FOREST).partial_fit(X[:stop], Y[:stop])
    labelwood.save(straight, tmp_path / "model")
    resumed = labelwood.load(tmp_path / "model").partial_fit(X[stop:], Y[stop:])
    straight.partial_fit(X[stop:], Y[stop:])
    assert resumed.coef_.data.tobytes() == straight.coef_.data.tobytes()
    assert resumed.n_support_.tolist() == straight.n_support_.tolist()


def test_it_has_no_use_for_an_inverse(tmp_path):
    X, Y = labeled_forest(90, 8)
    model = HierarchicalPerceptron(FOREST).partial_fit(X, Y)
    assert all(one.size == 0 for one in model.support_inverse_)
    model.support_inverse_[0] = np.zeros(3)
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match="the support of label 0 is inconsistent"):
        labelwood.load(tmp_path / "model")


def test_bad_input_gets_the_lines_that_least_squares_give():
    X, Y = labeled_forest(30, 8)
    model = HierarchicalPerceptron(FOREST).partial_fit(X, Y)
    with pytest.raises(DataError, match=r"Row 0 has labels without their parents: 'a1'"):
        model.partial_fit(X[:1], np.eye(7)[[3]])
    with pytest.raises(DataError, match="X has 7 features, but HierarchicalPerceptron is"):
        model.partial_fit(X[:, :7], Y)
    other = Taxonomy(FOREST.names, np.full(7, -1))
    with pytest.raises(DataError, match="The taxonomy is not the one that learning began with"):
        model.set_params(taxonomy=other).partial_fit(X, Y)
    with pytest.raises(ParameterError, match="'n_epochs' parameter of HierarchicalPerceptron"):
        HierarchicalPerceptron(n_epochs=0).fit(X, Y)


def test_an_empty_row_is_skipped():
    X, Y = labeled_forest(30, 8)
    padded = sp.vstack([sp.csr_array((1, 8), dtype=np.float32), X], format="csr")
    with pytest.warns(LabelwoodWarning, match="^1 of 31 rows are empty and are skipped"):
        model = HierarchicalPerceptron(FOREST).partial_fit(
            padded, sp.vstack([Y[[0]], Y], format="csr")
        )
    plain = HierarchicalPerceptron(FOREST).partial_fit(X, Y)
    assert model.coef_.data.tobytes() == plain.coef_.data.tobytes()
    assert model.predict(padded[:1]).nnz == 0


@pytest.mark.shared
def test_least_squares_beat_it_on_newswire(shared_data):
    folder = shared_data / "rcv1-15k-hier"
    train, test = (labelwood.load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    tree = Taxonomy.from_file(folder / "hierarchy.txt", columns="parent child")
    tree = tree.align([str(label) for label in range(train.n_labels)])
    losses = {}
    for kind in (HierarchicalRLSClassifier, HierarchicalPerceptron):
        with pytest.warns(LabelwoodWarning, match="1 of 103 labels has no sample"):
            model = kind(tree, n_jobs=2).fit(train.X, train.Y)
        losses[kind] = labelwood.metrics.any_wrong_loss(test.Y, model.predict(test.X), tree)
    assert losses[HierarchicalRLSClassifier] < losses[HierarchicalPerceptron] - 0.08
