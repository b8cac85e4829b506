"""The annotation tree: one label after the other, the most frequent first."""

from typing import TYPE_CHECKING

import scipy.sparse as sp

from labelwood.core.sparse import csr_arrays
from labelwood.trees.coding.estimator import CodingTreeClassifier

if TYPE_CHECKING:
    from labelwood.trees.coding.growth import Code
    from labelwood.trees.coding.label_sets import LabelSets


class AnnotationTreeClassifier(CodingTreeClassifier):
    """A tree that asks for the most frequent undecided label (Liu & Tsang 2017, Algorithm 4).

    A node considers the labels that some but not all of its samples have (those that none has
    or all have, the zero and the one label set, are decided) and asks for the one that most
    have. A leaf is reached when no label is open. `mean_decisions_` is at least `entropy_`;
    that it is below `entropy_` + 1, as theorem 13 states, is not true in general.

    Parameters and attributes are those of `CodingTreeClassifier`.

    Examples
    --------
    >>> from labelwood import AnnotationTreeClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]] * 5
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 5
    >>> model = AnnotationTreeClassifier(C=10, random_state=0).fit(X, Y)
    >>> model.predict_topk([[0, 1, 1]], k=2).names()
    [['dog', 'owl']]
    >>> model.mean_decisions_, model.entropy_
    (1.5, 1.5)
    """

    def _code(self, found: "LabelSets") -> "Code":
        from labelwood.trees.coding._shape_kernels import annotate
        from labelwood.trees.coding.growth import Code

        members = csr_arrays(sp.csr_array(found.sets.T))
        return Code(*annotate(csr_arrays(found.sets), members, found.counts))
