import lzma

import numpy as np
import pytest

from labelwood import studies
from labelwood.errors import DataError
from labelwood.studies.mab.captions import FILES, best_captions

HEAD = "rank,funny,somewhat_funny,unfunny,count,score,precision,contest,caption\n"


def write(path, rows, head=HEAD):
    text = head + "".join(f'1,{f},{s},{u},0,0,0,520,"a, ""b"""\n' for f, s, u in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Made-up contests of twelve captions, one of which is liked by most readers."""
    place = tmp_path_factory.mktemp("data")
    for file in FILES:
        write(place / file, [(9, 0, 1), *([(1, i, 19 - i) for i in range(11)])])
    return place


@pytest.fixture(scope="module")
def result(folder):
    return studies.run("mab-captions", data=folder, quick=True, jobs=1)


def test_a_caption_is_as_good_as_the_share_of_readers_that_find_it_at_least_somewhat_funny(
    tmp_path,
):
    path = write(tmp_path / "1.csv.xz", [(1, 0, 9), (2, 1, 1), (0, 3, 2), (0, 0, 0), (0, 0, 4)])
    assert best_captions(path, 4).tolist() == [0.75, 0.6, 0.1, 0.0]
    assert best_captions(path, 2).tolist() == [0.75, 0.6]


def test_a_file_with_too_few_captions_is_refused(tmp_path):
    path = write(tmp_path / "1.csv.xz", [(1, 0, 9), (0, 0, 0)])
    with pytest.raises(DataError, match=r"1.csv.xz: 2 captions with ratings are needed, 1 are"):
        best_captions(path, 2)


@pytest.mark.parametrize(
    ("rows", "head"),
    [([(1, 2, 3), ("x", 2, 3)], HEAD), ([(1, 2, 3), (1, 2, "")], HEAD), ([(1, 2, 3)], "a,b\n")],
)
def test_what_is_not_a_number_is_refused_with_its_line(tmp_path, rows, head):
    path = write(tmp_path / "1.csv.xz", rows, head)
    line = len(rows) + 1
    with pytest.raises(DataError, match=rf"line {line}: funny, somewhat_funny, unfunny must be"):
        best_captions(path, 1)


def test_each_policy_has_both_panels(result):
    policies = ["MAB-FDR", "AB-FDR", "MAB-FDR, bound beta"]
    for panel, x, values in (("truncation", "limit", [500, 2_000]), ("arms", "arms", [5, 10])):
        rows = [row for row in result.rows if row["panel"] == panel]
        assert [(row["policy"], row[x]) for row in rows] == [
            (policy, value) for policy in policies for value in values
        ]


def test_adaptive_sampling_finds_the_caption_that_most_like_and_sooner(result):
    rows = {row["policy"]: row for row in result.rows if row.get("limit") == 2_000}
    assert rows["MAB-FDR, bound beta"]["BDR"] == 1
    by_arms = [row for row in result.rows if row["panel"] == "arms" and row["arms"] == 10]
    adaptive, uniform, sharper = (row["samples"] for row in by_arms)
    assert sharper < adaptive < uniform


def test_without_the_contests_the_study_cannot_be_run():
    with pytest.raises(DataError, match=r"mab-captions cannot be run: .*captions/520.csv.xz"):
        studies.run("mab-captions")


def test_the_plot_names_the_policies(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("mab-captions").draw, result.rows).decode()
    for text in ("captions", "MAB-FDR, bound beta", "truncation time", "samples"):
        assert f">{text}<" in image


@pytest.mark.shared
def test_the_real_contests_have_close_winners(shared_data):
    best = np.array([best_captions(shared_data / file, 80) for file in FILES])
    assert best.shape == (30, 80)
    assert (np.diff(best) <= 0).all()
    assert best[0, 0] == (235 + 319) / 744
    gaps = best[:, 0] - best[:, 1]
    assert 0 < gaps.min() < 1e-4
    assert 0.02 < np.median(gaps) < 0.05
