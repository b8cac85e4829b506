"""labelwood tags things with many labels and says how far the tags can be trusted."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names and where they live. They are imported on first use, so that
# importing labelwood is quick and compiles nothing.
_HOME = {
    "AnnotationTreeClassifier": "labelwood.trees.annotation",
    "BestArmExperiment": "labelwood.experiments.best_arm",
    "BudgetedClassifier": "labelwood.linear.budgeted",
    "BudgetedTreeClassifier": "labelwood.trees.budgeted",
    "Dataset": "labelwood.data.dataset",
    "ExperimentSequence": "labelwood.experiments.sequence",
    "FastXMLClassifier": "labelwood.trees.fastxml",
    "HierarchicalPerceptron": "labelwood.taxonomy.perceptron",
    "HierarchicalRLSClassifier": "labelwood.taxonomy.hierarchical_rls",
    "LabelTreeClassifier": "labelwood.trees.labeltree",
    "OneVsRestSVM": "labelwood.linear.onevsrest",
    "PfastXMLClassifier": "labelwood.trees.pfastrexml",
    "PfastreXMLClassifier": "labelwood.trees.pfastrexml",
    "PopularityClassifier": "labelwood.linear.popularity",
    "PowersetTreeClassifier": "labelwood.trees.powerset",
    "RerankedClassifier": "labelwood.linear.reranked",
    "Tagger": "labelwood.store.tagger",
    "TailClassifier": "labelwood.linear.tail",
    "Taxonomy": "labelwood.data.taxonomy",
    "TextVectorizer": "labelwood.data.text",
    "TopK": "labelwood.core.topk",
    "choose_learner": "labelwood.trees.choice",
    "expected_costs": "labelwood.trees.choice",
    "load": "labelwood.store.store",
    "load_dataset": "labelwood.data.load",
    "pydocs": "labelwood.data.corpora.pydocs",
    "save": "labelwood.store.store",
    "save_dataset": "labelwood.data.load",
    "show_progress": "labelwood.core.progress",
    "split": "labelwood.data.split",
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
    from labelwood.core.progress import show_progress as show_progress
    from labelwood.core.topk import TopK as TopK
    from labelwood.data.corpora.pydocs import pydocs as pydocs
    from labelwood.data.corpora.synthetic import synthetic as synthetic
    from labelwood.data.dataset import Dataset as Dataset
    from labelwood.data.load import load_dataset as load_dataset
    from labelwood.data.load import save_dataset as save_dataset
    from labelwood.data.split import split as split
    from labelwood.data.taxonomy import Taxonomy as Taxonomy
    from labelwood.data.text import TextVectorizer as TextVectorizer
    from labelwood.experiments.best_arm import BestArmExperiment as BestArmExperiment
    from labelwood.experiments.sequence import ExperimentSequence as ExperimentSequence
    from labelwood.linear.budgeted import BudgetedClassifier as BudgetedClassifier
    from labelwood.linear.onevsrest import OneVsRestSVM as OneVsRestSVM
    from labelwood.linear.popularity import PopularityClassifier as PopularityClassifier
    from labelwood.linear.reranked import RerankedClassifier as RerankedClassifier
    from labelwood.linear.tail import TailClassifier as TailClassifier
    from labelwood.store.store import load as load
    from labelwood.store.store import save as save
    from labelwood.store.tagger import Tagger as Tagger
    from labelwood.taxonomy.hierarchical_rls import (
        HierarchicalRLSClassifier as HierarchicalRLSClassifier,
    )
    from labelwood.taxonomy.perceptron import HierarchicalPerceptron as HierarchicalPerceptron
    from labelwood.trees.annotation import AnnotationTreeClassifier as AnnotationTreeClassifier
    from labelwood.trees.budgeted import BudgetedTreeClassifier as BudgetedTreeClassifier
    from labelwood.trees.choice import choose_learner as choose_learner
    from labelwood.trees.choice import expected_costs as expected_costs
    from labelwood.trees.fastxml import FastXMLClassifier as FastXMLClassifier
    from labelwood.trees.labeltree import LabelTreeClassifier as LabelTreeClassifier
    from labelwood.trees.pfastrexml import PfastreXMLClassifier as PfastreXMLClassifier
    from labelwood.trees.pfastrexml import PfastXMLClassifier as PfastXMLClassifier
    from labelwood.trees.powerset import PowersetTreeClassifier as PowersetTreeClassifier
