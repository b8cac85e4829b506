"""FastXML, PfastXML and PfastreXML: forests whose trees rank labels."""

from labelwood.trees.fastxml.estimator import FastXMLClassifier
from labelwood.trees.fastxml.pfastrexml import PfastreXMLClassifier, PfastXMLClassifier

__all__ = ["FastXMLClassifier", "PfastXMLClassifier", "PfastreXMLClassifier"]
