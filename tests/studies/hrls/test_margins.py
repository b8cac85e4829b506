"""The studies of margins, taxonomies and streams on little data."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwood import studies
from labelwood.studies.hrls.taxonomies import with_constant


def test_regret_is_measured_with_and_without_a_margin() -> None:
    result = studies.run("hrls-margins", only="chain", quick=True, jobs=1)
    assert [row["margin"] for row in result.rows] == [0.0] * 3 + [0.15] * 3
    assert all(0 <= row["regret"] <= 1 for row in result.rows)


def test_a_constant_beside_unit_rows_weighs_as_much_as_the_row() -> None:
    rows = with_constant(sp.csr_array([[3.0, 4.0], [0.0, 2.0]])).toarray()
    np.testing.assert_allclose(rows, [[0.6, 0.8, 1], [0, 1, 1]], rtol=1e-6)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("study", "part", "n"),
    [
        ("hrls-taxonomies", "enron_corr", 10),
        ("hrls-stream", "hmc/enron_corr", 2),
        ("hrls-primal", "hmc/imclef07a", 4),
        ("label-statistics", "cal500", 1),
    ],
)
def test_the_quick_version_has_a_row_for_each_learner(
    study: str, part: str, n: int, shared_data: object
) -> None:
    result = studies.run(study, data=str(shared_data), only=part, quick=True, jobs=1)
    assert len(result.rows) == n
