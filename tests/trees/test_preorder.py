import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelwood.trees.preorder import depths_agree, is_preorder

shapes = st.recursive(st.none(), lambda below: st.tuples(below, below), max_leaves=12)


def flat(trees):
    """The arrays of nested pairs: roots, negative children and depths."""
    roots, right, depths = [], [], []

    def visit(tree, depth):
        node = len(right)
        right.append(-1)
        depths.append(depth)
        if tree is not None:
            visit(tree[0], depth + 1)
            right[node] = len(right)
            visit(tree[1], depth + 1)

    for tree in trees:
        roots.append(len(right))
        visit(tree, 0)
    return np.array(roots), np.array(right), np.array(depths)


@given(st.lists(shapes, min_size=1, max_size=4))
def test_trees_in_preorder_are_known_as_such(trees):
    roots, right, depths = flat(trees)
    assert is_preorder(right, roots)
    assert depths_agree(right, roots, depths)


@given(st.lists(shapes, min_size=1, max_size=3), st.data())
def test_any_other_child_depth_or_root_is_noticed(trees, data):
    roots, right, depths = flat(trees)
    node = data.draw(st.integers(0, right.size - 1))
    child = data.draw(st.integers(-1, right.size - 1).filter(lambda one: one != right[node]))
    other = right.copy()
    other[node] = child
    assert not is_preorder(other, roots)
    deeper = depths.copy()
    deeper[node] += data.draw(st.integers(1, 10**9))
    assert not depths_agree(right, roots, deeper)
    assert not is_preorder(np.append(right, -1), roots)
    assert not is_preorder(right, np.append(roots, right.size))
    if right.size > roots.size:
        assert not is_preorder(right, np.arange(right.size)[: roots.size] + 1)
