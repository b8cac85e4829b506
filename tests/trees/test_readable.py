"""One way to show trees of every kind."""

import json

import numpy as np
import pytest

from labelwood import BudgetedTreeClassifier, RuleTreeClassifier
from labelwood.errors import ParameterError
from labelwood.trees import readable
from labelwood.trees.rules.decision_tree.readout import SplitReader


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 6))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] * X[:, 2] > 0)
    return RuleTreeClassifier(max_leaves=15).fit(X, y)


def test_paths_lead_to_every_leaf_and_say_what_the_walk_does(model):
    reader = SplitReader(model)
    found = list(readable.paths(reader))
    assert len(found) == 15
    trees = model._trees()
    assert sorted(path.leaf for path in found) == np.flatnonzero(trees.right < 0).tolist()
    for rule, (conditions, leaf) in zip(reader.rules(), found, strict=True):
        assert [str(one) for one in rule[0].conditions] == list(conditions)
        assert rule[1] == leaf


def test_text_and_json_tell_the_same(model):
    content = json.loads(model.to_json())
    root = content["trees"][0]["root"]
    assert model.export_text().startswith(f"if {root['if']}\n")
    assert model.export_text().count("samples)") == 15


def test_a_drawing_of_fifteen_leaves_has_a_box_for_each_node(model):
    pytest.importorskip("matplotlib")
    axes = model.plot(feature_names=list("abcdef"))
    boxes = [text for text in axes.texts if text.get_bbox_patch() is not None]
    assert len(boxes) == 29
    # Signs beside the branches are short: conditions, which can be long, stand in the boxes.
    beside = {text.get_text().strip() for text in axes.texts if text.get_bbox_patch() is None}
    assert beside == {"yes", "no"}
    assert sum("<" in box.get_text() for box in boxes) == 14
    width, _ = axes.figure.get_size_inches()
    assert width >= 15  # more than an inch for each leaf
    with pytest.raises(ParameterError, match="tree must be in 0…0"):
        model.plot(tree=1)


def test_a_tree_of_budgeted_decisions_is_shown_the_same_way():
    X = np.random.default_rng(0).standard_normal((300, 8))
    tree = BudgetedTreeClassifier(budget=1, random_state=0).fit(X, X[:, 3] > 0.2)
    root = json.loads(tree.to_json())["trees"][0]["root"]
    assert root["if"].startswith("x3 >")
    assert set(root) == {"node", "if", "then", "else"}
