"""Online control of the false discovery rate."""

from labelwood.experiments.online_fdr.base import OnlineProcedure
from labelwood.experiments.online_fdr.gamma import LogGamma
from labelwood.experiments.online_fdr.procedures import online_fdr

__all__ = ["LogGamma", "OnlineProcedure", "online_fdr"]
