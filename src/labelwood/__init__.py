"""labelwood tags things with many labels and says how far the tags can be trusted."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names and where they live. They are imported on first use, so that
# importing labelwood is quick and compiles nothing.
_HOME = {
    "AnnotationTreeClassifier": "labelwood.trees.coding.estimator",
    "BestArmExperiment": "labelwood.experiments.best_arm.experiment",
    "BoostedStumps": "labelwood.trees.rules.boosted_stumps",
    "BudgetedClassifier": "labelwood.linear.budgeted.estimator",
    "BudgetedTreeClassifier": "labelwood.trees.budgeted.estimator",
    "CategoricalHMM": "labelwood.sequences.discrete_hmm.estimator",
    "Dataset": "labelwood.data.dataset",
    "ExperimentSequence": "labelwood.experiments.sequence",
    "FastXMLClassifier": "labelwood.trees.fastxml.estimator",
    "GaussianHMM": "labelwood.sequences.gaussian_hmm.estimator",
    "GraphLaplacianClassifier": "labelwood.kernels.graph.estimator",
    "HierarchicalPerceptron": "labelwood.taxonomy.perceptron",
    "HierarchicalRLSClassifier": "labelwood.taxonomy.hierarchical_rls.estimator",
    "KernelBoostingClassifier": "labelwood.kernels.boosting.estimator",
    "KernelBoostingRegressor": "labelwood.kernels.boosting.estimator",
    "KernelRidgeClassifier": "labelwood.kernels.ridge.estimator",
    "KernelRidgeRegressor": "labelwood.kernels.ridge.estimator",
    "LabelTreeClassifier": "labelwood.trees.labeltree.estimator",
    "OneVsRestSVM": "labelwood.linear.onevsrest.estimator",
    "PfastXMLClassifier": "labelwood.trees.fastxml.pfastrexml",
    "PfastreXMLClassifier": "labelwood.trees.fastxml.pfastrexml",
    "PoissonHMM": "labelwood.sequences.discrete_hmm.estimator",
    "PopularityClassifier": "labelwood.baselines",
    "PowersetTreeClassifier": "labelwood.trees.coding.estimator",
    "RerankedClassifier": "labelwood.reranking.reranked",
    "RuleSet": "labelwood.trees.rules.rule_set.estimator",
    "RuleTreeClassifier": "labelwood.trees.rules.decision_tree.classifier",
    "RuleTreeRegressor": "labelwood.trees.rules.decision_tree.regressor",
    "StreamMonitor": "labelwood.sequences.monitor.monitor",
    "Tagger": "labelwood.tagger",
    "TailClassifier": "labelwood.reranking.tail",
    "Taxonomy": "labelwood.data.taxonomy.taxonomy",
    "TextVectorizer": "labelwood.data.text",
    "TopK": "labelwood.core.topk",
    "TwoStateGaussianHMM": "labelwood.sequences.two_state_hmm.estimator",
    "choose_learner": "labelwood.auto",
    "expected_costs": "labelwood.auto",
    "load": "labelwood.store.models",
    "load_dataset": "labelwood.data.load",
    "pydocs": "labelwood.data.corpora.pydocs",
    "save": "labelwood.store.models",
    "save_dataset": "labelwood.data.load",
    "show_progress": "labelwood.core.progress",
    "split": "labelwood.data.splits",
    "synthetic": "labelwood.data.corpora.synthetic",
}
_MODULES = ("data", "errors", "experiments", "metrics", "studies")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"labelwood.{name}")
    raise AttributeError(f"module 'labelwood' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from labelwood.auto import choose_learner as choose_learner
    from labelwood.auto import expected_costs as expected_costs
    from labelwood.baselines import PopularityClassifier as PopularityClassifier
    from labelwood.core.progress import show_progress as show_progress
    from labelwood.core.topk import TopK as TopK
    from labelwood.data.corpora.pydocs import pydocs as pydocs
    from labelwood.data.corpora.synthetic import synthetic as synthetic
    from labelwood.data.dataset import Dataset as Dataset
    from labelwood.data.load import load_dataset as load_dataset
    from labelwood.data.load import save_dataset as save_dataset
    from labelwood.data.splits import split as split
    from labelwood.data.taxonomy.taxonomy import Taxonomy as Taxonomy
    from labelwood.data.text import TextVectorizer as TextVectorizer
    from labelwood.experiments.best_arm.experiment import BestArmExperiment as BestArmExperiment
    from labelwood.experiments.sequence import ExperimentSequence as ExperimentSequence
    from labelwood.kernels.boosting.estimator import (
        KernelBoostingClassifier as KernelBoostingClassifier,
    )
    from labelwood.kernels.boosting.estimator import (
        KernelBoostingRegressor as KernelBoostingRegressor,
    )
    from labelwood.kernels.graph.estimator import (
        GraphLaplacianClassifier as GraphLaplacianClassifier,
    )
    from labelwood.kernels.ridge.estimator import KernelRidgeClassifier as KernelRidgeClassifier
    from labelwood.kernels.ridge.estimator import KernelRidgeRegressor as KernelRidgeRegressor
    from labelwood.linear.budgeted.estimator import BudgetedClassifier as BudgetedClassifier
    from labelwood.linear.onevsrest.estimator import OneVsRestSVM as OneVsRestSVM
    from labelwood.reranking.reranked import RerankedClassifier as RerankedClassifier
    from labelwood.reranking.tail import TailClassifier as TailClassifier
    from labelwood.sequences.discrete_hmm.estimator import CategoricalHMM as CategoricalHMM
    from labelwood.sequences.discrete_hmm.estimator import PoissonHMM as PoissonHMM
    from labelwood.sequences.gaussian_hmm.estimator import GaussianHMM as GaussianHMM
    from labelwood.sequences.monitor.monitor import StreamMonitor as StreamMonitor
    from labelwood.sequences.two_state_hmm.estimator import (
        TwoStateGaussianHMM as TwoStateGaussianHMM,
    )
    from labelwood.store.models import load as load
    from labelwood.store.models import save as save
    from labelwood.tagger import Tagger as Tagger
    from labelwood.taxonomy.hierarchical_rls.estimator import (
        HierarchicalRLSClassifier as HierarchicalRLSClassifier,
    )
    from labelwood.taxonomy.perceptron import HierarchicalPerceptron as HierarchicalPerceptron
    from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier as BudgetedTreeClassifier
    from labelwood.trees.coding.estimator import (
        AnnotationTreeClassifier as AnnotationTreeClassifier,
    )
    from labelwood.trees.coding.estimator import PowersetTreeClassifier as PowersetTreeClassifier
    from labelwood.trees.fastxml.estimator import FastXMLClassifier as FastXMLClassifier
    from labelwood.trees.fastxml.pfastrexml import PfastreXMLClassifier as PfastreXMLClassifier
    from labelwood.trees.fastxml.pfastrexml import PfastXMLClassifier as PfastXMLClassifier
    from labelwood.trees.labeltree.estimator import LabelTreeClassifier as LabelTreeClassifier
    from labelwood.trees.rules.boosted_stumps import BoostedStumps as BoostedStumps
    from labelwood.trees.rules.decision_tree.classifier import (
        RuleTreeClassifier as RuleTreeClassifier,
    )
    from labelwood.trees.rules.decision_tree.regressor import RuleTreeRegressor as RuleTreeRegressor
    from labelwood.trees.rules.rule_set.estimator import RuleSet as RuleSet
