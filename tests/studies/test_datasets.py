import numpy as np

from labelwood import synthetic
from labelwood.studies._datasets import first, folds


def rows_of(data):
    return {row.tobytes() for row in data.X.toarray()}


def test_every_point_is_tested_in_one_fold_and_trained_on_in_the_others():
    data = synthetic(103, 200, 10, random_state=0).train
    everything = rows_of(data)
    assert len(everything) == 103
    tested = []
    for train, test in folds(data, 10, seed=3):
        assert rows_of(train) | rows_of(test) == everything
        assert len(train) + len(test) == 103
        tested.append(rows_of(test))
    assert sorted({len(fold) for fold in tested}) == [10, 11]
    assert set.union(*tested) == everything


def test_the_first_points_keep_the_labels_that_those_for_training_have():
    made = synthetic(60, 30, 40, n_test=20, random_state=1)
    train, test = first(made.train, made.test, 25)
    assert (len(train), len(test)) == (25, 20)
    labels = np.flatnonzero(made.train.Y[:25].sum(axis=0))
    assert np.array_equal(train.Y.toarray(), made.train.Y[:25][:, labels].toarray())
    assert np.array_equal(test.Y.toarray(), made.test.Y[:, labels].toarray())
