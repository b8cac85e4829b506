import numpy as np
import pytest

from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Instance,
    Integer,
    OneOf,
    Real,
    check_parameter,
    parse_parameter,
)
from labelwood.errors import ParameterError


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (Integer(low=1), 1),
        (Integer(), np.int64(-3)),
        (Real(above=0), 1e-9),
        (Real(low=0, below=1), 0),
        (OneOf("a", "b"), "b"),
        (Boolean(), False),
        (N_JOBS, None),
        (RANDOM_STATE, np.random.default_rng(0)),
        (RANDOM_STATE, 7),
        (Instance("ndarray"), np.zeros(1)),
    ],
)
def test_a_value_inside_its_constraint_passes(constraint, value):
    check_parameter("Thing", "x", value, constraint)
    assert True


@pytest.mark.parametrize(
    ("constraint", "value", "message"),
    [
        (Integer(low=1), 0, "must be an int ≥ 1. Got 0 instead"),
        (Integer(low=1, high=9), 10, "must be an int ≥ 1 and ≤ 9. Got 10"),
        (Integer(), 1.0, "must be an int. Got 1.0"),
        (Integer(), True, "must be an int. Got True"),
        (Real(above=0), 0, "must be a number > 0. Got 0"),
        (Real(low=0, below=1), 1.0, "must be a number ≥ 0 and < 1. Got 1.0"),
        (Real(), float("nan"), "must be a number. Got nan"),
        (Real(), "1", "must be a number. Got '1'"),
        (Real(), 10**400, "must be a number. Got 1000"),
        (OneOf("a", "b"), "c", "must be one of 'a', 'b'. Got 'c'"),
        ((Integer(), None), "x", "must be an int or None. Got 'x'"),
        (N_JOBS, 0, "must be an int ≥ 1 or an int ≤ -1 or None. Got 0"),
        (Instance("Generator"), 1, "must be an instance of Generator. Got 1"),
    ],
)
def test_a_value_outside_is_told_in_one_sentence(constraint, value, message):
    with pytest.raises(ParameterError, match=f"The 'x' parameter of Thing {message}"):
        check_parameter("Thing", "x", value, constraint)


@pytest.mark.parametrize(
    ("constraint", "text", "value"),
    [
        (Real(above=0), "0.5", 0.5),
        (Integer(), "3", 3),
        (Boolean(), "no", False),
        ((Integer(), None), "None", None),
        ((OneOf("auto"), Real()), "2", 2.0),
        ((OneOf("auto"), Real()), "auto", "auto"),
    ],
)
def test_text_is_read_by_the_constraint(constraint, text, value):
    assert parse_parameter("Thing", "x", text, {"x": constraint}) == value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x", "-1", "must be a number > 0. Got '-1'"),
        ("x", "many", "must be a number > 0. Got 'many'"),
        ("y", "1", "Thing has no parameter 'y'; it has x"),
    ],
)
def test_text_outside_the_constraint_is_refused(name, text, message):
    with pytest.raises(ParameterError, match=message):
        parse_parameter("Thing", name, text, {"x": Real(above=0)})


@pytest.mark.parametrize("text", ["1_0", "１０", "1e2", "10.0", ""])
def test_a_whole_number_is_written_in_plain_digits(text):
    with pytest.raises(ParameterError, match=r"must be an int ≥ 1\. Got"):
        parse_parameter("Thing", "x", text, {"x": Integer(low=1)})


@pytest.mark.parametrize("text", ["1_0.5", "１.5"])
def test_a_number_is_written_in_plain_digits(text):
    with pytest.raises(ParameterError, match=r"must be a number\. Got"):
        parse_parameter("Thing", "x", text, {"x": Real()})


def test_whole_numbers_are_limited_to_what_kernels_can_count():
    message = "must be an int ≥ 1, of at most 9223372036854775807. Got 1000"
    with pytest.raises(ParameterError, match=message):
        parse_parameter("Thing", "max_iter", str(10**26), {"max_iter": Integer(low=1)})
    with pytest.raises(ParameterError, match=message):
        check_parameter("Thing", "max_iter", 10**26, Integer(low=1))
    check_parameter("Thing", "random_state", 2**63, RANDOM_STATE)
