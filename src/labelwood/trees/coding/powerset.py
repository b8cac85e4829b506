"""The powerset tree: a Huffman code of the label sets, each bit of it a linear decision."""

from typing import TYPE_CHECKING

from labelwood.trees.coding.estimator import CodingTreeClassifier

if TYPE_CHECKING:
    from labelwood.trees.coding.growth import Code
    from labelwood.trees.coding.label_sets import LabelSets


class PowersetTreeClassifier(CodingTreeClassifier):
    """A Huffman tree over the label sets seen in training (Liu & Tsang 2017, Algorithm 3).

    Frequent label sets are reached by few decisions. `mean_decisions_` is the least that any
    binary tree has, and lies in [`entropy_`, `entropy_` + 1) (theorem 12). Among equally
    frequent sets, which Huffman's algorithm may pair as it likes, neighbors in the order of
    their most frequent labels are paired: decisions between sets that share labels are easier.

    Parameters and attributes are those of `CodingTreeClassifier`.

    Examples
    --------
    >>> from labelwood import PowersetTreeClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]] * 5
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 5
    >>> model = PowersetTreeClassifier(C=10, random_state=0).fit(X, Y)
    >>> model.predict_topk([[0, 1, 1]], k=2).names()
    [['dog', 'owl']]
    >>> model.mean_decisions_, model.entropy_
    (1.5, 1.5)
    """

    def _code(self, found: "LabelSets") -> "Code":
        from labelwood.trees.coding._shape_kernels import huffman
        from labelwood.trees.coding.growth import Code

        return Code(*huffman(found.counts))
