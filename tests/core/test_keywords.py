"""Parameters by name."""

import copy

import pytest
from sklearn.base import BaseEstimator, clone

from labelwood.core.keywords import NamedParameters
from labelwood.errors import ParameterError


class Small(NamedParameters, BaseEstimator):
    def __init__(self, C=1.0, *, max_iter=10):
        self.C = C
        self.max_iter = max_iter


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": 2}, r"Small has no parameter 'c'; did you mean 'C'\?"),
        (
            {"C": 2, "max_iters": 5},
            r"Small has no parameter 'max_iters'; did you mean 'max_iter'\?",
        ),
        ({"foo": 5}, "Small has no parameter 'foo'; it has C, max_iter"),
    ],
)
def test_a_misspelled_parameter_is_one_line_with_the_right_one(given, message):
    with pytest.raises(ParameterError, match=message):
        Small(**given)


def test_estimators_are_made_copied_and_cloned_as_ever():
    small = Small(3.0, max_iter=7)
    copies = [copy.copy(small), copy.deepcopy(small), clone(small)]
    assert all(one.get_params() == {"C": 3.0, "max_iter": 7} for one in copies)
