"""Names of labels in training and in other data."""

import warnings

import numpy as np
import pytest

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.tagger.names import matched_labels, warn_of_alike_labels

KNOWN = np.array(["Kündigung", "Lob", "Rechnung"])


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["Lob", "lob", "Rad"], "'Lob' and 'lob' are two labels, which differ only in case; write"),
        (["LOB", "Lob", "lob"], "3 of 3 labels differ from others only in case .'LOB' and 'Lob'"),
        (["A", "B", "a", "b", "c"], "4 of 5 labels differ from others only in case .'A' and 'a', "),
        (["STRASSE", "Straße"], "'STRASSE' and 'Straße' are two labels"),
    ],
)
def test_labels_that_differ_in_case_alone_are_warned_of(names, match):
    with pytest.warns(LabelwoodWarning, match=match):
        warn_of_alike_labels(names)


def test_labels_that_differ_otherwise_are_not():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_alike_labels(["Lob", "Lobe", "rad"])
    assert not caught


def data(*cells, columns=("Tags",)):
    made = Dataset.from_lists(["a"] * len(cells), [[one] for one in cells])
    return Dataset(
        None, made.Y, label_names=made.label_names, texts=made.texts, label_columns=columns
    )


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (["Kündigung;Lob", "Lob"], "give label_separator=';'"),
        (["Kündigung, Lob", "Lob, Rechnung", "Neu", "Lob"], "give label_separator=','"),
        (["Kündigung Lob", "Lob"], "give label_separator='space'"),
        (["Kündigung;Neu", "Lob"], None),
        (["Lob, Rechnung", "Rom, IT", "Oslo, NO", "Bonn, DE", "Lob"], None),
    ],
)
def test_unseen_labels_that_are_several_known_ones_name_the_separator(cells, hint):
    with pytest.warns(LabelwoodWarning, match="never seen in training") as caught:
        matched_labels(KNOWN, data(*cells))
    message = str(caught[0].message)
    assert ("known labels" in message) == (hint is not None)
    assert hint is None or message.endswith(f"{hint}.")


def test_where_all_labels_are_joined_the_separator_is_named_too():
    with pytest.raises(DataError, match=r"knows none .* 1 of them joins known labels by ';': give"):
        matched_labels(KNOWN, data("Kündigung;Lob"))
    with pytest.raises(DataError, match="known labels by ';': give lists of labels"):
        matched_labels(KNOWN, data("Kündigung;Lob", columns=None))
