"""The examples run as they stand, the notebook cell by cell."""

import json
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SHOWS = {
    "ab_test": "stopped: winner 1",
    "library_taxonomy": "HierarchicalRLSClassifier: hierarchical F1 1.00",
    "pandas_to_model_and_back": "micro-F1 1.00",
    "rare_labels": "by inverse propensities: P@5",
    "tag_support_tickets": "sample,tag,probability",
}


def test_every_script_is_listed():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SHOWS)


@pytest.mark.parametrize("name", SHOWS)
def test_a_script_prints_what_it_promises(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert SHOWS[name] in capsys.readouterr().out


def test_the_cells_of_the_notebook_run_in_order():
    notebook = json.loads((EXAMPLES / "first_hour.ipynb").read_text(encoding="utf-8"))
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["loaded"].predict(["an owl"]) == [["owl"]]
