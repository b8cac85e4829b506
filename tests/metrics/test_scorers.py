"""Scorers where a fold holds labels that were unseen in training."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_score

from labelwood import OneVsRestSVM, Tagger
from labelwood.errors import LabelwoodWarning
from labelwood.metrics import scorers

ONE_EACH = np.array(["cat", "dog"] * 10 + ["emu"])
SCORERS = [scorers.precision(1), scorers.ndcg(3), scorers.micro_f1()]


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("y", [ONE_EACH, [[one] for one in ONE_EACH]], ids=["classes", "lists"])
def test_a_fold_of_a_label_unseen_in_training_scores_zero(y, scorer):
    X = np.array([[one == "cat", one == "dog", one == "emu"] for one in ONE_EACH], dtype=float)
    with pytest.warns(LabelwoodWarning, match="knows none of the labels of these samples"):
        found = cross_val_score(
            OneVsRestSVM(random_state=0), X, y, cv=LeaveOneOut(), scoring=scorer
        )
    assert found[-1] == 0
    assert (found[:-1] > 0).all()


def test_a_fold_of_texts_with_a_label_unseen_in_training_scores_zero():
    texts = [f"a {one} in the field" for one in ONE_EACH]
    labels = [[one] for one in ONE_EACH.tolist()]
    model = Tagger(OneVsRestSVM(random_state=0))
    with pytest.warns(LabelwoodWarning, match="knows none of the labels of these samples"):
        found = cross_val_score(model, texts, labels, cv=KFold(21), scoring=scorers.precision(1))
    assert np.isfinite(found).all()
    assert found[-1] == 0


def test_a_truth_of_other_names_scores_zero_with_a_warning():
    model = OneVsRestSVM(random_state=0).fit(np.eye(2), [["cat"], ["dog"]])
    with pytest.warns(LabelwoodWarning, match="are they called as in training"):
        assert scorers.micro_f1()(model, np.eye(2), [["Cat"], ["Dog"]]) == 0
