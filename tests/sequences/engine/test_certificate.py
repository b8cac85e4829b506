import numpy as np
import pytest

from labelwood.errors import DataError
from labelwood.sequences.engine import Certificate, Chain, Run, certify

CHAIN = Chain(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))


def run(end, log_likelihood=0.0):
    history = np.array([-1.0, log_likelihood])
    return Run(CHAIN, end, history, np.array([1.0]), "likelihood plateau", 0)


def certificate(*ends):
    runs = [run(end) for end in ends]
    return certify(runs, runs[0], lambda a, b: abs(a.emissions - b.emissions), 0.1, agreement=0.01)


def test_the_spread_is_the_largest_distance_between_two_of_the_agreeing_ends():
    found = certificate(0.0, 0.004, -0.003, 5.0)
    assert (found.n_agree, found.n_starts) == (3, 4)
    assert found.spread == pytest.approx(0.007)
    assert str(found).startswith("3 of 4 starts end within 7e-03 of each other;")


def test_a_single_end_is_not_called_agreement():
    assert str(certificate(0.0)).startswith("a single start, so nothing tells whether others end")
    assert str(certificate(0.0, 3.0, 5.0)).startswith("none of the other 2 starts ends at the best")


def test_a_damaged_certificate_is_refused():
    for text in ("{", "{}", "[1]"):
        with pytest.raises(DataError, match="not a certificate"):
            Certificate.from_json(text)
