import numpy as np

from labelwood import PopularityClassifier


def test_every_point_gets_the_commonest_labels():
    Y = np.array([[0, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0]])
    model = PopularityClassifier().fit(np.ones((3, 1)), Y)
    top = model.predict_topk(np.ones((2, 1)), k=4)
    assert top.labels.tolist() == [[1, 0, 2, -1]] * 2
    np.testing.assert_allclose(top.scores[0, :3], [1, 1 / 3, 1 / 3])


def test_predict_gives_as_many_labels_as_a_point_has_on_average():
    Y = np.array([[0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 1, 1]])
    model = PopularityClassifier().fit(np.ones((4, 1)), Y)
    assert model.n_predicted_ == 2
    assert model.predict(np.ones((1, 1))).toarray().tolist() == [[0, 1, 1]]


def test_one_class_a_point_is_predicted_as_a_class():
    model = PopularityClassifier().fit([[0], [0], [0]], ["cat", "dog", "dog"])
    assert model.predict([[5]]).tolist() == ["dog"]
