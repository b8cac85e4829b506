"""Which learner suits the data: by trial on held-out training samples, and by expected cost.

`selection` runs it all, `pilots` estimates time and memory, `trials` measures quality, and `choice`
decides between the candidates.
"""

from labelwood.auto.choice import OBJECTIVES, Candidate, Choice, Cost
from labelwood.auto.selection import choose_learner, expected_costs

__all__ = ["OBJECTIVES", "Candidate", "Choice", "Cost", "choose_learner", "expected_costs"]
