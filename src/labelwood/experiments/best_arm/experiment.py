"""One experiment: the best of several arms against a control, Yang 2018, Algorithm 1."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from labelwood.core import params
from labelwood.core.random import RandomState, seed_sequence
from labelwood.errors import DataError
from labelwood.experiments.best_arm.always_valid import Intervals, intervals, significant_arms
from labelwood.experiments.best_arm.arms import (
    ArmStatistics,
    Tally,
    check_arm_names,
    check_count,
    check_statistics,
    named_arm,
)
from labelwood.experiments.best_arm.assignments import (
    POLICY,
    Assignment,
    Assignments,
    Given,
    check_policy,
    policy_number,
)
from labelwood.experiments.best_arm.rewards import (
    DELTA,
    RewardLike,
    as_reward_model,
    shown,
)
from labelwood.experiments.best_arm.state import CLOSED, UNDECIDED, restore, state_of, status_of
from labelwood.experiments.summary import Summary


class BestArmExperiment:
    """Find the best of several arms, and whether it is better than the control.

    Ask which arms to pull (`next_arms`, or `assign` when outcomes come back later), `record` what
    comes back, `update`, and go on until it has `stopped`. With evidence "bounds" it is
    Algorithm 1 with its constants: the lower bound of an arm is taken at δ/2K, the upper bound at
    δ/2, with K treatments. With "betting" or "mixture" it ends with an arm when the evidence for
    it against every other is K/δ, and a round has the leader and all arms that it has not beaten.

    Parameters
    ----------
    n_arms : int
        Treatments and control, K + 1.
    delta : float
        A treatment wins, though none is more than ε better than the control, with probability
        at most δ. With ε = 0, the experiment ends with a wrong arm, whichever, with probability
        at most δ; with ε > 0 it ends with a right one with probability 1 − 3δ/2 for evidence
        "bounds" (see docs/research/experiments.md) and 1 − δ for "betting".
    epsilon : float
        A winner is more than ε better than the control, and at most ε below the best arm.
        With ε = 0 and several best arms only `max_samples` ends the experiment.
    reward : "bernoulli", "gaussian" or RewardModel
        What rewards can be, and which bounds are used.
    max_samples : int, optional
        With this many outcomes the experiment stops, undecided. A batch is never split, so the
        last one may go beyond. Assignments are handed out up to here, those on their way counted.
    policy : {"best_arm", "uniform", "lucb++", "lil_ucb"}
        Which arms a round has: the few that matter now (Algorithm 1), all of them (A/B/n), the
        leader and its rival (LUCB++, Simchowitz et al. 2017: Algorithm 1 where ε = 0), or the one
        of the largest bound (lil'UCB, Jamieson et al. 2014); the last two need evidence "bounds".
        The stop and all guarantees are the same for each.
    control : int or str
        The number of the control's arm, or its name.
    names : sequence of str, optional
        What the arms are called in `record`, `print` and verdicts.
    evidence : {"betting", "mixture", "bounds"}, optional
        What decides; that of the reward model unless given, and "betting" where `reward` is a
        name. "betting" is exact, "mixture" asymptotic, "bounds" the rule of Yang 2018.
    effect : float, optional
        The smallest effect worth finding, for which "betting" and "mixture" are tuned.
    random_state : int, SeedSequence, Generator or None
        For the order of the assignments within a round; nothing else is random.

    Notes
    -----
    Recording is cheap and decides nothing. `update` looks at what is recorded: the bounds are
    renewed, the p-value falls to its new minimum, and the experiment stops if the rule says so.
    `assign` and `close` begin with an update, and so does `record` when `max_samples` is reached.
    All properties, and `next_arms`, `allocation` and `intervals`, only read. The guarantees hold
    for any times of updates, and the same calls in the same order give the same decisions.
    Outcomes that come after the stop are kept as `late` and change nothing.

    Delays do no harm while they do not depend on the outcome. If a purchase is reported at
    once and its absence a week later, the first outcomes are all purchases and no bound
    holds: record both after the same time.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> experiment = BestArmExperiment(3, 0.05, max_samples=20_000)
    >>> while not experiment.stopped:
    ...     for arm in experiment.next_arms():
    ...         experiment.record(arm, rng.random() < (0.3, 0.35, 0.6)[arm])
    ...     experiment.update()
    >>> experiment.status
    'stopped: winner 2'
    >>> experiment.p_value <= 0.05
    True
    """

    _constraints: ClassVar[params.Constraints] = {
        "n_arms": params.Integer(low=2),
        "delta": DELTA,
        "epsilon": params.Real(low=0),
        "max_samples": (params.Integer(low=1), None),
        "policy": POLICY,
        "control": params.Integer(low=0),
    }

    def __init__(
        self,
        n_arms: int,
        delta: float,
        *,
        epsilon: float = 0.0,
        reward: RewardLike = "bernoulli",
        max_samples: int | None = None,
        policy: str = "best_arm",
        control: int | str = 0,
        names: Sequence[str] | None = None,
        evidence: str | None = None,
        effect: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        name = type(self).__name__
        self.n_arms = n_arms
        self.delta = delta
        self.epsilon = epsilon
        model = as_reward_model(name, reward)
        if evidence is not None or effect is not None:
            model = model.with_evidence(evidence or model.evidence, effect)
        self.reward = model
        self.max_samples = max_samples
        self.policy = policy
        self.names = None if names is None else check_arm_names(names, n_arms)
        control = named_arm(control, self.names) if isinstance(control, str) else control
        self.control = control
        params.check_parameters(self, self._constraints)
        check_policy(name, policy, model)
        params.check_parameter(name, "control", control, params.Integer(high=n_arms - 1))
        params.check_parameter(name, "random_state", random_state, params.RANDOM_STATE)
        self.n_arms, self.control = int(n_arms), int(control)  # from NumPy's kind, for JSON
        self.delta, self.epsilon = float(delta), float(epsilon)
        self.max_samples = None if max_samples is None else int(max_samples)
        seed = int(seed_sequence(random_state).generate_state(1, np.uint64)[0])
        self._assignments = Assignments(seed)
        self._tally = Tally(self.n_arms)
        self._late = Tally(self.n_arms)
        self._n_samples = 0
        self._limit = math.inf if self.max_samples is None else self.max_samples
        self._ended_with: int | None = None  # an arm, or why without one
        self._evidence = 0.0  # ln(1/p)
        self._evident: int | None = None  # the arm whose p-value was the smallest
        self._updated_at = 0  # n_samples at the last update
        self._next_arms = list(range(self.n_arms))

    @property
    def evidence(self) -> str:
        """What decides: "betting", "mixture" or "bounds"."""
        return self.reward.evidence

    def name_of(self, arm: int) -> str:
        """What the arm is called: its name, or "arm 2"."""
        return f"arm {arm}" if self.names is None else self.names[arm]

    @property
    def n_samples(self) -> int:
        """The number of outcomes that count."""
        return self._n_samples

    @property
    def n_pending(self) -> int:
        """The number of assignments whose outcome has not come back."""
        return len(self._assignments.pending)

    @property
    def statistics(self) -> tuple[ArmStatistics, ...]:
        """What is known of each arm, without outcomes that came late."""
        return self._tally.statistics

    @property
    def late(self) -> tuple[ArmStatistics, ...]:
        """The outcomes of each arm that came after the stop."""
        return self._late.statistics

    @property
    def estimates(self) -> tuple[float, ...]:
        """The mean reward of each arm, NaN without any; adaptive allocation biases it."""
        return tuple(arm.mean for arm in self.statistics)

    @property
    def status(self) -> str:
        """Either "running" or how it stopped.

        That is "stopped: winner 2", "control", "limit reached, undecided" or "closed by hand".
        """
        return "running" if self._ended_with is None else status_of(self._ended_with, self.control)

    @property
    def stopped(self) -> bool:
        """Whether the experiment has ended, for whatever reason."""
        return self._ended_with is not None

    @property
    def winner(self) -> int | None:
        """The treatment that has won; None for the control, without a decision, or before one."""
        return None if self._ended_with in (UNDECIDED, CLOSED, self.control) else self._ended_with

    @property
    def evident_arm(self) -> int | None:
        """The treatment to which the p-value is due: the evidence is for it, if for any.

        Of the treatments whose own p-value (4.5) is at most δ now, that of the highest mean; if
        there is none, the one whose p-value was the smallest at any update.
        """
        if self.winner is not None:
            return self.winner
        arms = self.statistics
        found = significant_arms(
            arms, self.delta, reward=self.reward, epsilon=self.epsilon, control=self.control
        )
        return max(found, key=lambda arm: arms[arm].mean, default=self._evident)

    @property
    def p_value(self) -> float:
        """The always-valid p-value, the smallest of all updates so far: Yang 2018, eq. (4.6)."""
        # What makes a winner is the inequality of (4.5) at γ = δ.
        known = 1.0 if self.winner is None else self.delta
        return min(math.exp(-self._evidence), known)

    def intervals(self, delta: float | None = None) -> Intervals:
        """Intervals of all arms and of their differences to the control, right at all times.

        See `always_valid.intervals`; at the experiment's δ unless another is given.
        """
        level = self.delta if delta is None else delta
        return intervals(self.statistics, level, reward=self.reward, control=self.control)

    def next_arms(self) -> list[int]:
        """The arms to pull now, once each; none after the stop.

        Arms that were neither assigned nor have an outcome come first, then the policy's. While
        arms that were assigned have no outcome yet, all of them share. The answer stays the same
        until the next update or assignment.
        """
        counts = self._tally.counts
        if self._next_arms and self.policy != "uniform" and 0 in counts:
            begun = self._assignments.arms
            fresh = [arm for arm in range(self.n_arms) if not counts[arm] and arm not in begun]
            return fresh or list(self._next_arms)
        return list(self._next_arms)

    def allocation(self) -> list[float]:
        """The share of the traffic for each arm, until the next update.

        Before the stop the arms of `next_arms` share it. After it the winner has it all, or the
        control where no treatment has won.
        """
        arms = self.next_arms()
        if not arms:
            arms = [self.control if self.winner is None else self.winner]
        return [1 / len(arms) if arm in arms else 0.0 for arm in range(self.n_arms)]

    def assign(self, n: int = 1) -> list[Assignment]:
        """Update, then hand out arms to `n` subjects whose outcomes will be recorded later.

        Rounds of `next_arms`, each in random order, follow one another. There are fewer than `n`
        when more would go beyond `max_samples`, those on their way counted (`forget` the lost
        ones), and none after the stop.
        """
        params.check_parameter("assign", "n", n, params.Integer(low=1))
        self.update()
        arms = self.next_arms()
        left = min(n, self._limit - self._n_samples - self.n_pending)
        return [self._assignments.hand_out(arms) for _ in range(int(left))] if arms else []

    def forget(self, assignment: Given) -> None:
        """Give up assignments whose outcome will never come, so that nobody waits for it.

        Whether an outcome is lost must not depend on what it is, or nothing holds.
        """
        self._assignments.forget(assignment)

    def close(self) -> None:
        """Update, and stop by hand. What comes back later is `late`; a stop is final."""
        self.update()
        if not self.stopped:
            self._ended_with, self._next_arms = CLOSED, []

    def record(
        self,
        arm: int | str,
        reward: float | ArmStatistics,
        *,
        assignment: Given | None = None,
    ) -> None:
        """Take in an outcome of `arm`, or the statistics of a batch of them.

        `assignment` is what `assign` gave, or its number; for a batch, all of them.
        When anything is wrong, nothing is changed.
        """
        if type(arm) is not int or not 0 <= arm < self.n_arms:
            arm = self._checked_arm(arm)
        counts = self._ended_with is None
        tally = self._tally if counts else self._late
        if isinstance(reward, ArmStatistics):
            check_statistics(self.reward, reward)
            n = check_count(tally.counts[arm] + reward.count) - tally.counts[arm]
        else:
            reward, n = self.reward.check(reward), 1
        if assignment is not None:
            self._assignments.hand_in(arm, assignment, n)
        if isinstance(reward, ArmStatistics):
            tally.add_batch(arm, reward)
        else:
            tally.add(arm, reward)
        if counts:
            self._n_samples += n
            if self._n_samples >= self._limit:
                self.update()

    def record_counts(self, counts: Mapping[int | str, tuple[int, int]]) -> None:
        """Take in a batch for several arms: visitors and conversions of each; then update.

        When anything is wrong, nothing is changed.

        Examples
        --------
        >>> experiment = BestArmExperiment(2, 0.05, names=["old", "new"])
        >>> experiment.record_counts({"old": (4000, 210), "new": (4010, 290)})
        >>> experiment.status, round(experiment.p_value, 3)
        ('stopped: winner 1', 0.006)
        """
        batch = {}
        for arm, pair in counts.items():
            number = self._checked_arm(arm)
            if not isinstance(pair, Sequence) or len(pair) != 2:
                raise DataError(f"{arm!r} has visitors and conversions. Got {shown(pair)}.")
            batch[number] = ArmStatistics.from_counts(*pair)
            check_statistics(self.reward, batch[number])
        for number, statistics in batch.items():
            self.record(number, statistics)
        self.update()

    def _checked_arm(self, arm: int | str) -> int:
        """The number of an arm, which may be given by its name."""
        number = named_arm(arm, self.names) if isinstance(arm, str) else arm
        if not params.Integer(low=0, high=self.n_arms - 1).accepts(number):
            raise DataError(f"arm {number!r} does not exist: there are arms 0 to {self.n_arms - 1}")
        return number

    def update(self) -> None:
        """Apply the rule to all that is recorded: renew the p-value, and stop or choose arms.

        After the stop, or when nothing was recorded since the last update, nothing changes.
        """
        if self._ended_with is not None or self._updated_at == self._n_samples:
            return
        output, self._evidence, evident, arms = self._apply_rule()
        self._evident = evident if evident >= 0 else self._evident
        self._updated_at = self._n_samples
        if output >= 0 or self._n_samples >= self._limit:
            self._ended_with = output if output >= 0 else UNDECIDED
        self._next_arms = arms if self._ended_with is None else []

    def _apply_rule(self) -> tuple[int, float, int, list[int]]:
        """What the kernel `apply_rule` gives for what is recorded."""
        from labelwood.experiments.best_arm._kernels import apply_rule

        output, evidence, evident, arms = apply_rule(
            np.array(self._tally.counts, np.float64),
            np.array(self._tally.totals),
            self.delta,
            self.epsilon,
            self.control,
            policy_number(self.policy),
            self._evidence,
            self.reward.for_kernels(),
        )
        return int(output), evidence, int(evident), arms.tolist()

    def __str__(self) -> str:
        return str(Summary.of(self))

    def _repr_html_(self) -> str:
        return Summary.of(self).to_html()

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return state_of(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "BestArmExperiment":
        """The inverse of `to_dict`: the experiment goes on as if nothing had happened.

        An end that does not follow from the outcomes is refused. `evidence`, the logarithm of
        the smallest p-value so far, is trusted, as the outcomes at that time are not kept.
        """
        return restore(cls, values)
