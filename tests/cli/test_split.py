"""`labelwood split`: two files in the format of one, rows as they stand there."""

import json
import re

import pytest
from typer.testing import CliRunner

from labelwood import load_dataset
from labelwood.cli.main import app
from labelwood.errors import LabelwoodError

ANIMALS = ("owl", "cat", "dog", "emu")
TEXTS = [f"the {ANIMALS[i % 4]} of day {i} (été)" for i in range(40)]
LABELS = [[ANIMALS[i % 4]] + ["bird"] * (i % 4 in (0, 3)) for i in range(40)]


def run(*arguments):
    done = CliRunner().invoke(app, ["split", *map(str, arguments)], catch_exceptions=True)
    if isinstance(done.exception, LabelwoodError):
        raise done.exception
    return done


def lines(path):
    return path.read_text(encoding="utf-8-sig").splitlines()


def pairs(*paths):
    found = [load_dataset(path) for path in paths]
    return [
        (text, sorted(labels))
        for data in found
        for text, labels in zip(data.texts, data.label_lists(), strict=True)
    ]


def write(folder, name, rows, encoding="utf-8"):
    path = folder / name
    path.write_text("".join(f"{row}\n" for row in rows), encoding=encoding)
    return path


def of_format(folder, kind):
    every = list(zip(TEXTS, LABELS, strict=True))
    if kind == "jsonl":
        rows = [json.dumps({"from": 7, "labels": names, "text": text}) for text, names in every]
        return write(folder, "a.jsonl", rows)
    if kind == "fasttext":
        return write(
            folder, "a.txt", [" ".join(f"__label__{n}" for n in m) + " " + t for t, m in every]
        )
    if kind == "annif":
        return write(
            folder, "a.tsv", [f"{t}\t" + " ".join(f"<u:{n}>" for n in m) for t, m in every]
        )
    rows = [
        "Priority;Message;Tags",
        *(f'{i};"{t}\n!";"{"|".join(m)}"' for i, (t, m) in enumerate(every)),
    ]
    return write(folder, "a.csv", rows, "cp1252")


@pytest.mark.parametrize("kind", ["jsonl", "fasttext", "annif", "csv"])
def test_every_row_is_in_one_part_as_it_stands_in_the_file(tmp_path, kind):
    path = of_format(tmp_path, kind)
    train, test = (tmp_path / f"a-{part}{path.suffix}" for part in ("train", "test"))
    done = run(path, "--test-size", "25%")
    assert done.stdout == f"{train}: 30 samples, 5 labels\n{test}: 10 samples, 5 labels\n"
    assert sorted(pairs(train, test)) == sorted(pairs(path))
    text = path.read_text(encoding="cp1252" if kind == "csv" else "utf-8")
    assert all(line in text for part in (train, test) for line in lines(part))
    assert len(lines(train)) + len(lines(test)) == len(text.splitlines()) + (kind == "csv")


def test_both_parts_have_like_shares_of_every_label(tmp_path):
    path = of_format(tmp_path, "jsonl")
    run(path, "--test-size", "0.5")
    parts = [load_dataset(tmp_path / f"a-{part}.jsonl") for part in ("train", "test")]
    for part in parts:
        names = [name for one in part.label_lists() for name in one]
        assert {name: names.count(name) for name in ANIMALS} == dict.fromkeys(ANIMALS, 5)


def test_the_seed_and_the_way_of_drawing_decide_the_parts(tmp_path):
    path = of_format(tmp_path, "jsonl")

    def drawn(*arguments):
        run(path, "--force", *arguments)
        return lines(tmp_path / "a-test.jsonl")

    assert drawn() == drawn("--seed", "0") != drawn("--seed", "1")
    assert drawn("--random") == drawn("--random") != drawn()


def test_labels_are_written_plainly_where_a_part_alone_would_leave_doubt(tmp_path):
    cells = ["a, b", "b, c", "a, c", "a", "b", "c", "a", "b", "c", "a"]
    path = write(
        tmp_path, "a.csv", ["x;text;tags", *(f"{i};t{i};{c}" for i, c in enumerate(cells))]
    )
    assert "labels separated by ','" in load_dataset(path).description
    done = run(path)
    train, test = tmp_path / "a-train.csv", tmp_path / "a-test.csv"
    assert "labels are separated by ';' in a-train.csv and a-test.csv" in done.stderr
    assert sorted(pairs(train, test)) == sorted(pairs(path))
    assert lines(train)[0] == lines(test)[0] == "x;text;tags"


def test_svmlight_keeps_its_numbers_and_its_comments(tmp_path):
    rows = ["# made by hand", *(f"{i % 2} 1:{i}.50 3:1 # sample {i}" for i in range(10)), ""]
    path = write(tmp_path, "a.svm", rows)
    run(path)
    train, test = lines(tmp_path / "a-train.svm"), lines(tmp_path / "a-test.svm")
    assert train[0] == test[0] == rows[0]
    assert sorted(one for one in train[1:] + test[1:] if one) == sorted(rows[1:-1])


def test_parquet_keeps_its_columns(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": TEXTS, "labels": LABELS, "n": list(range(40))})
    parquet.write_table(table, tmp_path / "a.parquet")
    run(tmp_path / "a.parquet")
    parts = [parquet.read_table(tmp_path / f"a-{part}.parquet") for part in ("train", "test")]
    assert [part.column_names for part in parts] == [["text", "labels", "n"]] * 2
    assert sorted(parts[0]["n"].to_pylist() + parts[1]["n"].to_pylist()) == list(range(40))


def test_files_may_be_named_and_then_converted_and_joined(tmp_path):
    first, second = of_format(tmp_path, "jsonl"), of_format(tmp_path, "fasttext")
    train, test = tmp_path / "in.jsonl.gz", tmp_path / "out.csv"
    run(first, second, "--train", train, "--test", test, "--quiet")
    assert sorted(pairs(train, test)) == sorted(pairs(first, second))


def test_xmc_text_is_counted_and_compressed_files_stay_compressed(tmp_path):
    xmc = write(tmp_path, "a.txt", ["6 2 2", *(f"{i % 2} 0:1 1:{i}" for i in range(6))])
    run(xmc, "--test-size", "0.5")
    assert lines(tmp_path / "a-train.txt")[0] == "3 2 2"
    jsonl = of_format(tmp_path, "jsonl")
    run(jsonl, "--train", tmp_path / "b.jsonl.gz", "--test", tmp_path / "c.jsonl.gz")
    assert (tmp_path / "b.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"
    run(tmp_path / "b.jsonl.gz")
    assert len(load_dataset(tmp_path / "b-test.jsonl.gz")) == 6


def test_texts_in_both_parts_are_warned_of(tmp_path):
    path = write(tmp_path, "a.csv", ["text,tags", *["an owl,owl"] * 10])
    with pytest.warns(UserWarning, match="2 of 2 texts of the test part are in the training part"):
        CliRunner().invoke(app, ["split", str(path)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.csv"], "a-train.csv is there already; give --force to replace it"),
        (["nix.csv"], "nix.csv: there is no such file"),
        (["."], "is a directory; name a file in it"),
        (["a.csv", "a.csv"], "several files are read: name the files to write by --train and"),
        (["-"], "standard input is read: name the files to write by --train and --test"),
        (["a.csv", "--train", "b.csv", "--test", "b.csv"], "both parts would be written to b.csv"),
        (["a.csv", "--train", "a.csv", "--test", "b.csv"], "a.csv is the file that is read"),
        (["a.csv", "--train", "x/b.csv", "--test", "b.csv"], "there is no directory x; make it"),
        (["one.csv"], "one.csv (CSV, labels from 'tags') has 1 sample, of which no two parts"),
        (
            ["bare.csv", "--test-size", "0.99", "--seed", "1"],
            "with --test-size 0.99 the training part would be 1 sample without any label; give a",
        ),
        (["a.csv", "--test-size", "1", "--force"], "--test-size must lie between 0 and 1. Got 1."),
        (["b.arff"], "b.arff is in a format that is not written (arff); give --train FILE.jsonl"),
    ],
)
def test_what_cannot_be_split_is_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "a-train.csv", "a-test.csv"):
        write(tmp_path, name, ["text,tags", "an owl,owl", "a cat,cat"])
    write(tmp_path, "one.csv", ["text,tags", "an owl,owl"])
    write(tmp_path, "bare.csv", ["text,tags", *(f"an owl {i}," for i in range(9)), "a cat,cat"])
    arff = ["@relation 'a: -C 1'", "@attribute l {0,1}", "@attribute f numeric", "@data"]
    write(tmp_path, "b.arff", [*arff, "1,2", "0,3", "1,4"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(LabelwoodError, match=re.escape(message)):
        run(*arguments)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
