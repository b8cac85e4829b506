import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pyarrow
import pytest
from typer.testing import CliRunner

import labelwood
from labelwood import save_dataset, synthetic
from labelwood.cli import main as main_module
from labelwood.cli.learners import LEARNERS
from labelwood.cli.main import app
from labelwood.cli.options import Stopwatch
from labelwood.cli.source import in_options
from labelwood.errors import DataError, LabelwoodWarning, ModelError, ParameterError

DOCUMENTS = [
    {"id": f"d{i}", "text": text, "labels": labels}
    for i, (text, labels) in enumerate(
        [
            ("a cat on a mat", ["cat"]),
            ("a dog in a fog", ["dog"]),
            ("the cat and the dog", ["cat", "dog"]),
            ("an owl at night", ["owl"]),
            ("owl and cat went to sea", ["cat", "owl"]),
        ]
        * 4
    )
]


def run(*arguments, code=0, stdin=None):
    """The command line in this process; its standard output."""
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


def run_apart(*arguments, **options):
    """The command line as a user has it: a process of its own."""
    command = [sys.executable, "-m", "labelwood", *(str(one) for one in arguments)]
    options.setdefault("encoding", "utf-8")
    return subprocess.run(command, capture_output=True, check=False, **options)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "docs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    return path


@pytest.fixture(scope="module")
def model(documents):
    path = documents.parent / "model"
    run("train", documents, "-o", path, "--quiet")
    return path


def test_training_tells_the_data_the_time_and_the_place(documents, tmp_path):
    out = run("train", documents, "-o", tmp_path / "m")
    assert "20 samples, texts, not vectorized, 3 labels" in out
    assert "OneVsRestSVM trained in" in out
    assert str(tmp_path / "m") in out


def test_predictions_keep_ids_and_order(model, documents):
    lines = [json.loads(line) for line in run("predict", model, documents, "-k", 2).splitlines()]
    assert [line["id"] for line in lines] == [one["id"] for one in DOCUMENTS]
    assert all(len(line["labels"]) == 2 for line in lines)
    assert lines[3]["labels"][0]["label"] == "owl"


def test_texts_come_from_standard_input_and_need_no_labels(model):
    answer = json.loads(run("predict", model, "-", "-k", 1, stdin='{"text": "the dog"}\n'))
    assert answer["id"] == 0
    assert answer["labels"][0]["label"] == "dog"


def test_predictions_go_to_a_file_on_request(model, documents, tmp_path):
    assert run("predict", model, documents, "-o", tmp_path / "out.jsonl") == ""
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == len(DOCUMENTS)


def test_the_command_line_and_python_give_the_same_answer(model, documents):
    tagger = labelwood.load(model)
    top = tagger.predict_topk(labelwood.load_dataset(documents), 3)
    lines = [json.loads(line) for line in run("predict", model, documents, "-k", 3).splitlines()]
    assert [[one["label"] for one in line["labels"]] for line in lines] == top.names()
    figures = json.loads(run("eval", model, documents, "--json"))
    evaluation = tagger.evaluate(labelwood.load_dataset(documents))
    assert figures == json.loads(json.dumps(evaluation.to_dict()))


def test_evaluation_prints_a_table_and_writes_one_by_label(model, documents, tmp_path):
    out = run("eval", model, documents, "-k", "1,2", "--per-label", tmp_path / "labels.csv")
    assert "first tag is right (P@1)" in out
    assert "of the first 2 tags, those that are right (P@2)" in out
    assert "P@3" not in out
    assert len(out.splitlines()) == 1 + 10
    every = run("eval", model, documents, "--all", "--delta", "10%")
    assert "PSnDCG@5" in every
    assert "90 % intervals" in every
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 1 + 3


def test_parameters_are_set_by_name(documents, tmp_path):
    options = ["--set", "C=2", "--set", "text.min_df=1", "--seed", 4, "--json"]
    summary = json.loads(run("train", documents, "-o", tmp_path / "m", *options))
    assert summary["labels"] == 3
    tagger = labelwood.load(tmp_path / "m")
    assert (tagger.estimator_.C, tagger.estimator_.random_state) == (2.0, 4)
    assert tagger.vectorizer_.min_df == 1


@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "auto"])
def test_every_learner_can_be_trained(documents, tmp_path, learner):
    options = []
    if learner.startswith("hierarchical"):
        tree = tmp_path / "tree.tsv"
        tree.write_text("cat\tpet\ndog\tpet\nowl\tbird\n")
        options = ["--taxonomy", tree, "--set", "close_labels=true"]
    elif learner.endswith("xml"):
        options = ["--set", "n_trees=3"]
    run("train", documents, "-o", tmp_path / "m", "--learner", learner, *options)
    tagger = labelwood.load(tmp_path / "m")
    assert (type(tagger.estimator_).__name__,) == LEARNERS[learner]
    assert tagger.choice_ is None
    top = tagger.predict_topk(["a cat on a mat"], 2).names()[0]
    assert "cat" in top


def test_weights_of_eight_bits_make_a_small_file(documents, tmp_path):
    sizes = {}
    for precision in ("full", "int8"):
        options = ("--learner", "onevsrest", "--precision", precision, "--json")
        sizes[precision] = json.loads(run("train", documents, "-o", tmp_path / "m", *options))
    assert sizes["int8"]["bytes"] < sizes["full"]["bytes"]
    assert labelwood.load(tmp_path / "m").predict_topk(["a cat on a mat"], 1).names() == [["cat"]]
    with pytest.raises(ParameterError, match="--precision is full or int8, not 'int4'"):
        run("train", documents, "-o", tmp_path / "m", "--precision", "int4")


def test_without_a_name_the_best_learner_is_taken_and_the_table_comes_first(documents, tmp_path):
    out = run("train", documents, "-o", tmp_path / "m")
    selected = re.search(r"one-vs-rest +\S+ +~1 s +\d+ MB .* <- selected: ", out)
    assert 0 < selected.start() < out.index("OneVsRestSVM trained in")
    options = ("--json", "--set", "C=2", "--time-limit", "100", "--objective", "nDCG@k")
    summary = json.loads(run("train", documents, "-o", tmp_path / "m", *options))
    assert summary["choice"]["objective"] == "nDCG@k"
    assert {one["name"] for one in summary["choice"]["candidates"]} >= {"one-vs-rest", "label tree"}
    assert labelwood.load(tmp_path / "m").estimator_.C == 2


def test_limits_without_a_choice_and_limits_below_the_data_are_refused(documents, tmp_path):
    command = ("train", documents, "-o", tmp_path / "m")
    with pytest.raises(ParameterError, match="are for --learner auto, not onevsrest"):
        run(*command, "--learner", "onevsrest", "--time-limit", "5")
    with pytest.raises(MemoryError, match="data themselves take"):
        run(*command, "--memory-limit", "1e-7")


def test_info_tells_of_models_and_of_data(model, documents):
    of_model = json.loads(run("info", model, "--json"))
    assert (of_model["class"], of_model["labels"]) == ("OneVsRestSVM", 3)
    of_data = json.loads(run("info", documents, "--json"))
    assert (of_data["samples"], of_data["labels"]) == (20, 3)
    assert "most frequent labels" in run("info", documents)


def test_conversion_keeps_the_data(tmp_path):
    (tmp_path / "a.txt").write_text("2 3 2\n0,1 0:0.5 2:1\n 1:2\n")
    run("convert", tmp_path / "a.txt", tmp_path / "b.npz")
    run("convert", tmp_path / "b.npz", tmp_path / "c.txt")
    first, last = (labelwood.load_dataset(tmp_path / name) for name in ("a.txt", "c.txt"))
    assert (first.X != last.X).nnz == 0
    assert (first.Y != last.Y).nnz == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "absent.txt"], "absent.txt"),
        (["train", "{docs}", "-o", "{tmp}/m", "--learner", "magic"], "no learner 'magic'"),
        (
            ["train", "{docs}", "-o", "{tmp}/m", "--learner", "OneVsRestSVM"],
            "no learner 'OneVsRestSVM'; use --learner onevsrest",
        ),
        (["train", "{docs}", "-o", "{tmp}/m", "--set", "C"], "--set takes name=value"),
        (["train", "{docs}", "-o", "{tmp}/m", "--set", "C=-1"], "must be a number > 0"),
        (["train", "{docs}", "-o", "{tmp}/m", "--set", "D=1"], "has no parameter 'D'"),
        (["train", "{docs}", "-o", "{tmp}/m", "--set", "beam=2"], "add --learner labeltree"),
        (["train", "{docs}", "-o", "{docs}"], "is a file; give a directory"),
        (["train", "{docs}", "-o", "{model}/sub"], "is a model; give another directory"),
        (["train", "{docs}", "-o", "{tmp}/m", "--time-limit", "-1"], "r: --time-limit must be a n"),
        (
            ["train", "{docs}", "-o", "{tmp}/m", "--objective", "F1"],
            "r: --objective must be one of",
        ),
        (["predict", "{model}", "{docs}", "-k", "drei"], "drei"),
        (["eval", "{model}", "{other}"], "were they read from their column, as by --label-column?"),
        (
            ["watch", "{model}", "{latin}"],
            "{latin}: byte 0xe9 is not UTF-8; a log of predictions is",
        ),
        (["watch", "{model}", "{tmp}"], "error: {tmp} is a directory; name a file in it"),
        (
            ["eval", "{model}", "{docs}", "-k", "0"],
            "-k must be an int ≥ 1. Got '0'; see labelwood eval --help",
        ),
        (
            ["eval", "{docs}", "{docs}"],
            "is a file, and a model is a directory; name that of a saved",
        ),
        (["eval", "{docs}", "{model}"], "which comes first: labelwood eval {model} {docs}"),
        (["predict", "{docs}", "{model}"], "comes first: labelwood predict {model} {docs}"),
        (["predict", "{tmp}/none", "{docs}"], "there is no such directory; name that of a saved"),
        (
            ["predict", "{model}", "{docs}", "-o", "{tmp}/no/a.csv"],
            "is no directory {tmp}/no; make",
        ),
        (["predict", "{model}", "printer"], "echo 'printer' | labelwood predict"),
        (
            ["predict", "{model}", "{docs}", "-k", "0"],
            "error: -k must be an int ≥ 1. Got '0'; see labelwood predict --h",
        ),
        (["predict", "{model}", "{docs}", "-k", "1.5"], "error: -k must be an int ≥ 1. Got '1.5'"),
        (
            ["predict", "{model}", "{docs}", "-k", "9" * 20],
            "error: -k must be an int ≥ 1, of at most 9223372036854775807. Got '999",
        ),
        (["eval", "{model}", "{docs}", "-k", "1," + "9" * 20], "-k must be an int ≥ 1, of at most"),
        (["rules", "{model}", "--max-leaves", "1"], "--max-leaves must be an int ≥ 2. Got '1'"),
        (
            ["train", "{docs}", "-o", "{tmp}/m", "--set", "C=abc"],
            "--set C=… must be a number > 0 or one of 'auto'. Got 'abc'",
        ),
        (
            ["train", "{codes}", "-o", "{tmp}/m", "--taxonomy=prefix", "--learner=hierarchicalrls"],
            "(parent 'A'), and so in 1 other row; --set close_labels=true adds the missing",
        ),
        (["info", "{tmp}"], "{tmp} is no model, as it has no model.json; name a file in it"),
        (
            ["train", "{docs}", "-o", "{tmp}/m", "--seed", "abc"],
            "error: --seed must be an int ≥ 0. Got 'abc'",
        ),
        (
            ["train", "{docs}", "-o", "{tmp}/m", "--n-labels", "x"],
            "error: --n-labels must be an int. Got 'x'",
        ),
        (["eval", "{model}", "{docs}", "-j", "x"], "error: --jobs must be an int. Got 'x'"),
        (["predict", "{docs}"], "{docs} is no model; labelwood predict MODEL DATA"),
        (["eval", "{docs}"], "{docs} is no model; labelwood eval MODEL DATA"),
        (["predict", "{model}"], "Missing argument 'DATA...'; see labelwood predict --help"),
        (
            ["info", "{model}", "{model}"],
            "error: models are shown one at a time: labelwood info {model}",
        ),
        (
            ["train", "{docs}", "-o", "{tmp}/m", "--text-column", "text,text"],
            "error: --text-column names 'text' twice; name each column once",
        ),
        (
            ["predict", "{model}", "{docs}", "--treshold", "1"],
            "No such option: --treshold (Possible",
        ),
        (
            ["tarin", "{docs}"],
            "No such command 'tarin'. Did you mean 'train'?; see labelwood --help",
        ),
        (
            ["train", "{docs}", "{tmp}/m"],
            "Missing option '--output' / '--out' / '-o'; see labelwood",
        ),
        (
            ["train", "{docs}", "-o", "{tmp}/m", "--threshold", "150%"],
            "'--threshold': '150%' is no",
        ),
        (["train", "{empty}", "-o", "{tmp}/m"], "has no samples; it holds no row below its header"),
        (
            ["train", "{bare}", "-o", "{tmp}/m", "--label-column", "text"],
            "the column 'text' is taken for the text already; name another one by --label-column",
        ),
        (["predict", "{model}", "{docs}", "-o", "{tmp}/a.npz"], "give one of them by --to"),
        (["predict", "{model}", "{docs}", "--long"], "--long is for tables; add --to csv"),
        (
            ["predict", "{model}", "a broken printer"],
            "to tag a text: echo 'a broken printer' | lab",
        ),
        (
            ["predict", "{model}", "{docs}", "-o", "{tmp}/a.xlsx"],
            "jsonl, csv, tsv, parquet, not as",
        ),
        (
            ["eval", "{model}", "{bare}"],
            "has no labels; if they are there, name their column by --l",
        ),
        (
            ["train", "{bare}", "-o", "{tmp}/m"],
            "has no labels; if they are there, name their column",
        ),
        (
            ["convert", "{docs}", "{tmp}/a.xlsx"],
            "parquet, npz, not as .xlsx; give one of them by --to, or another name of the file",
        ),
        (
            ["convert", "{docs}", "{tmp}/a.csv", "--to", "xlsx"],
            "--to must be one of 'xmc', 'jsonl', 'csv'",
        ),
        (["convert", "{docs}"], "give the file to write: labelwood convert"),
        (["info", "{docs}", "--delimiter", ";"], "--delimiter is for CSV, TSV; JSONL has no use"),
    ],
)
def test_a_known_error_is_one_line_and_exit_code_2(
    arguments, message, model, documents, tmp_path, monkeypatch, capsys
):
    bare = tmp_path / "bare.csv"
    bare.write_text("text,size\na cat,3\n")
    empty = tmp_path / "empty.csv"
    empty.write_text("text,labels\n")
    places = {"docs": documents, "tmp": tmp_path, "model": model, "bare": bare, "empty": empty}
    places |= {"other": tmp_path / "other.csv", "latin": tmp_path / "latin.csv"}
    places["codes"] = tmp_path / "codes.csv"
    places["codes"].write_text("text,labels\na cat,A\nthe mat,AB\na dog,AC\nthe fog,A\n")
    places["other"].write_text("text,labels\na cat,zebra\n")
    places["latin"].write_bytes(b"caf\xe9\n")
    filled = [one.format(**places) for one in arguments]
    monkeypatch.setattr(sys, "argv", ["labelwood", *filled])
    with pytest.raises(SystemExit, match="2"):
        main_module.main()
    errors = [one for one in capsys.readouterr().err.splitlines() if "reading" not in one]
    assert len(errors) == 1
    assert errors[0].startswith("labelwood: error: ")
    assert message.format(**places) in errors[0]
    assert not (tmp_path / "m").exists()


def test_text_columns_are_joined_whether_in_one_option_or_in_two(tmp_path):
    (tmp_path / "a.csv").write_text("first,second,tags\na cat,sleeps,cat\n")
    for given in (["first,second"], ["first", "--text-column", "second"]):
        run("convert", tmp_path / "a.csv", tmp_path / "b.jsonl", "--text-column", *given)
        assert labelwood.load_dataset(tmp_path / "b.jsonl").texts == ["a cat\nsleeps"]


def test_a_model_reads_the_columns_that_it_learned_from(tmp_path):
    rows = ["the cat sleeps;nothing;cat", "the dog barks;nothing;dog"] * 10
    (tmp_path / "a.csv").write_text("Name;Title;Tags\n" + "\n".join(rows) + "\n")
    (tmp_path / "new.csv").write_text("Title;Name\na dog, which barks;the cat sleeps\n")
    learned = ("--text-column", "Name", "--learner", "onevsrest", "--quiet")
    run("train", tmp_path / "a.csv", "-o", tmp_path / "m", *learned)
    answer = json.loads(run("predict", tmp_path / "m", tmp_path / "new.csv", "-k", "1"))
    assert answer["labels"][0]["label"] == "cat"
    tagger = labelwood.load(tmp_path / "m")
    frame = pyarrow.table({"Name": ["the cat sleeps"], "Title": ["a dog, which barks"]})
    assert tagger.predict(frame, k=1) == [["cat"]]
    other = tmp_path / "other.csv"
    other.write_text("Message\nthe dog barks\n")
    answer = json.loads(run("predict", tmp_path / "m", other, "-k", "1"))
    assert answer["labels"][0]["label"] == "dog"


def test_a_single_text_is_refused_with_the_option_that_helps(tmp_path, capsys):
    (tmp_path / "one.csv").write_text("text,labels\nan owl,owl\n")
    arguments = ["train", str(tmp_path / "one.csv"), "-o", str(tmp_path / "m")]
    with (
        pytest.warns(LabelwoodWarning, match="The only sample has the label 'owl' and no other"),
        pytest.raises(DataError) as caught,
    ):
        app(arguments, standalone_mode=False)
    assert "1 sample, texts, not vectorized, 1 label, " in capsys.readouterr().out
    assert in_options(str(caught.value)) == (
        "min_df=2 is more than 1 text; give --set text.min_df=1, or a share of the texts such as "
        "0.01."
    )


def test_a_column_that_the_model_learned_from_and_the_file_lacks_is_warned_of(tmp_path):
    rows = [f"a cat {i};it sleeps {i};cat\nthe dog {i};it barks {i};dog" for i in range(9)]
    (tmp_path / "a.csv").write_text("\n".join(["Betreff;Nachricht;Tags", *rows]) + "\n")
    (tmp_path / "one.csv").write_text("Betreff;Tags\na cat;cat\n")
    (tmp_path / "other.csv").write_text("text;Tags\na cat;cat\n")
    run("train", tmp_path / "a.csv", "-o", tmp_path / "m", "--learner", "onevsrest", "-q")
    warned = (
        r"^the model learned from 'Betreff' and 'Nachricht', and .*/one.csv has no 'Nachricht'; "
        "rename the column"
    )
    for command in ("predict", "eval"):
        arguments = [command, str(tmp_path / "m"), str(tmp_path / "one.csv"), "-q"]
        with pytest.warns(LabelwoodWarning, match=warned):
            CliRunner().invoke(app, arguments)
        # The column is given, or has another name: nothing is amiss.
        chosen = CliRunner().invoke(app, [*arguments, "--text-column", "Betreff"])
        other = CliRunner().invoke(app, [*arguments[:2], str(tmp_path / "other.csv"), "-q"])
        for one in (chosen, other):
            assert one.exit_code == 0
            assert "learned from" not in one.stderr
    tagger = labelwood.load(tmp_path / "m")
    with pytest.raises(DataError, match=r"no 'Nachricht' among 'Betreff'; .*predict\(data\['Bet"):
        tagger.predict_frame(pyarrow.table({"Betreff": ["a cat"]}))


@pytest.mark.parametrize(
    ("suffix", "write"),
    [
        ("csv", lambda rows: "\n".join(["title,codes,tags", *(f"{a},{b},x" for a, b in rows)])),
        (
            "jsonl",
            lambda rows: "\n".join(
                json.dumps({"title": a, "codes": [b], "tags": ["x"]}) for a, b in rows
            ),
        ),
    ],
)
def test_a_model_is_evaluated_on_the_labels_that_it_learned_from(tmp_path, suffix, write):
    data = tmp_path / f"a.{suffix}"
    data.write_text(write([("the cat sleeps", "1.2"), ("the dog barks", "1.3")] * 10) + "\n")
    learned = ("--label-column", "codes", "--learner", "onevsrest", "--quiet")
    run("train", data, "-o", tmp_path / "m", *learned)
    assert labelwood.load(tmp_path / "m").label_columns_ == ["codes"]
    found = json.loads(run("eval", tmp_path / "m", data, "--json", "--quiet"))
    assert (found["n_labels"], found["figures"]["P@1"]["value"]) == (2, 1.0)
    (tmp_path / "other.csv").write_text("title,labels\nthe cat sleeps,1.2\n")
    found = json.loads(run("eval", tmp_path / "m", tmp_path / "other.csv", "--json", "--quiet"))
    assert found["figures"]["P@1"]["value"] == 1.0


def test_decimal_commas_come_with_semicolons(model, documents, tmp_path):
    out = tmp_path / "tags.csv"
    run("predict", model, documents, "-k", "2", "-o", out, "--decimal-comma")
    header, first = out.read_text().splitlines()[:2]
    assert header == "id;text;labels;probabilities"
    assert re.fullmatch(r'[^;]+;[^;]+;"\w+; \w+";"-?\d+,\d+; -?\d+,\d+"', first)
    run("predict", model, documents, "-k", "1", "-o", out, "--decimal-comma", "--long")
    assert re.fullmatch(r"[^;]+;\w+;-?\d+,\d+", out.read_text().splitlines()[1])
    with pytest.raises(ParameterError, match="--decimal-comma is for CSV; add --to csv"):
        run("predict", model, documents, "--decimal-comma")


def test_errors_warnings_and_versions_look_right_from_outside(tmp_path):
    wrong = run_apart("info", "absent.txt", cwd=tmp_path)
    assert wrong.returncode == 2
    assert len(wrong.stderr.splitlines()) == 1
    assert run_apart("--version").stdout == f"labelwood {labelwood.__version__}\n"
    (tmp_path / "a.txt").write_text("2 2 2\n0 0:1\n0 1:1\n")
    trained = run_apart("train", "a.txt", "-o", "m", cwd=tmp_path)
    assert trained.returncode == 0
    assert "labelwood: warning: 1 of 2 labels has no sample" in trained.stderr


def test_a_closed_pipe_is_no_error(model, documents):
    command = f"{sys.executable} -m labelwood predict {model} {documents}"
    process = subprocess.Popen(command.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait() in (0, 1)


def test_converting_to_standard_output_prints_the_data_and_nothing_else(documents, tmp_path):
    converted = run_apart("convert", documents, "-", "--to", "jsonl")
    assert len(converted.stdout.splitlines()) == len(DOCUMENTS)
    assert "written to -" in converted.stderr


def test_the_file_that_is_read_is_not_written_over(model, documents, tmp_path):
    copy = tmp_path / "docs.jsonl"
    copy.write_bytes(documents.read_bytes())
    for arguments in (["predict", model, copy, "-o", copy], ["convert", copy, copy]):
        done = run_apart(*arguments)
        assert done.returncode == 2
        assert "is the file that is read" in done.stderr
    assert copy.read_bytes() == documents.read_bytes()


def test_a_name_that_says_another_format_is_warned_of(model, documents, tmp_path):
    given = ["predict", model, documents, "-q", "-o", tmp_path / "a.csv", "--to"]
    warned = [CliRunner().invoke(app, [*map(str, given), to]).stderr for to in ("jsonl", "csv")]
    assert warned == [
        f"labelwood: warning: {tmp_path}/a.csv is written as jsonl, though its name says .csv\n",
        "",
    ]


@pytest.mark.parametrize("name", ["out.v2", "preds.2024-05-01"])
def test_a_name_with_a_point_that_says_no_format_is_not_warned_of(model, documents, tmp_path, name):
    given = ["predict", model, documents, "-q", "-o", tmp_path / name, "--to", "csv"]
    assert CliRunner().invoke(app, list(map(str, given))).stderr == ""


def test_ranks_above_the_number_of_labels_are_those_of_all_labels(model, documents):
    given = ["eval", model, documents, "-q", "--json", "-k", f"1,5,{2**63 - 1}"]
    done = CliRunner().invoke(app, list(map(str, given)))
    figures = json.loads(done.stdout)["figures"]
    assert [one for one in figures if one.startswith("P@")] == ["P@1", "P@3", "P@5"]
    assert f"there are 3 labels, so -k {2**63 - 1} is taken as 3" in done.stderr


def test_predictions_are_compressed_when_their_file_is_called_so(model, documents, tmp_path):
    run("predict", model, documents, "-o", tmp_path / "out.jsonl.gz")
    with gzip.open(tmp_path / "out.jsonl.gz", "rt", encoding="utf-8") as file:
        assert len(file.readlines()) == len(DOCUMENTS)


def test_names_in_every_script_are_printed_whatever_the_locale(tmp_path):
    line = json.dumps({"text": "neko neko", "labels": ["猫"]})
    (tmp_path / "cats.jsonl").write_text((line + "\n") * 4)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    run_apart("train", "cats.jsonl", "-o", "m", cwd=tmp_path)
    done = run_apart("predict", "m", "cats.jsonl", cwd=tmp_path, env=environment, encoding="utf-8")
    assert done.returncode == 0
    assert "猫" in done.stdout


def test_no_threads_are_refused(documents, tmp_path):
    done = run_apart("train", documents, "-o", tmp_path / "m", "-j", "0")
    assert done.returncode == 2
    assert "0 threads can do nothing" in done.stderr


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The 'format' parameter of load_dataset must be", "--format must be"),
        ("The 'n_jobs' parameter of OneVsRestSVM must be", "--jobs must be"),
        ("The 'C' parameter of OneVsRestSVM must be", "--set C=… must be"),
        ("name the right one by text_column, or give header=False", "name the right one by "
         "--text-column, or give --no-header"),
        ("give label_column='a,b', or its encoding by encoding", "give --label-column 'a,b', or "
         "its encoding by --encoding"),
        ("found the column 'label_column'", "found the column 'label_column'"),
        ("write to another name, or give overwrite=True", "write to another name, or give --force"),
        ("lower min_df, raise max_df, or", "lower --set text.min_df=…, raise --set text.max_df=…, "
         "or"),
        ("for words alone give features='words'. Got", "for words alone give "
         "--set text.features=words. Got"),
        ("The 'ngrams' parameter of TextVectorizer must be", "--set text.ngrams=… must be"),
        ("Raise max_candidates or min_df.", "Raise --set text.max_candidates=… or "
         "--set text.min_df=…."),
        ("leave out label_names, label_count", "leave out --label-names, --label-count"),
        ("labels stand under one key; name one by label_column.", "labels stand under one key; "
         "name one by --label-column."),
        *[(own, own) for own in (
            "min_df.csv: there is no such file",
            "min_df: there is no such file",
            "data/label_column.csv: there is no such file",
            "label_column.csv, line 2: it has no column",
            "OneVsRestSVM has no parameter 'min_df'; it has C",
            "no figure 'x' can be read from it; it has top_score, margin, n_labels, latency",
            "n_labels does not change in the first 200 predictions",
        )],
    ],
)  # fmt: skip
def test_messages_of_the_library_are_in_the_words_of_the_command_line(message, expected):
    assert in_options(message) == expected


def test_quiet_is_quiet_and_still_warns(tmp_path):
    (tmp_path / "a.txt").write_text("2 2 2\n0 0:1\n0 1:1\n")
    trained = run_apart("train", "a.txt", "-o", "m", "-q", cwd=tmp_path)
    assert trained.stdout == ""
    assert "labelwood: warning: 1 of 2 labels has no sample; it is never" in trained.stderr


def test_what_was_guessed_is_remarked_unless_quiet(tmp_path):
    (tmp_path / "a.csv").write_text("Comment;Tags\na cat;cat\n", encoding="cp1252")
    arguments = ["convert", str(tmp_path / "a.csv"), str(tmp_path / "b.jsonl")]
    assert CliRunner().invoke(app, arguments).stderr == (
        "labelwood: reading a.csv (CSV, delimiter ';', text from 'Comment', labels from 'Tags')\n"
    )
    assert CliRunner().invoke(app, [*arguments, "-q"]).stderr == ""


def test_figures_on_the_training_data_come_with_a_warning(model, documents, tmp_path):
    seen = CliRunner().invoke(app, ["eval", str(model), str(documents), "-q"])
    remark = "the samples of docs.jsonl (JSONL) are those that the model was trained on"
    assert remark in seen.stderr
    (tmp_path / "new.jsonl").write_text('{"text": "a cat", "labels": ["cat"]}\n')
    assert CliRunner().invoke(app, ["eval", str(model), str(tmp_path / "new.jsonl")]).stderr == ""


def test_some_training_samples_in_an_evaluation_are_warned_of(tmp_path):
    rows = [
        json.dumps({"text": f"{animal} number {i}", "labels": [animal]}) + "\n"
        for i in range(30)
        for animal in ("cat", "dog")
    ]
    (tmp_path / "all.jsonl").write_text("".join(rows))
    (tmp_path / "train.jsonl").write_text("".join(rows[:40]))
    run("train", tmp_path / "train.jsonl", "-o", tmp_path / "m", "--learner", "onevsrest", "-q")

    def seen(some):
        (tmp_path / "some.jsonl").write_text("".join(some))
        arguments = ["eval", str(tmp_path / "m"), str(tmp_path / "some.jsonl"), "-q"]
        return CliRunner().invoke(app, arguments).stderr

    remark = (
        "samples were in the training data; leave them out, as they say nothing about new data\n"
    )
    assert seen(rows) == f"labelwood: warning: 40 of 60 {remark}"  # they contain it
    assert seen(rows[:40][::-1]) == f"labelwood: warning: 40 of 40 {remark}"
    assert seen(rows[10:30]) == f"labelwood: warning: 20 of 20 {remark}"
    assert seen(rows[38:]) == f"labelwood: warning: 2 of 22 {remark}"
    assert seen(rows[39:]) == ""  # 1 of 21 is no more than short texts repeat
    assert seen(rows[40:]) == ""


def test_tables_are_written_by_their_suffix(model, tmp_path):
    lines = tmp_path / "new.txt"
    lines.write_text("a cat\nan öwl\n")
    run("predict", model, lines, "-k", 2, "-o", tmp_path / "a.csv", "-q")
    written = (tmp_path / "a.csv").read_bytes()
    assert written.startswith(b"\xef\xbb\xbfid,text,labels,probabilities\n0,a cat,cat; ")
    run("predict", model, lines, "-k", 1, "--out", tmp_path / "a.tsv", "--long", "-q")
    assert (tmp_path / "a.tsv").read_text().splitlines()[0] == "id\tlabel\tprobability"
    shown = run_apart("predict", model, "-", "-k", 1, "--to", "tsv", "-q", input="a cat\n").stdout
    assert shown.startswith("id\ttext\tlabels\tprobabilities\n0\ta cat\tcat\t")
    pq = pytest.importorskip("pyarrow.parquet")
    run("predict", model, lines, "-k", 2, "-o", tmp_path / "a.parquet", "-q")
    table = pq.read_table(tmp_path / "a.parquet").to_pydict()
    assert list(table) == ["id", "text", "labels", "probabilities"]
    assert table["labels"][0][0] == "cat"


def test_several_files_are_converted_together(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"text,tags\nan {name},{name}\n")
    run("convert", tmp_path / "a.csv", tmp_path / "b.csv", "-o", tmp_path / "c.jsonl", "-q")
    run("convert", tmp_path / "[ab].csv", tmp_path / "d.tsv", "-q")
    for name in ("c.jsonl", "d.tsv"):
        assert labelwood.load_dataset(tmp_path / name).label_lists() == [["a"], ["b"]]


def test_a_name_that_is_too_long_for_a_file_is_no_model(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["labelwood", "eval", "a" * 300])
    with pytest.raises(SystemExit, match="2"):
        main_module.main()
    assert "is no model; labelwood eval MODEL DATA" in capsys.readouterr().err


def test_messages_speak_of_options():
    assert in_options("try one_based=True") == "try --one-based"
    assert in_options("missing='zero' reads it") == "--missing 'zero' reads it"
    assert in_options("is read with n_features=7).") == "is read with --n-features 7)."


# Which a process does not where its parent ignored it, as in the background of a script.
TAKES_SIGINT = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interruption_leaves_nothing_and_is_told_by_the_exit_code(jobs, tmp_path):
    made = synthetic(20_000, 5_000, 2_000, n_test=1, random_state=0)
    save_dataset(made.train, tmp_path / "train.txt")
    code = f"{TAKES_SIGINT}import labelwood.cli.main as cli; cli.main()"
    arguments = [sys.executable, "-c", code, "train", "train.txt", "-o", "m", "-j", jobs]
    process = subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()  # the data have been read, training begins
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in error
    assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]


@pytest.mark.parametrize("afterwards", ["return fit(*arguments, **options)", "raise RuntimeError"])
def test_an_interruption_that_a_library_drops_still_stops_before_the_model_is_written(
    afterwards, tmp_path
):
    (tmp_path / "train.jsonl").write_text('{"text": "a cat", "labels": ["cat"]}\n' * 20)
    code = (
        f"{TAKES_SIGINT}import ctypes, os, sys\n"
        "import labelwood.cli.main as cli, labelwood.tagger as tagger\n"
        "fit = tagger.Tagger.fit\n"
        "def interrupted(*arguments, **options):\n"
        "    ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))()\n"
        f"    {afterwards}\n"
        "tagger.Tagger.fit = interrupted\n"
        "sys.argv = ['labelwood', 'train', 'train.jsonl', '-o', 'm']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]


def seconds_of(*command):
    """The best of three, in a process of its own; its processor time, as others may be busy."""

    def once():
        before = os.times()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - sum(before[2:4])

    return min(once() for _ in range(3))


def test_importing_is_quick_and_compiles_nothing():
    bare = seconds_of("-c", "pass")
    assert seconds_of("-c", "import labelwood") - bare < 3 * 0.3
    code = "import sys, labelwood; print(sorted({'numba', 'sklearn', 'scipy'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_help_is_quick_and_loads_nothing_heavy():
    assert seconds_of("-m", "labelwood", "--help") < 3 * 0.5
    code = (
        "import sys, labelwood.cli.main; "
        "print(sorted({'numba', 'sklearn', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def fails(*arguments, message, **options):
    """The command ends with one line of error and exit code 2."""
    done = run_apart(*arguments, **options)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert message in done.stderr.splitlines()[-1]


def test_a_model_is_not_written_into(model, documents):
    before = (model / "model.json").read_bytes()
    for output in (model / "model.json", model / "more.jsonl"):
        fails("predict", model, documents, "-o", output, message="is a model; write to another")
    fails("eval", model, documents, "--per-label", model / "x.csv", message="is a model; write to")
    assert (model / "model.json").read_bytes() == before
    assert len(list(model.iterdir())) == 2


def test_a_full_disk_is_noticed_before_training(documents, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    monkeypatch.setattr(labelwood.Tagger, "fit", lambda *_: pytest.fail("it was trained"))
    with pytest.raises(ModelError, match=r"needs about .* MB and 0\.0 MB are free there"):
        run("train", documents, "-o", tmp_path / "m")


def test_the_time_of_training_is_without_that_of_compiling(monkeypatch):
    clock = {"now": 100.0, "compiled": 7.0}
    monkeypatch.setattr(time, "perf_counter", lambda: clock["now"])
    monkeypatch.setattr("labelwood.core.kernel.compile_seconds", lambda: clock["compiled"])
    stopwatch = Stopwatch()
    clock.update(now=112.0, compiled=16.0)  # 12 seconds went by, 9 of them in the compiler
    assert stopwatch.seconds == 3


def test_names_beside_a_converted_file_are_not_replaced(tmp_path):
    (tmp_path / "a.svm").write_text("owl 1:1\ncat 2:1\n")
    (tmp_path / "b.labels.txt").write_text("years of work\n")
    fails("convert", "a.svm", "b.txt", message="holds other names", cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svm", "b.labels.txt"]
    run("convert", tmp_path / "a.svm", tmp_path / "b.txt", "--force")
    assert (tmp_path / "b.labels.txt").read_text() == "cat\nowl\n"


@pytest.mark.parametrize("name", ["empty.jsonl", "header.csv"])
def test_an_empty_batch_has_an_empty_answer(model, tmp_path, name):
    (tmp_path / name).write_text("text\n" if name.endswith("csv") else "")
    assert run("predict", model, tmp_path / name) == ""
    assert run("predict", model, "-", stdin="") == ""
    fails("eval", model, tmp_path / name, message="has no samples to evaluate")


def test_an_error_always_has_a_message(monkeypatch, capsys):
    def fail(**_options):
        raise MemoryError

    monkeypatch.setattr(main_module, "app", fail)
    with pytest.raises(SystemExit, match="2"):
        main_module.main()
    assert capsys.readouterr().err == f"labelwood: error: {main_module._OUT_OF_MEMORY}\n"


def closed(*arguments, descriptor):
    """The command line, started with a closed descriptor."""
    command = [sys.executable, "-m", "labelwood", *map(str, arguments)]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {descriptor}', "sh", *command], capture_output=True, text=True
    )


def test_closed_streams_are_one_line(model, documents):
    done = closed("predict", model, "-", descriptor="<&-")
    assert (done.returncode, done.stderr) == (
        2,
        "labelwood: error: standard input is closed; give a file\n",
    )
    done = closed("predict", model, documents, descriptor=">&-")
    assert done.returncode == 2
    assert done.stderr.startswith("labelwood: error: standard output is closed")
    assert closed("predict", model, documents, "-q", descriptor="2>&-").returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_output_that_cannot_be_written_is_an_error(model, documents):
    done = closed("predict", model, documents, descriptor=">/dev/full")
    assert done.returncode == 2
    assert done.stderr.endswith("standard output cannot be written: No space left on device\n")


def test_a_path_that_is_no_text_is_printed_as_it_is(documents, tmp_path):
    output = os.path.join(os.fsencode(tmp_path), b"mod\xff")
    command = [sys.executable, "-m", "labelwood", "train", documents, "-o", output]
    for options in ([], ["--json"]):
        done = subprocess.run([*command, "--learner", "popularity", *options], capture_output=True)
        assert done.returncode == 0, done.stderr
        assert b"mod\xff" in done.stdout or b"mod\\udcff" in done.stdout


def test_an_interruption_while_importing_is_quiet(tmp_path):
    code = (
        "import os, runpy, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "runpy.run_module('labelwood', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_quiet_command_compiles_without_a_remark_and_the_next_one_compiles_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    convert = ["convert", tmp_path / "a.txt", tmp_path / "b.npz"]
    for quiet in (["-q"], []):
        assert "compiling" not in run_apart(*convert, *quiet, env=environment).stderr


@pytest.mark.slow
def test_after_warm_up_nothing_is_compiled(documents, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    warm = run_apart("warm-up", "--json", env=environment)
    assert warm.returncode == 0, warm.stderr
    assert sum(json.loads(warm.stdout)["seconds"].values()) > 1
    assert "reading" not in warm.stderr  # of the small files that it writes itself
    many = tmp_path / "many.jsonl"  # enough for a trial of feature sets
    many.write_text(
        200 * '{"text": "a cat", "labels": ["cat"]}\n{"text": "dogs", "labels": ["dog"]}\n'
    )
    done = run_apart("train", many, "-o", tmp_path / "of many", env=environment)
    assert (done.returncode, "compiling" in done.stderr) == (0, False), done.stderr
    for learner in LEARNERS:
        if "hierarchical" in learner:
            continue
        model = tmp_path / learner
        for arguments in (
            ["train", documents, "-o", model, "--learner", learner],
            ["predict", model, documents],
            ["eval", model, documents],
        ):
            done = run_apart(*arguments, env=environment)
            assert "compiling" not in done.stderr, (learner, arguments[0])
            assert done.returncode == 0, done.stderr


def test_eval_splits_cells_of_labels_as_training_did(tmp_path):
    rows = ['"a cat","cat"', '"a dog","dog"', '"a cat and a dog","cat, dog"'] * 9
    (tmp_path / "train.csv").write_text("\n".join(["text,labels", *rows]) + "\n")
    (tmp_path / "test.csv").write_text('text,labels\n"a cat and a dog","dog, cat"\n')
    run("train", tmp_path / "train.csv", "-o", tmp_path / "m", "--learner", "onevsrest", "-q")
    arguments = ["eval", str(tmp_path / "m"), str(tmp_path / "test.csv"), "-k", "1", "--json", "-q"]
    assert json.loads(CliRunner().invoke(app, arguments).stdout)["true_per_sample"] == 2


def test_a_learner_that_does_not_use_the_taxonomy_is_remarked(documents, tmp_path):
    tree = tmp_path / "tree.tsv"
    tree.write_text("cat\tpet\ndog\tpet\nowl\tbird\n")
    options = ["--taxonomy", tree, "--learner", "onevsrest"]
    with pytest.warns(LabelwoodWarning, match="OneVsRestSVM does not use the taxonomy, which"):
        run("train", documents, "-o", tmp_path / "m", *options)
