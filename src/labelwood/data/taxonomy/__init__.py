"""Taxonomies: forests of named labels."""

from labelwood.data.taxonomy.taxonomy import Taxonomy

__all__ = ["Taxonomy"]
