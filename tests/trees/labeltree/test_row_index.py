import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwood
from builders import random_csr, separable
from labelwood import LabelTreeClassifier
from labelwood.core.lanes import WIDTH
from labelwood.core.sparse import csr_arrays
from labelwood.trees.labeltree.row_index import Directory, Postings, RowIndex
from labelwood.trees.labeltree.row_index import index as row_index
from labelwood.trees.labeltree.row_index._lookup_kernels import feature_directory
from labelwood.trees.labeltree.row_index._posting_kernels import score_blocks, transpose_blocks
from trees.labeltree.forests import dense_weights, random_forest

D, L = 60, 70


@settings(max_examples=60)
@given(
    n_features=st.sampled_from([1, 7, 300, 2**20]),
    sizes=st.lists(st.integers(0, 40), max_size=4),
    skewed=st.booleans(),
    seed=st.integers(0, 100),
)
def test_a_directory_leads_to_every_feature_of_a_block(n_features, sizes, skewed, seed):
    rng = np.random.default_rng(seed)
    among = min(n_features, 50) if skewed else n_features
    blocks = [np.sort(rng.choice(among, min(n, among), replace=False)) for n in sizes]
    indptr = np.append(0, np.cumsum([one.size for one in blocks])).astype(np.int64)
    features = np.concatenate([*blocks, []]).astype(np.uint32)
    directory = Directory(*feature_directory(indptr, features, n_features))
    for block, mine in enumerate(blocks):
        starts = directory.starts[directory.indptr[block] : directory.indptr[block + 1]]
        leading = np.arange(n_features) >> directory.shifts[block]
        assert starts.size == leading[-1] + 2
        assert starts.size <= max(mine.size // 2, 1) + 2
        for bits in {0, *(mine >> directory.shifts[block]).tolist(), int(leading[-1])}:
            found = mine[starts[bits] : starts[bits + 1]]
            assert found.tolist() == mine[mine >> directory.shifts[block] == bits].tolist()


def unpacked(postings, n_blocks):
    """The weights of each lane, as an array of shape (lanes, n_features)."""
    n_features = postings.starts.size - 1
    words = postings.words.reshape(n_features, -1)
    dense = np.zeros((n_blocks * WIDTH, n_features))
    for feature, of_feature in enumerate(words.tolist()):
        for block in range(n_blocks):
            word, bit = of_feature[block // 32], block % 32
            if not word >> bit & 1:
                continue
            number = (word >> 32) + (word & ((1 << bit) - 1)).bit_count()
            head = int(postings.heads[number])
            place = int(postings.starts[feature]) + (head >> WIDTH)
            for lane in range(WIDTH):
                if head >> lane & 1:
                    dense[block * WIDTH + lane, feature] = postings.weights[place]
                    place += 1
    return dense


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), n_trees=st.sampled_from([1, 8]), gaps=st.booleans())
def test_postings_hold_the_weights_of_the_blocks(seed, n_trees, gaps):
    forest = random_forest(D, L, n_trees=n_trees, gaps=gaps, seed=seed)
    postings = Postings(*transpose_blocks(forest, D))
    assert postings.weights.size == forest.weights.size
    n_blocks = forest.block_indptr.size - 1
    np.testing.assert_array_equal(unpacked(postings, n_blocks), dense_weights(forest, D))


def test_postings_of_lanes_in_any_order_are_the_same():
    forest = random_forest(D, L, seed=3)
    order = np.concatenate(
        [
            np.arange(start, end)[::-1]
            for start, end in zip(forest.entry_indptr[:-1], forest.entry_indptr[1:], strict=True)
        ]
    )
    shuffled = forest._replace(lanes=forest.lanes[order], weights=forest.weights[order])
    for one, other in zip(transpose_blocks(forest, D), transpose_blocks(shuffled, D), strict=True):
        assert one.tobytes() == other.tobytes()


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), n_trees=st.sampled_from([1, 8]))
def test_blocks_are_scored_by_the_dense_formula(seed, n_trees):
    forest = random_forest(D, L, n_trees=n_trees, seed=seed)
    X = random_csr(3, D, density=0.3, seed=seed)
    postings = Postings(*transpose_blocks(forest, D))
    n_blocks = forest.block_indptr.size - 1
    blocks = np.random.default_rng(seed).permutation(n_blocks)[:7].astype(np.uint64)
    places = np.arange(blocks.size, dtype=np.uint64)[::-1] * np.uint64(WIDTH)
    scores = np.full(blocks.size * WIDTH, np.nan, dtype=np.float32)
    dense = dense_weights(forest, D).reshape(n_blocks, WIDTH, D)
    for i in range(3):
        score_blocks(csr_arrays(X), i, postings, blocks, places.copy(), scores)
        wanted = dense[blocks[::-1].astype(int)] @ X.toarray()[i]
        np.testing.assert_allclose(scores.reshape(-1, WIDTH), wanted, atol=1e-5)


def test_postings_are_made_when_few_rows_come_a_second_time():
    index = RowIndex(random_forest(D, L), D)
    directory, postings = index.for_rows(1)
    assert directory.starts.size
    assert not postings.words.size
    directory, postings = index.for_rows(row_index._FEW_ROWS)
    assert postings.words.size
    assert not directory.starts.size
    assert index.for_rows(1)[1] is index.for_rows(row_index._MOST_ROWS)[1] is postings
    directory, postings = index.for_rows(row_index._MOST_ROWS + 1)
    assert directory.starts.size
    assert not postings.words.size


def test_many_rows_never_make_postings():
    index = RowIndex(random_forest(D, L), D)
    for _ in range(3):
        assert not index.for_rows(row_index._FEW_ROWS + 1)[1].words.size
    assert index._postings.made is None


@pytest.mark.parametrize("limit", ["_MOST_BLOCKS", "_SMALL"])
def test_trees_that_are_too_large_for_postings_go_without(monkeypatch, limit):
    index = RowIndex(random_forest(2000, 3), 2000)
    monkeypatch.setattr(row_index, limit, 1)
    if limit == "_SMALL":  # few weights, many features
        weights = index._forest.weights[:4]
        index = RowIndex(index._forest._replace(weights=weights), 2000)
    for _ in range(3):
        directory, postings = index.for_rows(1)
        assert directory.starts.size
        assert not postings.words.size


def test_postings_are_made_only_while_memory_suffices(monkeypatch):
    index = RowIndex(random_forest(D, L), D)
    monkeypatch.setattr(row_index, "available_memory", lambda: 1000)
    for _ in range(3):
        directory, postings = index.for_rows(1)
        assert directory.starts.size
        assert not postings.words.size
    monkeypatch.setattr(row_index, "available_memory", lambda: 10**9)
    assert index.for_rows(1)[1].words.size


@pytest.fixture(scope="module")
def data():
    return separable(120, 20)


@pytest.fixture(scope="module")
def model(data):
    return LabelTreeClassifier(random_state=0, max_leaf_labels=4, n_trees=2).fit(*data)


def assert_equal(found, wanted):
    assert found.labels.tobytes() == wanted.labels.tobytes()
    assert found.scores.tobytes() == wanted.scores.tobytes()


def test_the_first_and_later_answers_to_a_row_are_the_same_to_the_bit(model, data, tmp_path):
    X = data[0]
    labelwood.save(model, tmp_path / "model")
    together = model.predict_topk(X, 5)
    for one in (model, labelwood.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        for _ in range(3):
            found = one.predict_topk(X[:1], 5)
            assert found.labels.tobytes() == together.labels[:1].tobytes()
            assert found.scores.tobytes() == together.scores[:1].tobytes()
        assert one._kept_index._postings.made is not None


def test_scores_of_a_row_are_those_among_others(model, data):
    X = data[0]
    together = model.decision_function(X)
    for row in (0, 7):
        alone = [model.decision_function(X[[row]]) for _ in range(3)]
        for one in alone:
            assert one.indices.tobytes() == together[[row]].indices.tobytes()
            assert one.data.tobytes() == together[[row]].data.tobytes()


def test_a_copy_does_not_take_postings_along(model, data):
    for _ in range(2):
        model.predict_topk(data[0][:1], 3)
    for one in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert one._kept_index._postings.made is None
        assert one._kept_index.is_of(one._forest())


def test_weights_that_were_replaced_by_hand_are_those_that_count(data):
    X, Y = data
    model = LabelTreeClassifier(random_state=0, max_leaf_labels=4).fit(X, Y)
    for _ in range(3):
        model.predict_topk(X[:1], 3)
    model.weights_ = model.weights_ * np.float32(0.5)
    wanted = model.predict_topk(X, 3)
    for _ in range(3):
        found = model.predict_topk(X[:1], 3)
        assert found.scores.tobytes() == wanted.scores[:1].tobytes()


def test_the_index_is_that_of_the_present_trees(data):
    X, Y = data
    model = LabelTreeClassifier(random_state=0, max_leaf_labels=4).fit(X, Y)
    for _ in range(3):
        model.predict_topk(X[:1], 3)
    other = LabelTreeClassifier(random_state=0, max_leaf_labels=4).fit(X[::-1], Y)
    wanted = other.predict_topk(X[:1], 3)
    model.fit(X[::-1], Y)
    for _ in range(3):
        assert_equal(model.predict_topk(X[:1], 3), wanted)
