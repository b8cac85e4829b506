"""Small files of every format with random changes, read in one process; prints counts as JSON.

    python tests/data/readers/mutations.py 50000            # so many files for each reader
    python tests/data/readers/mutations.py 50000 npz arff   # of these alone

Whatever is changed, a file is read or refused by an error of the package with a message. Anything
else is wrong: another exception (a MemoryError too, under a limit of 4 GB), or no end.
"""

import bz2
import faulthandler
import gzip
import io
import json
import lzma
import random
import resource
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
import zstandard

from labelwood import Dataset, Taxonomy
from labelwood.data.load import load_dataset, save_dataset
from labelwood.errors import LabelwoodError

SECONDS = 60  # for one file
MEMORY = 4 * 2**30
WORDS = (
    b"0", b"-1", b"1e308", b"nan", b"2147483647", b"2147483648", b"9223372036854775808", b"1_0",
    b"\xef\xbb\xbf", b"\0", b"\r", b"\n", b"\t", b",", b";", b":", b'"', b"'", b"{", b"}", b"[",
    b"]", b"\\u0000", b"\\", b"%", b"@data", b"-C 2", b"?", b"\xff", b"\xd9\xa1", b"/", b"..",
)  # fmt: skip


def _written(data: Dataset, suffix: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"sample{suffix}"
        save_dataset(data, path)
        return path.read_bytes()


def _parquet() -> bytes:
    table = pa.table({"id": ["1", "2"], "text": ["an owl", "é"], "labels": [["owl"], ["a", "b"]]})
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="none")
    return stream.getvalue()


def samples() -> dict[str, tuple[str, bytes, Callable[[Path], object]]]:
    """Reader → suffix, a valid file, and how it is read."""
    X = sp.csr_array(np.array([[0.5, 0, 2], [0, 1, 0], [1, 0, 0]], dtype=np.float32))
    Y = sp.csr_array(np.array([[1, 0], [1, 1], [0, 0]], dtype=np.float32))
    features = Dataset(X, Y, label_names=["cat", "owl"], feature_names=["a", "b", "c"])
    texts = Dataset.from_lists(["an owl, asleep", "two\ncats"], [["owl"], ["cat", "owl"]])
    xmc = _written(Dataset(X, Y), ".txt")
    arff = (
        b"@relation 'tiny: -C 2'\n@attribute p {0,1}\n@attribute 'q r' {0,1}\n"
        b"@attribute s numeric\n@attribute kind {a,'b c',d}\n"
        b"@data\n1,0,2.5,a\n{0 1,2 -1,3 'b c'}\n0,1,?,d\n"
    )
    edges = b"animal\tcat\nanimal\towl\nowl\tbarn owl\n"
    return {
        "xmc": (".txt", xmc, load_dataset),
        "svmlight": (".svm", b"1,2 1:0.5 3:2 # a\n2 2:1\n 1:1\n", load_dataset),
        "jsonl": (".jsonl", _written(texts, ".jsonl"), load_dataset),
        "jsonl of features": (".jsonl", _written(features, ".jsonl"), load_dataset),
        "csv": (".csv", b'id,text,labels\n1,"a cat, asleep",cat;pet\n2,an owl,owl\n', load_dataset),
        "tsv": (".tsv", b"id\ttext\tlabels\na\tone two\tx\nb\tthree\tx;y\n", load_dataset),
        "arff": (".arff", arff, lambda path: load_dataset(path, missing="zero")),
        "parquet": (".parquet", _parquet(), load_dataset),
        "npz": (".npz", _written(features, ".npz"), load_dataset),
        "fastText": (
            ".txt",
            b"__label__cat __label__pet a cat, asleep\n__label__owl an owl\nno label\n",
            lambda path: load_dataset(path, "fasttext"),
        ),
        "Annif": (
            ".tsv",
            b"a cat, asleep\t<http://ex.org/cat> <http://ex.org/pet>\nan owl\t<http://ex.org/owl>\n",
            lambda path: load_dataset(path, "annif"),
        ),
        "Annif JSONL": (
            ".jsonl",
            b'{"text": "a cat", "subjects": [{"uri": "http://ex.org/cat", "label": "cat"}]}\n'
            b'{"text": "an owl", "subjects": [{"uri": "http://ex.org/owl"}]}\n',
            load_dataset,
        ),
        "bz2": (".txt.bz2", bz2.compress(xmc), load_dataset),
        "zst": (".txt.zst", zstandard.compress(xmc), load_dataset),
        "gzip": (".txt.gz", gzip.compress(xmc), load_dataset),
        "xz": (".txt.xz", lzma.compress(xmc), load_dataset),
        "taxonomy": (".txt", edges, lambda path: Taxonomy.from_file(path, columns="parent child")),
    }


def changed(rng: random.Random, data: bytes) -> bytes:
    """One to four changes: bits, words, cuts, repetitions, swaps."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, kind = rng.randrange(len(content) + 1), rng.randrange(7)
        if kind <= 1 and at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            word = rng.choice(WORDS)
            content[at : at + rng.choice((0, 0, len(word)))] = word
        elif kind == 3 and at < len(content):
            content[at] = rng.randrange(256)
        elif kind == 4:
            del content[at : at + rng.choice((1, 2, 8, len(content)))]
        elif kind == 5:
            part = content[at : at + rng.choice((1, 4, 40))]
            content[at:at] = part * rng.choice((1, 2, 50))
        else:
            other = rng.randrange(len(content) + 1)
            first, last = min(at, other), max(at, other)
            content = content[last:] + content[first:last] + content[:first]
    return bytes(content)


def outcome(read: Callable[[Path], object], path: Path) -> str:
    try:
        repr(read(path))
    except LabelwoodError as error:
        return "refused" if str(error).strip() else "wrong: an error without a message"
    except BaseException as error:
        return f"wrong: {type(error).__name__}: {error}"[:200]
    return "read"


def attack(n: int, *names: str, seed: int = 0) -> dict[str, Counter[str]]:
    found = {}
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (suffix, data, read) in samples().items():
            if names and name not in names:
                continue
            path = Path(folder) / f"file{suffix}"
            counts: Counter[str] = Counter()
            for case in range(n):
                path.write_bytes(changed(random.Random(f"{seed}-{name}-{case}"), data))
                faulthandler.dump_traceback_later(SECONDS, exit=True)
                result = outcome(read, path)
                counts[f"{result} (case {case})" if result.startswith("wrong") else result] += 1
            found[name] = counts
    faulthandler.cancel_dump_traceback_later()
    return found


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    n, *names = sys.argv[1:]
    for name, counts in attack(int(n), *names).items():
        print(json.dumps({name: counts}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
