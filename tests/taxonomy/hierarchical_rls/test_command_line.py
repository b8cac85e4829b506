import json

import pytest
from typer.testing import CliRunner

import labelwood
from labelwood import Taxonomy
from labelwood.cli.main import app
from labelwood.errors import DataError, LabelwoodWarning, ParameterError


def run(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.shared
@pytest.mark.filterwarnings("ignore::labelwood.errors.LabelwoodWarning")
@pytest.mark.parametrize("name", ["imclef07a", "cellcycle_FUN", "enron_corr"])
@pytest.mark.parametrize("learner", ["hierarchicalrls", "hierarchicalperceptron"])
def test_real_taxonomies_are_trained_from_the_command_line(shared_data, tmp_path, name, learner):
    folder = shared_data / "hmc" / name
    tree = ["--taxonomy", str(folder / "hierarchy.txt"), "--parent-first"]
    data = [str(folder / "train.txt.xz"), *tree, "--learner", learner, "--quiet"]
    trained = CliRunner().invoke(app, ["train", *data, "-o", str(tmp_path / "model")])
    assert trained.exit_code == 0, trained.output
    tagger = labelwood.load(tmp_path / "model")
    test = labelwood.load_dataset(folder / "test.txt.xz")
    predicted = tagger.estimator_.predict(test.X)
    assert predicted.nnz > 0
    assert tagger.estimator_.taxonomy.is_closed(predicted)
    assert tagger.estimator_.parent_.max() >= 0


@pytest.fixture
def documents(tmp_path):
    """Features and a taxonomy as files, and the options of the command line that name them."""
    (tmp_path / "docs.txt").write_text("3 2 2\n0,1 0:1\n0 1:1\n 0:-1\n")
    (tmp_path / "tree.txt").write_text("1\t0\n0\t-1\n")
    return [str(tmp_path / "docs.txt"), "--taxonomy", str(tmp_path / "tree.txt")]


def test_a_taxonomy_on_the_command_line_asks_for_a_learner_along_it(documents, tmp_path):
    told = run("train", *documents, "-o", tmp_path / "model")
    assert "learner: HierarchicalRLSClassifier, for there is a taxonomy" in told
    assert labelwood.load(tmp_path / "model").estimator_.parent_.tolist() == [-1, 0]
    with pytest.warns(LabelwoodWarning, match="OneVsRestSVM does not use the taxonomy"):
        told = run("train", *documents, "-o", tmp_path / "flat", "--learner", "onevsrest")
    assert "for there is a taxonomy" not in told
    assert "OneVsRestSVM trained" in told


@pytest.fixture
def leaf_documents(tmp_path):
    """Documents that have leaves as labels, of a taxonomy with nodes above and beside them."""
    lines = [("an owl hoots", "owl"), ("an owl", "owl"), ("a cat purrs", "cat"), ("the rain", None)]
    documents = [{"text": text, "labels": [one] if one else []} for text, one in lines]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (tmp_path / "tree.tsv").write_text("owl\tbird\nbird\tanimal\ncat\tanimal\nfox\tanimal\n")
    tree = ["--taxonomy", str(tmp_path / "tree.tsv"), "--set", "text.min_df=1"]
    return [str(tmp_path / "docs.jsonl"), *tree, "-o", str(tmp_path / "model")]


def test_nodes_above_the_labels_become_labels_on_the_command_line(leaf_documents, tmp_path):
    run("train", *leaf_documents, "--set", "close_labels=true")
    tagger = labelwood.load(tmp_path / "model")
    assert tagger.label_names_.tolist() == ["cat", "owl", "animal", "bird"]
    assert tagger.label_counts_.tolist() == [1, 2, 3, 2]
    assert tagger.estimator_.parent_.tolist() == [2, 3, -1, 2]
    assert sorted(tagger.predict(["an owl hoots"])[0]) == ["animal", "bird", "owl"]
    told = run("predict", tmp_path / "model", leaf_documents[0], "-k", "3").splitlines()
    first = [one["label"] for one in json.loads(told[0])["labels"]]
    assert first == ["animal", "bird", "owl"]


def test_nodes_above_the_labels_are_not_left_out_silently(leaf_documents):
    with pytest.raises(LabelwoodWarning, match="2 of 5 nodes of the taxonomy are ancestors"):
        run("train", *leaf_documents)


def test_a_file_with_parents_first_is_told_from_one_of_several_parents(leaf_documents, tmp_path):
    lines = "bird owl\nbird hen\nanimal cat\nanimal bird\n"
    (tmp_path / "tree.tsv").write_text(lines)
    with pytest.raises(DataError, match=r"two parents.*--parent-first.*; multiple_parents="):
        Taxonomy.from_file(tmp_path / "tree.tsv")
    assert len(Taxonomy.from_file(tmp_path / "tree.tsv", columns="parent child")) == 5


def test_info_shows_the_taxonomy_of_a_model(documents, tmp_path):
    run("train", *documents, "-o", tmp_path / "model")
    told = json.loads(run("info", tmp_path / "model", "--json"))
    assert told["parameters"]["taxonomy"] == "Taxonomy(2 nodes, 1 root, 1 leaf, depth 1)"
    assert told["parameters"]["margin"] == 0.2


def test_the_module_tree_of_a_corpus_is_trained_from_the_command_line(tmp_path):
    corpus = labelwood.pydocs(["joblib"], labels="modules")
    labelwood.save_dataset(corpus, tmp_path / "docs.jsonl")
    corpus.taxonomy.to_file(tmp_path / "tree.tsv")
    files = [tmp_path / "docs.jsonl", "--taxonomy", tmp_path / "tree.tsv"]
    learner = ["--learner", "hierarchicalrls", "--quiet"]
    run("train", *files, "-o", tmp_path / "model", *learner)
    tagger = labelwood.load(tmp_path / "model")
    predicted = tagger.estimator_.predict(tagger.features(corpus))
    assert labelwood.metrics.any_wrong_loss(corpus.Y, predicted, tagger.estimator_.taxonomy) < 0.3
    assert tagger.estimator_.taxonomy.is_closed(predicted)


def test_the_command_line_wants_a_taxonomy_that_knows_the_labels(tmp_path):
    (tmp_path / "docs.txt").write_text("2 2 2\n0,1 0:1\n1 1:1\n")
    (tmp_path / "tree.txt").write_text("0\t1\n")
    (tmp_path / "names.txt").write_text("owl\n0\n")
    train = ["train", str(tmp_path / "docs.txt"), "--learner", "hierarchicalrls", "-o", "m"]
    with pytest.raises(ParameterError, match="needs a taxonomy; give --taxonomy FILE"):
        CliRunner().invoke(app, train, catch_exceptions=False)
    train += [
        "--taxonomy",
        str(tmp_path / "tree.txt"),
        "--label-names",
        str(tmp_path / "names.txt"),
    ]
    with pytest.raises(LabelwoodWarning, match="1 of 2 labels is not in the taxonomy"):
        CliRunner().invoke(app, train, catch_exceptions=False)
    (tmp_path / "names.txt").write_text("owl\nbird\n")
    with pytest.raises(DataError, match="none of its 2 labels is in the taxonomy"):
        CliRunner().invoke(app, train, catch_exceptions=False)


CODES = [("oil prices", "C1"), ("oil and gas", "C15"), ("gas sales", "C151"), ("war", "G")]


@pytest.mark.parametrize(
    ("form", "rename"),
    [("prefix", {}), ("path:/", {"C15": "C1/C15", "C151": "C1/C15/C151"})],
)
def test_a_taxonomy_in_the_names_of_labels_takes_one_flag(tmp_path, form, rename):
    lines = [{"text": text, "labels": [rename.get(one, one)]} for text, one in CODES * 10]
    documents = tmp_path / "docs.jsonl"
    documents.write_text("".join(json.dumps(one) + "\n" for one in lines))
    model = tmp_path / "model"
    with pytest.warns(LabelwoodWarning, match="without their ancestors in the taxonomy"):
        printed = run("train", documents, "-o", model, "--taxonomy", form)
    assert "<- selected: best micro-F1 on held-out samples" in printed
    tagger = labelwood.load(model)
    figures = {row["learner"]: row["micro-F1"] for row in tagger.comparison_}
    assert set(figures) == {"HierarchicalRLSClassifier", "OneVsRestSVM"}
    assert figures[type(tagger.estimator_).__name__] == max(figures.values())
    leaf = rename.get("C151", "C151")
    assert leaf in tagger.predict(["gas sales"])[0]
    assert tagger.label_counts_.tolist() == [30, 20, 10, 10]


def test_learners_along_a_taxonomy_have_probabilities_and_closed_label_sets(tmp_path):
    taxonomy = Taxonomy.from_edges([("C1", "C15"), ("C15", "C151")], ["C1", "C15", "C151", "G"])
    above = {"C1": [], "C15": ["C1"], "C151": ["C1", "C15"], "G": []}
    learner = labelwood.HierarchicalRLSClassifier(taxonomy=taxonomy)
    texts, labels = [one for one, _ in CODES] * 10, [[one, *above[one]] for _, one in CODES] * 10
    tagger = labelwood.Tagger(learner).fit(texts, labels)
    P = tagger.predict_proba(texts).toarray()
    assert ((P > 0) & (P < 1)).all()
    for threshold in (0.1, tagger.threshold_, 0.8):
        sets = tagger.predict(texts, threshold=threshold)
        assert all(set(above[one]) <= set(row) for row in sets for one in row)
    labelwood.save(tagger, tmp_path / "model")
    assert labelwood.load(tmp_path / "model").predict(texts) == tagger.predict(texts)


def test_labels_that_are_no_codes_are_refused(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a", "labels": ["x", "y"]}\n')
    for form, message in (
        ("prefix", "No label begins with.*a child and its parent"),
        ("path:/", "No label has '/'"),
    ):
        with pytest.raises(DataError, match=message):
            run("train", tmp_path / "docs.jsonl", "-o", tmp_path / "m", "--taxonomy", form)
