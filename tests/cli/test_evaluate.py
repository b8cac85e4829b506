"""What `labelwood eval` warns of."""

import pytest

from builders import run_command
from labelwood.errors import LabelwoodWarning

PETS = ["cat", "dog", "owl", "fox"]


def wide(pets, rows):
    lines = [",".join(["text", *pets])]
    for i, pet in enumerate(rows):
        lines.append(",".join([f"a {pet} at {i}", *(str(int(pet == one)) for one in pets)]))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eval")
    (folder / "train.csv").write_text(wide(PETS, PETS * 6))
    run_command("train", folder / "train.csv", "-o", folder / "m", "--learner", "onevsrest", "-q")
    return folder / "m"


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["cat", "dog"], [], "2 of the 4 label columns of the model are not in the data"),
        (["cat", "dog"], ["--label-column", "cat..dog"], "('owl', 'fox') and count as 0, which"),
        (["cat", "id", "dog", "owl"], [], "1 of the 4 label columns of the model is not in"),
        (PETS, [], None),
    ],
)
def test_label_columns_that_the_data_lack_are_warned_of(model, tmp_path, columns, options, message):
    (tmp_path / "test.csv").write_text(wide(columns, ["cat", "dog", "owl"] * 3))
    warned = run_command("eval", model, tmp_path / "test.csv", "-q", *options).stderr
    assert message in warned if message else "label column" not in warned


def test_lists_of_labels_lack_no_columns(model, tmp_path):
    (tmp_path / "test.csv").write_text("text,labels\na cat,cat\na dog,dog\n")
    assert "label column" not in run_command("eval", model, tmp_path / "test.csv", "-q").stderr


def test_labels_joined_by_another_separator_name_the_option(tmp_path):
    rows = "".join(f"a {pet} at {i},{pet}\n" for i, pet in enumerate(PETS * 6))
    (tmp_path / "train.csv").write_text("text,labels\n" + rows)
    (tmp_path / "test.csv").write_text('text,labels\na cat,cat\na cat and a dog,"cat, dog"\n')
    run_command(
        "train", tmp_path / "train.csv", "-o", tmp_path / "m", "--learner", "onevsrest", "-q"
    )
    with pytest.warns(LabelwoodWarning, match="join") as caught:
        run_command("eval", tmp_path / "m", tmp_path / "test.csv", "-q")
    assert "1 of them joins known labels by ','" in str(caught[0].message)
