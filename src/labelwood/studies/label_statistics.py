"""How many labels, label sets and labels per sample there are in each data set.

Figure 1 of Liu and Tsang (JMLR 2017), "Making Decision Trees Feasible in Ultrahigh Feature and
Label Dimensions", on the data sets at hand: the distribution of the number of labels of a sample,
and how far the label sets that occur are from all 2^L.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import QUICK_SAMPLES, split_files
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

SETS = (
    "bibtex",
    "delicious",
    "corel5k",
    "cal500",
    "eurlex57k",
    "rcv1-15k-hier",
    "reuters21578",
    "hmc/imclef07a",
    "hmc/cellcycle_FUN",
    "hmc/enron_corr",
)


def rows(part: str, options: Options) -> Iterator[Row]:
    """The statistics of the training part."""
    from labelwood.data.load import load_dataset

    data = load_dataset(options.file(_files(part)[0]))
    yield {"data": part, **statistics(data.select(range(QUICK_SAMPLES)) if options.quick else data)}


def statistics(data: "Dataset") -> dict[str, float]:
    """Labels, label sets and labels per sample of a data set.

    Examples
    --------
    >>> from labelwood import Dataset
    >>> found = statistics(Dataset(X=[[1], [1], [0]], Y=[[1, 1], [1, 1], [0, 1]]))
    >>> found["labels"], found["label sets"], found["once"], found["mean"]
    (2, 2, 1, 1.666...)
    """
    import numpy as np

    from labelwood.trees.coding.label_sets import entropy, label_sets

    sizes = np.diff(data.Y.indptr)
    found = label_sets(data.Y)
    return {
        "samples": len(data),
        "labels": data.n_labels,
        "label sets": int(found.counts.size),
        "once": int(np.count_nonzero(found.counts == 1)),
        "entropy": float(entropy(found.counts)),
        "mean": float(sizes.mean()),
        "median": float(np.median(sizes)),
        "most": int(sizes.max()),
    }


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Labels against label sets, both on logarithmic axes, a dot a data set."""
    figure.set_size_inches(6, 4)
    axes = figure.subplots()
    for row in rows:
        axes.loglog(row["labels"], row["label sets"], "o", color="C0")
        axes.annotate(row["data"], (row["labels"], row["label sets"]), fontsize=7)
    axes.set(xlabel="labels", ylabel="label sets that occur")


def _files(part: str) -> list[str]:
    return ["cal500/all.txt.xz"] if part == "cal500" else split_files(part)[:1]


STUDY = Study(
    name="label-statistics",
    title="Labels, label sets and labels per sample of the data sets at hand",
    parts={part: _files(part) for part in SETS},
    columns={
        "data": "",
        "samples": ",d",
        "labels": ",d",
        "label sets": ",d",
        "once": ",d",
        "entropy": ".2f",
        "mean": ".2f",
        "median": ".0f",
        "most": "d",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "Training parts. label sets: different ones; once: of a single sample; entropy: of the "
        "label sets, in bits (theorem 12); mean, median, most: labels per sample.",
        *([f"The first {QUICK_SAMPLES} samples."] if options.quick else []),
    ),
)
