"""ARFF with several labels: Mulan's, MEKA's and CLUS's."""

from labelwood.data.readers.arff.reader import read as read

__all__ = ["read"]
