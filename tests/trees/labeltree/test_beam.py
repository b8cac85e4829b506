import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import random_csr
from labelwood.core.sparse import csr_arrays
from labelwood.trees.labeltree._beam_kernels import (
    _LOOKUP,
    above_of_trees,
    search_tree,
    topk_of_trees,
)
from labelwood.trees.labeltree.arrays import Search
from trees.labeltree.forests import (
    beam_search,
    hinge_log_scores,
    log_scores,
    random_forest,
    slots,
    ways,
)

D, L = 60, 70


def search(forest, X, *, root=0, beam=10, logistic=False, path_weight=1.0, by_rows=False):
    directory, postings = ways(forest, X.shape[1])[by_rows]
    shape = (X.shape[0], beam * forest.width)
    labels, values = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float32)
    filled = np.zeros(shape[0], dtype=np.int64)
    options = Search(beam, logistic, path_weight)
    search_tree(
        csr_arrays(X), X.shape[1], forest, directory, postings, root, forest.width, options, labels,
        values, filled,
    )  # fmt: skip
    return [(labels[row, :size].tolist(), values[row, :size]) for row, size in enumerate(filled)]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1000),
    beam=st.integers(1, 25),
    logistic=st.booleans(),
    path_weight=st.sampled_from([1.0, 0.25, 0.0]),
    gaps=st.booleans(),
    by_rows=st.booleans(),
)
def test_the_beam_reaches_what_a_plain_search_reaches(
    seed, beam, logistic, path_weight, gaps, by_rows
):
    forest = random_forest(D, L, n_trees=2, gaps=gaps, seed=seed)
    X = random_csr(8, D, density=0.15, seed=seed)
    logs = log_scores(forest, X, logistic=logistic)
    for root in forest.roots:
        options = {"beam": beam, "logistic": logistic, "path_weight": path_weight}
        found = search(forest, X, root=root, by_rows=by_rows, **options)
        for row, (labels, values) in enumerate(found):
            wanted = beam_search(forest, logs[row], root, beam, path_weight)
            assert len(set(labels)) == len(labels)
            assert set(labels) == set(wanted)
            expected = [wanted[label] for label in labels]
            np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4)


def every_way(forest, logs, node, path, path_weight):
    """The log scores of all labels under a node."""
    if forest.is_leaf[node]:
        return {
            int(forest.children[lane]): logs[lane] + path_weight * path
            for lane in slots(forest, node)
        }
    return {
        label: value
        for lane in slots(forest, node)
        for label, value in every_way(
            forest, logs, forest.children[lane], path + logs[lane], path_weight
        ).items()
    }


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("path_weight", [1.0, 0.25])
@pytest.mark.parametrize("by_rows", [False, True])
def test_a_beam_as_wide_as_the_tree_scores_every_label(logistic, path_weight, by_rows):
    forest = random_forest(D, L, gaps=True)
    X = random_csr(20, D, density=0.15)
    logs = log_scores(forest, X, logistic=logistic)
    options = {"logistic": logistic, "path_weight": path_weight, "by_rows": by_rows}
    found = search(forest, X, beam=L, **options)
    for row, (labels, values) in enumerate(found):
        wanted = every_way(forest, logs[row], 0, 0.0, path_weight)
        assert sorted(labels) == sorted(wanted) == list(range(L))
        expected = [wanted[label] for label in labels]
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("beam", [1, 3, 10])
def test_a_row_scores_the_same_to_the_bit_alone_and_among_others(logistic, beam):
    forest = random_forest(400, L, gaps=True, seed=1)
    X = random_csr(60, 400, density=0.02, seed=1)
    together = search(forest, X, beam=beam, logistic=logistic, path_weight=0.25)
    blocks = np.diff(forest.block_indptr)
    assert X.nnz * _LOOKUP > blocks.max()  # at the root, all rows together spread it out
    assert np.diff(X.indptr).max() * _LOOKUP < blocks.min()  # and one row looks things up
    by_rows = search(forest, X, beam=beam, logistic=logistic, path_weight=0.25, by_rows=True)
    for row, (labels, values) in enumerate(together):
        ((alone, its_values),) = search(
            forest, X[[row]], beam=beam, logistic=logistic, path_weight=0.25
        )
        assert alone == labels == by_rows[row][0]
        assert its_values.tobytes() == values.tobytes() == by_rows[row][1].tobytes()


@pytest.mark.parametrize("by_rows", [False, True])
def test_rows_without_features_go_by_the_intercepts(by_rows):
    forest = random_forest(D, L)
    found = search(forest, sp.csr_array((2, D), dtype=np.float32), beam=3, by_rows=by_rows)
    wanted = beam_search(forest, hinge_log_scores(forest.intercepts), 0, 3, 1.0)
    for labels, values in found:
        assert set(labels) == set(wanted)
        np.testing.assert_allclose(values, [wanted[label] for label in labels], rtol=1e-5)


def test_rows_have_nothing_to_do_with_each_other():
    forest = random_forest(D, L)
    X = random_csr(30, D, density=0.2)
    order = np.random.default_rng(0).permutation(30)
    straight, shuffled = search(forest, X, beam=2), search(forest, X[order], beam=2)
    for place, row in enumerate(order):
        assert shuffled[place][0] == straight[row][0]
        assert shuffled[place][1].tobytes() == straight[row][1].tobytes()


@st.composite
def reached(draw):
    """What some trees have reached for three rows: few different scores, so many are equal."""
    shape = (draw(st.integers(1, 3)), 3, 8)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = np.stack([rng.permutation(12)[:8] for _ in range(shape[0] * 3)]).reshape(shape)
    values = rng.choice([0.0, -1.0, -2.0, -500.0], shape)
    filled = rng.integers(0, 9, shape[:2])
    return labels.astype(np.int32), values.astype(np.float32), filled


def means(labels, values, filled):
    """For each row the labels reached and the mean of their scores over the trees."""
    n_trees, n = filled.shape
    rows = [{} for _ in range(n)]
    for tree in range(n_trees):
        for row in range(n):
            for j in range(filled[tree, row]):
                score = max(np.exp(np.float64(values[tree, row, j])), 1e-30) / n_trees
                label = int(labels[tree, row, j])
                rows[row][label] = rows[row].get(label, 0) + score
    return rows


@given(found=reached(), k=st.integers(1, 14))
def test_the_best_come_first_and_among_equals_the_smaller_label(found, k):
    labels, scores = topk_of_trees(*found, 12, k)
    for row, wanted in enumerate(means(*found)):
        best = sorted(wanted, key=lambda label: (-wanted[label], label))[:k]
        n_found = len(best)
        assert sorted(scores[row].tolist(), reverse=True) == scores[row].tolist()
        np.testing.assert_allclose(scores[row, :n_found], [wanted[one] for one in best], rtol=1e-5)
        if found[0].shape[0] < 3:  # the last bit of longer sums depends on their order
            assert labels[row, :n_found].tolist() == best
        assert np.all(labels[row, n_found:] == -1)
        assert np.all(np.isneginf(scores[row, n_found:]))


@given(found=reached(), threshold=st.sampled_from([-1.0, 0.2, 0.9, 2.0]))
def test_scores_above_a_threshold_are_all_there(found, threshold):
    pointers, labels, scores = above_of_trees(*found, 12, threshold)
    assert pointers[-1] == labels.size == scores.size
    for row, wanted in enumerate(means(*found)):
        part = slice(pointers[row], pointers[row + 1])
        there = dict(zip(labels[part].tolist(), scores[part].tolist(), strict=True))
        expected = {label: score for label, score in wanted.items() if score > threshold}
        assert there == pytest.approx(expected, rel=1e-5)
        assert len(there) == pointers[row + 1] - pointers[row]
