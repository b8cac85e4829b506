import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood import TopK, metrics
from labelwood.metrics import Sensitivity
from metrics import brute_force

SETTINGS = {"Wikipedia": (0.5, 0.4), "Amazon": (0.6, 2.6), "other data": (0.55, 1.5)}
TRUE = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
TOP = TopK([[0], [1], [0]], np.ones((3, 1)))
COUNTS = [40, 10, 0]


def formula(counts: list[int], n: int, a: float, b: float) -> list[float]:
    C = (np.log(n) - 1) * (b + 1) ** a
    return [1 / (1 + C * (count + b) ** -a) for count in counts]


@given(st.data())
def test_every_setting_gives_what_its_propensities_give_by_definition(data: st.DataObject) -> None:
    true = data.draw(brute_force.truths())
    top = data.draw(brute_force.rankings(true.shape[0]))
    counts = data.draw(st.lists(st.integers(0, 500), min_size=6, max_size=6))
    given = metrics.propensity(counts, a=0.3, b=7, n_samples=500)
    result = metrics.evaluate(true, top, propensity=given, ks=[1, 3], n_bootstrap=0)
    truth = brute_force.label_sets(true)
    ranks = [[label for label in row if label >= 0] for row in top.labels.tolist()]
    scores = {"PSP": brute_force.psp, "PSnDCG": brute_force.psndcg}
    expected = {
        f"{name}@{k}": {
            kind: pytest.approx(score(truth, ranks, k, formula(counts, 500, a, b)))
            for kind, (a, b) in SETTINGS.items()
        }
        for name, score in scores.items()
        for k in (1, 3)
    }
    assert {one.name: one.values for one in result.sensitivity} == expected


def test_the_figure_of_a_published_setting_is_among_its_values() -> None:
    for kind, (a, b) in SETTINGS.items():
        p = metrics.propensity(COUNTS, a, b, n_samples=60)
        result = metrics.evaluate(TRUE, TOP, propensity=p, ks=[1], n_bootstrap=0)
        for one in result.sensitivity:
            assert one.values[kind] == result[one.name]


def test_the_lowest_and_the_highest_value_tell_their_setting() -> None:
    one = Sensitivity("PSP@1", {"Wikipedia": 0.2, "Amazon": 0.4, "other data": 0.3})
    assert (one.lowest, one.highest) == (("Wikipedia", 0.2), ("Amazon", 0.4))


def test_the_range_is_printed_below_the_table() -> None:
    p = metrics.propensity(COUNTS, n_samples=60)
    shown = str(metrics.evaluate(TRUE, TOP, propensity=p, ks=[1], n_bootstrap=0))
    # By hand: (w_0 + w_1) / (w_0 + w_1 + w_2) with the inverse propensities w of a setting.
    assert shown.splitlines()[-4:] == [
        "PSP and PSnDCG with the constants (a, b) of the propensities published for "
        "Wikipedia (0.5, 0.4), Amazon (0.6, 2.6), other data (0.55, 1.5)",
        "                range     lowest  highest",
        "PSP@1     35.34–46.64  Wikipedia   Amazon",
        "PSnDCG@1  35.34–46.64  Wikipedia   Amazon",
    ]


def test_where_all_settings_agree_none_is_the_lowest() -> None:
    p = metrics.propensity(COUNTS, n_samples=60)
    right = TopK([[0], [1], [2]], np.ones((3, 1)))
    shown = str(metrics.evaluate(TRUE, right, propensity=p, ks=[1], n_bootstrap=0))
    assert shown.splitlines()[-1].split() == ["PSnDCG@1", "100.00–100.00", "–", "–"]


def test_json_holds_every_setting() -> None:
    p = metrics.propensity(COUNTS, n_samples=60)
    result = metrics.evaluate(TRUE, TOP, propensity=p, ks=[1], n_bootstrap=0)
    read = json.loads(result.to_json())["sensitivity"]
    assert list(read) == ["PSP@1", "PSnDCG@1"]
    assert list(read["PSP@1"]) == list(SETTINGS)
    assert read["PSP@1"]["other data"] == result["PSP@1"]


def test_an_array_of_chances_gives_the_same_figures_and_no_sensitivity() -> None:
    p = metrics.propensity(COUNTS, n_samples=60)
    told, plain = (
        metrics.evaluate(TRUE, TOP, TRUE, propensity=one, ks=[1], random_state=0)
        for one in (p, p.values)
    )
    assert plain.figures == told.figures
    assert plain.to_dict()["sensitivity"] == {}
    assert str(told).startswith(str(plain) + "\n")


def test_label_sets_alone_have_no_sensitivity() -> None:
    p = metrics.propensity(COUNTS, n_samples=60)
    assert metrics.evaluate(TRUE, labels=TRUE, propensity=p, n_bootstrap=0).sensitivity == ()
