"""Which learner suits the data: by trial on held-out training samples, and by expected cost.

`selection` runs it all. `trials` and `forests` fit the candidates on a part of the samples,
`quality` is how well they rank the held-out ones, `costs` estimates time and memory of the whole
fit, and `choice` decides between the candidates.
"""

from labelwood.auto.choice import OBJECTIVES, Candidate, Choice, Cost
from labelwood.auto.selection import choose_learner, expected_costs

__all__ = ["OBJECTIVES", "Candidate", "Choice", "Cost", "choose_learner", "expected_costs"]
