"""Online control of the false discovery rate.

A procedure gives a level before each test (`next_level`) and updates its wealth after it
(`_update_wealth`): `lord` has LORD, `investing` LORD++, alpha-investing and SAFFRON.
"""

from labelwood.experiments.online_fdr.asynchronous import AsynchronousFDR, RunningTest
from labelwood.experiments.online_fdr.base import OnlineProcedure
from labelwood.experiments.online_fdr.gamma import LogGamma
from labelwood.experiments.online_fdr.procedures import online_fdr

__all__ = ["AsynchronousFDR", "LogGamma", "OnlineProcedure", "RunningTest", "online_fdr"]
