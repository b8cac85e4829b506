"""Learning along a taxonomy from a stream, one document after the other."""

from labelwood.taxonomy.stream.stream import TaxonomyStream

__all__ = ["TaxonomyStream"]
