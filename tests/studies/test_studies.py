import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwood import load_dataset, save_dataset, studies, synthetic
from labelwood.cli.main import app
from labelwood.errors import DataError, MissingExtraError, ParameterError
from labelwood.studies import Options, Study

TOY_ROWS = {
    "small": [{"data": "small", "error": 1.25, "runs": 10}],
    "real": [{"data": "real, published", "error": None}],
}


def draw_toy(figure, rows):
    panel = figure.subplots()
    panel.plot([row["runs"] for row in rows if "runs" in row], [1], marker="o", label="a label")
    panel.legend()


def toy(parts=None, rows=None):
    return Study(
        name="toy",
        title="A toy",
        parts={"small": (), "real": ("set/a.txt", "set/b.txt")} if parts is None else parts,
        columns={"data": "", "error": ".1f", "runs": ",d"},
        rows=rows or (lambda part, options: TOY_ROWS[part]),
        draw=draw_toy,
        notes=("A note.",),
    )


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    (folder / "set").mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        (folder / "set" / name).touch()
    return folder


def run(*arguments, code=0):
    """The command line in this process: standard output and standard error."""
    result = CliRunner().invoke(app, ["study", *(str(one) for one in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


# What every study gets from the framework


def test_a_study_is_called_as_its_file_is():
    for name in studies.names():
        assert studies.find(name).name == name


def test_an_unknown_study_is_answered_with_those_that_there_are():
    with pytest.raises(ParameterError, match=r"no study 'tabel'; there are .*pfastrexml-table"):
        studies.run("tabel")


def test_parts_run_in_the_order_of_the_study_with_the_options_given(data):
    asked = []

    def rows(part, options):
        asked.append((part, options))
        return [{"data": part}]

    options = Options(data=data, only=("real", "small"), quick=True, seed=3, jobs=2)
    result = toy(rows=rows).run(options)
    assert asked == [("small", options), ("real", options)]
    assert result.rows == ({"data": "small"}, {"data": "real"})


def test_the_table_aligns_text_left_and_numbers_right_and_marks_what_is_missing(data):
    assert str(toy().run(Options(data=data))) == (
        "A toy\n"
        "\n"
        "data             error  runs\n"
        "small              1.2    10\n"
        "real, published      –     –\n"
        "A note."
    )


def test_the_quick_version_says_that_its_figures_mean_nothing():
    assert "the figures mean nothing" in str(toy().run(Options(quick=True)))


def test_rows_are_told_as_they_come():
    told = []

    def rows(part, options):
        yield TOY_ROWS["small"][0]
        assert told[-1] == "small  error 1.2  runs 10"
        yield TOY_ROWS["real"][0]

    toy(parts={"small": ()}, rows=rows).run(Options(), told.append)
    assert told[-1] == "real, published"


def test_a_part_without_its_data_is_skipped_and_the_reason_is_told_and_kept(data):
    told = []
    without = toy().run(Options(), told.append)
    assert told[0] == "real skipped: needs a data folder (--data) with set/a.txt and set/b.txt"
    assert told[0] in str(without)
    (data / "set" / "a.txt").unlink()
    incomplete = toy().run(Options(data=data)).to_dict()
    assert incomplete["skipped"] == {"real": f"needs set/a.txt, not there in {data}"}
    assert [row["data"] for row in incomplete["rows"]] == ["small"]


def test_a_part_that_was_named_is_never_skipped():
    with pytest.raises(DataError, match="toy cannot be run: real needs a data folder"):
        toy().run(Options(only=("real", "small")))


def test_a_study_of_which_nothing_can_be_run_is_an_error():
    with pytest.raises(DataError, match=r"toy cannot be run: a needs .* a.txt; b needs .* b.txt"):
        toy(parts={"a": ("a.txt",), "b": ("b.txt",)}).run(Options())


def test_wrong_options_are_refused_before_anything_is_run(data):
    def rows(part, options):
        raise AssertionError("nothing should be run")

    with pytest.raises(ParameterError, match="toy has no part 'reel'; it has small, real"):
        toy(rows=rows).run(Options(only=("small", "reel")))
    with pytest.raises(DataError, match=r"the data folder .*absent is not there"):
        toy(rows=rows).run(Options(data=data / "absent"))
    with pytest.raises(ParameterError, match="toy needs no data folder"):
        toy(parts={"small": ()}, rows=rows).run(Options(data=data))


def test_the_json_file_holds_the_rows_and_what_was_asked(data, tmp_path):
    pytest.importorskip("matplotlib")
    result = toy().run(Options(data=data, seed=4))
    written = result.write(tmp_path / "new" / "out")
    assert [path.name for path in written] == ["toy.txt", "toy.json", "toy.svg"]
    assert written[0].read_text(encoding="utf-8") == f"{result}\n"
    content = json.loads(written[1].read_text(encoding="utf-8"))
    assert content["rows"] == TOY_ROWS["small"] + TOY_ROWS["real"]
    assert content["options"] == {"only": [], "quick": False, "seed": 4, "jobs": -1}


def test_a_plot_is_the_same_bytes_whatever_the_settings_of_the_user(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    result = toy().run(Options())
    first = result.write(tmp_path / "1")[2].read_bytes()
    with matplotlib.rc_context({"axes.facecolor": "red", "svg.fonttype": "path"}):
        second = result.write(tmp_path / "2")[2].read_bytes()
        assert matplotlib.rcParams["axes.facecolor"] == "red"
    assert first == second
    assert b"a label" in first
    assert b"<dc:date>" not in first


def test_a_missing_matplotlib_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(studies, "run", None)
    with pytest.raises(MissingExtraError, match=r"needs the 'report' extra: pip install"):
        run("pfastrexml-table", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_a_name_all_studies_are_listed():
    out, _ = run()
    assert [line.split("  ")[0] for line in out.splitlines()] == studies.names()
    assert json.loads(run("--json")[0])["pfastrexml-table"].startswith("P@k, nDCG@k and PSP@k")


def test_the_list_is_there_without_importing_anything_heavy():
    code = (
        "import sys; from labelwood import studies; [studies.find(one) for one in studies.names()];"
        "print({'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "set()\n"


# The table of FastXML and its relatives

TIMES = ("seconds", "ms a point")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The quick table on made-up points in place of Bibtex, and on docstrings."""
    folder = tmp_path_factory.mktemp("study")
    made = synthetic(300, 200, 30, n_test=100, random_state=0)
    (folder / "bibtex").mkdir()
    save_dataset(made.train, folder / "bibtex" / "train.txt.xz")
    save_dataset(made.test, folder / "bibtex" / "test.txt.xz")
    out, err = run("pfastrexml-table", "--quick", "--data", folder, "--jobs", 1, "--json")
    return folder, json.loads(out), err


def timeless(rows):
    """Rows without what differs between two runs."""
    return [{key: row[key] for key in row if key not in TIMES} for row in rows]


def test_the_table_has_every_learner_on_every_data_set_that_is_there(table):
    _, content, _ = table
    learners = ["Popularity", "one-vs-rest", "FastXML", "PfastXML", "PfastreXML", "label tree"]
    columns = set(studies.find("pfastrexml-table").columns)
    measured = [row for row in content["rows"] if "seconds" in row]
    assert [(row["data"], row["learner"]) for row in measured] == [
        (data, learner) for data in ("bibtex", "pydocs") for learner in learners
    ]
    for row in measured:
        assert set(row) == columns
        assert row["P@1"] == pytest.approx(row["nDCG@1"])
        assert 0 < row["PSP@5"] <= 100


def test_what_is_not_there_is_skipped_with_its_reason(table):
    folder, content, err = table
    assert list(content["skipped"]) == ["delicious", "eurlex57k"]
    assert "delicious skipped: needs delicious/train.txt.xz and delicious/test.txt.xz, " in err
    assert str(folder) in content["skipped"]["eurlex57k"]


def test_published_figures_stand_below_ours_for_the_same_data_alone(table):
    _, content, _ = table
    rows = content["rows"]
    published = [i for i, row in enumerate(rows) if "published" in row["learner"]]
    assert [rows[i - 1]["learner"] for i in published] == ["FastXML", "PfastreXML"]
    assert {rows[i]["data"] for i in published} == {"bibtex"}
    assert [rows[published[0]][f"P@{k}"] for k in (1, 3, 5)] == [63.42, 39.23, 28.86]


def test_popularity_is_right_as_often_as_the_commonest_label_is_there(table):
    folder, content, _ = table
    train, test = (load_dataset(folder / "bibtex" / f"{one}.txt.xz") for one in ("train", "test"))
    commonest = np.argmax(train.Y.sum(axis=0))
    share = test.Y[:, [commonest]].sum() / len(test)
    assert content["rows"][0]["P@1"] == pytest.approx(100 * share)


def test_python_gives_what_the_command_line_gives_for_any_number_of_threads(table):
    folder, content, _ = table
    result = studies.run("pfastrexml-table", data=folder, only="bibtex", quick=True, jobs=2)
    expected = [row for row in content["rows"] if row["data"] == "bibtex"]
    assert timeless(result.rows) == timeless(expected)


def test_the_plot_of_the_table_names_the_learners_and_does_not_depend_on_times(table):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    rows = table[1]["rows"]
    draw = studies.find("pfastrexml-table").draw
    image = svg(draw, rows)
    assert image == svg(draw, timeless(rows))
    for name in ("bibtex: PSP@k", "pydocs: nDCG@k", "PfastreXML, published", "label tree"):
        assert name.encode() in image


def test_the_command_writes_the_three_files(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(studies, "run", lambda name, **options: toy().run(Options()))
    out, _ = run("pfastrexml-table", "--out", tmp_path / "out", "--quiet")
    assert out.startswith("A toy\n")
    assert "written: " in out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "toy.json", "toy.svg", "toy.txt"
    ]  # fmt: skip


# Captions that state nothing of what the quick version makes smaller.
WITHOUT_SIZES = {
    "boosting-overfit", "hmm-snr", "hmm-truncation", "hrls-coverage", "mab-coverage", "mab-samples"
}  # fmt: skip


@pytest.mark.parametrize("name", studies.names())
def test_captions_come_from_the_settings_that_run(name):
    study = studies.find(name)
    full, quick = (study.captions(Options(quick=one)) for one in (False, True))
    assert len(full) > 0
    assert (full == quick) == (name in WITHOUT_SIZES)
    assert not any("--quick" in note for note in (*full, *quick))


def test_the_caption_of_a_quick_run_names_what_was_run():
    result = studies.run("mab-fdr", only="time", quick=True)
    runs = {row["J"] for row in result.rows}
    assert max(runs) == 20
    assert "20 experiments, 30 arms, at most 200 samples each, 10 runs;" in str(result)
    assert "500 experiments" not in str(result)
    assert result.to_dict()["notes"] == list(result.study.captions(result.options))
    assert "500 experiments, 30 arms" in studies.find("mab-fdr").captions(Options())[0]


@pytest.mark.parametrize(
    ("name", "full", "quick"),
    [
        ("mab-power", "gaussian: 500 experiments", "gaussian: 10 experiments"),
        ("mab-captions", "drawn 20 times", "drawn 2 times"),
        ("sbt-xor", "2,000 test samples, after 10,000", "200 test samples, after 300"),
        ("sbt-features", "mean of 3 splits", "samples, one split"),
        ("sbt-pruning", "8,000 training samples", "300 training samples"),
        ("sbt-classes", "its own test set).", "400 samples."),
        ("hrls-regret", "fresh points", "500 fresh points"),
        ("coding-trees", "mean of 10 folds", "mean of 2 folds"),
        ("pfastrexml-table", "Default parameters", "3 trees a forest, 400 samples at most"),
        ("hrls-rcv1", "seconds", "The first 400 documents"),
        ("boosting-stopping", "step 0.75, 40 trials", "step 0.75, 4 trials"),
        ("boosting-nystrom", "a9a: 10,000 rows", "a9a: 400 rows"),
        ("graph-fewlabels", "Means of three draws", "One draw of"),
        ("hmm-basins", "20 sequences", "Means over 2 sequences"),
        ("monitor-delay", "2,000 streams a cell (ADWIN: 200)", "20 streams a cell (ADWIN: 20)"),
        ("monitor-delay", "Shewhart alarms at |x| > 3.72", "Shewhart alarms at |x| > 2.81"),
        ("reuters-rules", "at most 100 leaves", "at most 8 leaves"),
        ("thresholds", "at most 15,000 samples (eurlex57k: 4,000)", "at most 200 samples"),
    ],
)
def test_captions_differ_where_the_quick_version_does(name, full, quick):
    study = studies.find(name)
    captions = ["\n".join(study.captions(Options(quick=one))) for one in (False, True)]
    assert full in captions[0]
    assert quick in captions[1]
    assert quick not in captions[0]
