"""Taxonomies: forests of named labels, and graphs with several parents."""

from labelwood.data.taxonomy.dag import ParentSets
from labelwood.data.taxonomy.taxonomy import Taxonomy

__all__ = ["ParentSets", "Taxonomy"]
