"""Online control of the false discovery rate."""

from labelwood.experiments.online_fdr.asynchronous import AsynchronousFDR, RunningTest
from labelwood.experiments.online_fdr.base import OnlineProcedure
from labelwood.experiments.online_fdr.gamma import LogGamma
from labelwood.experiments.online_fdr.procedures import online_fdr

__all__ = ["AsynchronousFDR", "LogGamma", "OnlineProcedure", "RunningTest", "online_fdr"]
