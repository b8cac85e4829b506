"""Parameters that `labelwood train` is asked for."""

import pytest

from labelwood.cli.learners import make_learners
from labelwood.cli.source import in_options
from labelwood.errors import ParameterError


@pytest.mark.parametrize("learner", ["auto", "onevsrest", "hierarchicalrls"])
@pytest.mark.parametrize("setting", ["min_df=3", "features=words"])
def test_a_parameter_of_the_vectorizer_is_named_as_one(learner, setting):
    with pytest.raises(ParameterError, match="is for the vectorizer") as error:
        make_learners(learner, ["C=1", setting][learner == "hierarchicalrls" :], seed=0, jobs=1)
    remedy = f"--set {setting} is for the vectorizer; write --set text.{setting}"
    assert in_options(str(error.value)) == remedy


def test_a_parameter_of_neither_is_none_of_the_learner():
    with pytest.raises(ParameterError, match="OneVsRestSVM has no parameter 'D'"):
        make_learners("onevsrest", ["D=1"], seed=0, jobs=1)
