"""ARFF with several labels: Mulan's, MEKA's and CLUS's."""
