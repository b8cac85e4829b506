"""Which of two models goes live? An experiment that may be watched at any time."""

import numpy as np

from labelwood.experiments import Bernoulli, BestArmExperiment


def main() -> None:
    """Show users one of two models, record whether they accept its tags, stop when it is clear."""
    rng = np.random.default_rng(0)
    accepted = (0.30, 0.50)  # unknown in practice; arm 0 is the model in use
    experiment = BestArmExperiment(
        2, delta=0.05, reward=Bernoulli(bound="beta"), max_samples=20_000, random_state=0
    )
    while not experiment.stopped:
        for arm in experiment.next_arms():
            experiment.record(arm, rng.random() < accepted[arm])
        experiment.update()
    print(experiment.status)


if __name__ == "__main__":
    main()
