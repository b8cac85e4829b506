import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import precision_score, recall_score

from builders import random_labels
from labelwood import TopK, metrics
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError

TRUE = random_labels(80, 6, seed=0)
GUESS = random_labels(80, 6, seed=1)
SCORES = sp.csr_array(GUESS + 0.5 * TRUE + 0.001 * random_labels(80, 6, per_point=4, seed=2))
TOP = TopK.from_csr(SCORES, 5)
P = metrics.propensity(TRUE)
TREE = Taxonomy.from_edges([(0, 1), (0, 2), (1, 3), (4, 5)], names=list("abcdef"))


def test_every_figure_is_that_of_its_function() -> None:
    result = metrics.evaluate(TRUE, TOP, GUESS, propensity=P, taxonomy=TREE, n_bootstrap=10)
    expected = {
        "F1 samples": metrics.f1_score(TRUE, GUESS),
        "F1 micro": metrics.f1_score(TRUE, GUESS, "micro"),
        "F1 macro": metrics.f1_score(TRUE, GUESS, "macro"),
        "precision": precision_score(TRUE, GUESS, average="micro"),
        "recall": recall_score(TRUE, GUESS, average="micro"),
        "without a tag": np.mean(GUESS.sum(axis=1) == 0),
        "subset loss": metrics.subset_loss(TRUE, GUESS),
        "Hamming": metrics.hamming_loss(TRUE, GUESS),
        "PS-Hamming": metrics.propensity_hamming(TRUE, GUESS, P),
        "hierarchical F1": metrics.hierarchical_f1(TRUE, GUESS, TREE),
        "any wrong": metrics.any_wrong_loss(TRUE, GUESS, TREE),
    }
    for k in (1, 3, 5):
        expected |= {
            f"P@{k}": metrics.precision_at_k(TRUE, TOP, k),
            f"R@{k}": metrics.recall_at_k(TRUE, TOP, k),
            f"F1@{k}": metrics.f1_at_k(TRUE, TOP, k),
            f"nDCG@{k}": metrics.ndcg_at_k(TRUE, TOP, k),
            f"PSP@{k}": metrics.psp_at_k(TRUE, TOP, k, P),
            f"PSnDCG@{k}": metrics.psndcg_at_k(TRUE, TOP, k, P),
        }
    assert dict(result) == pytest.approx(expected, abs=1e-15)
    assert result.tags_per_sample == pytest.approx(GUESS.nnz / 80)


def test_bootstrap_intervals_are_those_of_each_metric_alone() -> None:
    result = metrics.evaluate(TRUE, TOP, propensity=P, n_bootstrap=200, random_state=4)
    psp = metrics.ranked_hits(TRUE, TOP, 3, P).psp(3)
    alone = metrics.bootstrap_interval(
        psp.numerator, 0.05, denominator=psp.denominator, n_bootstrap=200, random_state=4
    )
    assert result.figure("PSP@3").bootstrap == pytest.approx(alone)
    assert result.figure("PSP@3").guaranteed == psp.guaranteed(0.05)


def test_intervals_hold_their_figure_and_narrow_with_more_samples() -> None:
    few = metrics.evaluate(TRUE, TOP)
    many_samples = TopK(np.tile(TOP.labels, (20, 1)), np.tile(TOP.scores, (20, 1)))
    many = metrics.evaluate(sp.vstack([TRUE] * 20), many_samples)
    for one, other in zip(few.figures, many.figures, strict=True):
        assert one.value == pytest.approx(other.value)
        for wide, narrow in ((one.guaranteed, other.guaranteed), (one.bootstrap, other.bootstrap)):
            assert wide is not None
            assert narrow is not None
            assert wide.low <= narrow.low <= one.value <= narrow.high <= wide.high


def test_the_same_seed_gives_the_same_evaluation() -> None:
    first, again = (metrics.evaluate(TRUE, TOP, random_state=3).to_json() for _ in range(2))
    assert first == again
    assert first != metrics.evaluate(TRUE, TOP, random_state=4).to_json()


def test_the_table_shows_percent_no_interval_and_a_vacuous_one() -> None:
    Y = np.array([[1, 0, 0], [0, 0, 0]])
    shown = str(metrics.evaluate(Y, labels=Y, n_bootstrap=5, delta=0.1))
    assert shown.splitlines() == [
        "2 samples (1 without labels), 3 labels; percent, with 90 % intervals",
        "               figure      guaranteed         bootstrap",
        "F1 samples     100.00  [3.97, 100.00]  [100.00, 100.00]",
        "F1 micro       100.00         vacuous  [100.00, 100.00]",
        "F1 macro       100.00               –                 –",
        "precision      100.00         vacuous  [100.00, 100.00]",
        "recall         100.00         vacuous  [100.00, 100.00]",
        "without a tag   50.00         vacuous     [0.00, 90.00]",
        "subset loss      0.00   [0.00, 96.03]      [0.00, 0.00]",
        "Hamming          0.00   [0.00, 96.03]      [0.00, 0.00]",
    ]


def test_the_summary_has_ten_rows_in_plain_words_and_no_vacuous_interval() -> None:
    result = metrics.evaluate(TRUE, TOP, GUESS, propensity=P, n_bootstrap=50)
    rows = result.summary(propensity=False).splitlines()[1:]
    assert len(rows) == 10
    assert rows[0].startswith("first tag is right (P@1)")
    assert f"{100 * result['precision']:.2f}" in rows[4]
    assert rows[-1].split()[-5:] == ["1.95", "the", "truth", "has", "1.80"]
    assert "vacuous" not in result.summary()
    assert "missing labels" not in result.summary(propensity=False)
    assert "corrected for missing labels (PSP@5)" in result.summary(propensity=True)
    assert ("PSP@5" in result.summary()) == (result.n_unlabeled > 0)
    along = metrics.evaluate(TRUE, TOP, GUESS, taxonomy=TREE, n_bootstrap=50)
    assert len(along.summary(propensity=False).splitlines()[1:]) == 10


def test_a_model_without_a_mistake_is_not_certain_in_the_summary() -> None:
    Y = sp.csr_array(np.tile([[1, 0, 0], [0, 1, 1]], (100, 1)))
    result = metrics.evaluate(Y, labels=Y, n_bootstrap=50)
    low, high = result.figure("precision").guaranteed or (0, 0)
    assert result.figure("precision").bootstrap == (1, 1)
    first = result.summary().splitlines()[1]
    assert first.startswith("predicted tags that are right (precision)")
    assert first.endswith(f"[{100 * low:.2f}, {100 * high:.2f}]")
    three = metrics.evaluate(Y[:3], labels=Y[:3], n_bootstrap=50)
    assert "[100.00, 100.00]" not in three.summary()
    assert "vacuous" not in three.summary()


def test_samples_that_are_all_alike_have_no_interval_of_rounding_errors() -> None:
    Y = sp.eye_array(500, format="csr")
    top = TopK((np.arange(500)[:, None] + np.arange(5)) % 500, np.ones((500, 5)))
    row = metrics.evaluate(Y, top, ks=[5]).summary().splitlines()[1]
    assert row.split()[-3] == "20.00"
    assert "[20.00, 20.00]" not in row


def test_nothing_predicted_has_no_precision() -> None:
    result = metrics.evaluate(TRUE, labels=sp.csr_array(TRUE.shape), n_bootstrap=5)
    assert (result["precision"], result["recall"], result["without a tag"]) == (0, 0, 1)


def test_a_figure_below_one_percent_is_shown_with_four_decimals() -> None:
    Y = sp.eye_array(500, format="csr")
    shown = str(metrics.evaluate(Y, labels=sp.csr_array((500, 500)), n_bootstrap=3))
    assert "Hamming        0.2000" in shown


def test_json_holds_shares_and_null_where_there_is_no_interval() -> None:
    result = metrics.evaluate(TRUE, TOP, GUESS, n_bootstrap=0)
    read = json.loads(result.to_json())
    assert (read["n_samples"], read["n_labels"], read["delta"]) == (80, 6, 0.05)
    assert read["figures"]["P@1"]["value"] == result["P@1"]
    assert read["figures"]["P@1"]["guaranteed"] == list(result.figure("P@1").guaranteed or ())
    assert read["figures"]["P@1"]["bootstrap"] is None
    assert read["figures"]["F1 macro"]["guaranteed"] is None


def test_a_figure_that_was_not_asked_for_is_a_key_error_that_lists_the_others() -> None:
    result = metrics.evaluate(TRUE, TOP, ks=[1], n_bootstrap=0)
    assert "P@2" not in result
    with pytest.raises(KeyError, match="'P@2' was not evaluated; there are P@1, R@1, F1@1"):
        result["P@2"]
    assert repr(result) == "Evaluation(80 samples: P@1, R@1, F1@1, nDCG@1)"


def test_ks_are_sorted_and_taken_once() -> None:
    result = metrics.evaluate(TRUE, TOP, ks=[3, 1, 3], n_bootstrap=0)
    assert list(result)[:3] == ["P@1", "P@3", "R@1"]


def test_the_table_of_labels_counts_label_sets(tmp_path: Path) -> None:
    Y = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    guess = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    result = metrics.evaluate(
        Y, labels=guess, label_names=["a", "b,c", "d", "é"], propensity=[0.5, 1, 1, 1]
    )
    result.write_per_label_csv(tmp_path / "labels.csv")
    with open(tmp_path / "labels.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert ",".join(header) == "label,name,true,predicted,correct,precision,recall,f1,propensity"
    assert rows == [
        ["0", "a", "3", "2", "2", "1.0", str(2 / 3), "0.8", "0.5"],
        ["1", "b,c", "1", "0", "0", "", "0.0", "0.0", "1.0"],
        ["2", "d", "0", "1", "0", "0.0", "", "0.0", "1.0"],
        ["3", "é", "0", "0", "0", "", "", "", "1.0"],
    ]


def test_the_table_of_labels_counts_a_ranking_to_its_last_rank_without_label_sets() -> None:
    top = TopK([[0, 1], [1, -1]], [[2, 1], [1, -np.inf]], classes=np.array(["x", "y", "z"]))
    result = metrics.evaluate([[1, 0, 0], [0, 1, 0]], top, ks=[1, 2], n_bootstrap=0)
    table = result.per_label
    assert (table.predicted.tolist(), table.correct.tolist()) == ([1, 2, 0], [1, 1, 0])
    assert (table.names, table.propensity) == (["x", "y", "z"], None)
    assert [row[-1] for row in table.rows()] == [None, None, None]


def test_a_sparse_matrix_of_scores_is_ranked_as_its_topk() -> None:
    from_scores = metrics.evaluate(TRUE, SCORES, n_bootstrap=5)
    assert from_scores.to_json() == metrics.evaluate(TRUE, TOP, n_bootstrap=5).to_json()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "nothing to evaluate: give a ranking, label sets, or both"),
        ({"ranking": TOP, "taxonomy": TREE}, "need label sets: pass labels="),
        ({"ranking": TOP, "label_names": ["a"]}, "label_names has 1 entries, Y_true 6 labels"),
        ({"ranking": TOP, "propensity": [0.5]}, "one for each of 6 labels"),
        ({"ranking": TOP, "ks": [6]}, "holds 5 labels per sample and k is 6"),
        ({"ranking": TopK([[0]], [[1]]), "ks": [1]}, "1 sample and 6 labels, Y_true of 80"),
        ({"labels": GUESS[:10]}, r"one shape. Got \(80, 6\) and \(10, 6\)"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        metrics.evaluate(TRUE, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ks", []),
        ("ks", [0]),
        ("ks", [1.5]),
        ("delta", 0),
        ("delta", 1),
        ("n_bootstrap", -1),
        ("random_state", "x"),
    ],
)
def test_parameters_outside_their_range_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"'{name}' parameter of evaluate"):
        metrics.evaluate(TRUE, TOP, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("Y", [np.zeros((0, 6)), np.zeros((80, 6))], ids=["empty", "no labels"])
def test_a_truth_without_samples_or_labels_is_refused(Y: np.ndarray) -> None:
    with pytest.raises(DataError, match="there is nothing to"):
        metrics.evaluate(Y, TOP)


def test_half_a_million_labels_are_not_densified() -> None:
    n, n_labels = 3000, 500_000
    rng = np.random.default_rng(0)
    columns = rng.integers(n_labels, size=(n, 5))
    rows = np.repeat(np.arange(n), 5)
    Y = sp.csr_array((np.ones(n * 5), (rows, columns.ravel())), shape=(n, n_labels)) != 0
    top = TopK(columns[:, :1], np.ones((n, 1)))
    p = metrics.propensity(Y)
    result = metrics.evaluate(Y, top, top.to_csr(n_labels), propensity=p, ks=[1])
    assert result["P@1"] == 1
    assert len(result.per_label) == n_labels


def test_an_indicator_is_not_taken_for_a_ranking() -> None:
    with pytest.raises(DataError, match=r"All scores of the ranking are 1.*labels=model.predict"):
        metrics.evaluate(TRUE, GUESS)
    with pytest.raises(DataError, match="All scores of the ranking are 1"):
        metrics.precision_at_k(TRUE, sp.csc_array(GUESS), 1)


def test_a_ranking_by_names_must_be_in_the_order_of_the_columns() -> None:
    names = list("abcdef")
    top = TopK(TOP.labels, TOP.scores, np.array(names))
    same = metrics.evaluate(TRUE, top, label_names=names, n_bootstrap=0)
    assert same["P@1"] == metrics.precision_at_k(TRUE, TOP, 1)
    with pytest.raises(DataError, match=r"Column 0 is 'f' in label_names and .*'a' in the ranking"):
        metrics.evaluate(TRUE, top, label_names=names[::-1])


def test_columns_of_a_table_that_are_numbered_are_matched_by_position() -> None:
    named = TopK(TOP.labels, TOP.scores, np.array(list("abcdef")))
    dense = TRUE.toarray()
    found = metrics.evaluate(pd.DataFrame(dense), named, n_bootstrap=0)
    assert found["P@1"] == metrics.precision_at_k(TRUE, TOP, 1)
    sets = metrics.evaluate(
        pd.DataFrame(dense, columns=list("abcdef")), labels=pd.DataFrame(dense), n_bootstrap=0
    )
    assert sets["F1 micro"] == 1


def test_columns_of_a_table_of_label_sets_are_matched_by_name() -> None:
    names = list("abcdef")
    table = pd.DataFrame(TRUE.toarray(), columns=names)
    top = TopK(TOP.labels, TOP.scores, np.array(names))
    for truth, ranking, label_names in (
        (table, None, None),
        (TRUE, None, names),
        (TRUE, top, None),
    ):
        found = metrics.evaluate(
            truth, ranking, table[names[::-1]], label_names=label_names, n_bootstrap=0
        )
        assert found["F1 micro"] == 1
    numbered = TopK(TOP.labels, TOP.scores, np.arange(6))
    assert metrics.evaluate(TRUE, numbered, table, n_bootstrap=0)["F1 micro"] == 1
    with pytest.raises(DataError, match="label sets must be those of the truth: 'f' is in one"):
        metrics.evaluate(table, labels=table[names[:5]])


def test_a_taxonomy_is_aligned_with_the_labels_by_name() -> None:
    order = [3, 0, 5, 1, 4, 2]
    names = [TREE.names[i] for i in order]
    expected = metrics.evaluate(TRUE, labels=GUESS, taxonomy=TREE, n_bootstrap=0)
    shuffled = metrics.evaluate(
        TRUE[:, order], labels=GUESS[:, order], taxonomy=TREE, label_names=names, n_bootstrap=0
    )
    assert shuffled["hierarchical F1"] == expected["hierarchical F1"]
    by_position = metrics.evaluate(
        TRUE[:, order], labels=GUESS[:, order], taxonomy=TREE, n_bootstrap=0
    )
    assert by_position["hierarchical F1"] != expected["hierarchical F1"]


def test_a_taxonomy_may_have_nodes_that_are_no_labels() -> None:
    wider = Taxonomy.from_edges([("root", "a"), ("a", "b"), ("a", "c")])
    found = metrics.evaluate(
        TRUE[:, :3], labels=GUESS[:, :3], taxonomy=wider, label_names=list("abc"), n_bootstrap=0
    )
    chain = Taxonomy.from_edges([("a", "b"), ("a", "c")])
    assert found["hierarchical F1"] == metrics.hierarchical_f1(TRUE[:, :3], GUESS[:, :3], chain)


def test_a_taxonomy_of_other_names_is_refused() -> None:
    with pytest.raises(DataError, match=r"No label is a node of the taxonomy: the labels are 'u'"):
        metrics.evaluate(TRUE, labels=GUESS, taxonomy=TREE, label_names=list("uvwxyz"))
