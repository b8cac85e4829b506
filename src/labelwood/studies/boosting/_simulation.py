"""Simulations of Yang 2018, chapter 3: data, fast Sobolev products, and paths of many trials."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from labelwood.core.types import AnyArray, DoubleArray
    from labelwood.kernels.boosting.losses import Loss

VARIANCE = 0.5  # of the noise of L2-boosting
TRIALS_OF_A_RESPONSE = 5  # of the binomial responses of LogitBoost
STEP = 0.75


def target(x: "DoubleArray") -> "DoubleArray":
    """f* = |x − ½| − ¼, of Hilbert norm √(1 + 1/16) for the kernel 1 + min(x, x')."""
    import numpy as np

    return np.abs(x - 0.5) - 0.25


def design(n: int, random: bool, seed: int) -> "DoubleArray":
    """N samples in [0, 1], equidistant or uniform, in rising order."""
    import numpy as np

    if not random:
        return np.arange(1, n + 1) / n
    return np.sort(np.random.default_rng([seed, n]).random(n))


def draw_responses(
    x: "DoubleArray", loss: str, n_trials: int, rng_seed: list[int]
) -> "DoubleArray":
    """Responses of `n_trials` experiments: f* plus noise, or 2s − 5 of five Bernoulli trials."""
    import numpy as np
    from scipy.special import expit

    rng = np.random.default_rng(rng_seed)
    f = target(x)[:, None]
    if loss == "squared":
        return np.asarray(f + np.sqrt(VARIANCE) * rng.normal(size=(x.size, n_trials)))
    p = np.broadcast_to(expit(f), (x.size, n_trials))
    successes = rng.binomial(TRIALS_OF_A_RESPONSE, p)
    return np.asarray(2.0 * successes - TRIALS_OF_A_RESPONSE, dtype=np.float64)


def sobolev_product(x: "DoubleArray", v: "DoubleArray") -> "DoubleArray":
    """Σ_j (1 + min(x_i, x_j)) v_j for rising x, by cumulative sums: O(n) in place of O(n²)."""
    import numpy as np

    total = v.sum(axis=0)
    below = np.cumsum(v, axis=0)
    weighted = np.cumsum(x[:, None] * v, axis=0)
    return total + weighted + x[:, None] * (total - below)


def sobolev_values(x: "DoubleArray", v: "DoubleArray", new: "DoubleArray") -> "DoubleArray":
    """Σ_j (1 + min(x', x_j)) v_j at other places x'."""
    import numpy as np

    zero = np.zeros((1, v.shape[1]))
    below = np.concatenate([zero, np.cumsum(v, axis=0)])
    weighted = np.concatenate([zero, np.cumsum(x[:, None] * v, axis=0)])
    place = np.searchsorted(x, new, side="right")
    return below[-1] + weighted[place] + new[:, None] * (below[-1] - below[place])


class Stopped(NamedTuple):
    """Coefficients a of f = Σ_j a_j k(·, x_j) of each trial at its time, and the times."""

    coefficients: "DoubleArray"
    times: "AnyArray"


def run_paths(
    x: "DoubleArray",
    Y: "DoubleArray",
    loss: "Loss",
    step: float,
    times: dict[str, "AnyArray"],
    variance: "DoubleArray",
    n_steps: int,
    *,
    average: bool = True,
) -> dict[str, Stopped]:
    """All trials together with the kernel 1 + min(x, x'), update (3.9), stopped by every rule.

    `times` are those known beforehand; "gold" (the best unaveraged iterate) and "discrepancy"
    (the first estimate whose mean squared residual is at most `variance`) are found on the way.
    """
    import numpy as np

    n, n_trials = Y.shape
    f_star = target(x)[:, None]
    a, a_sum, f, f_sum = (np.zeros_like(Y) for _ in range(4))
    found = {name: np.zeros_like(Y) for name in (*times, "gold", "discrepancy")}
    gold = np.full(n_trials, np.inf)
    gold_time, met = np.ones(n_trials, dtype=int), np.full(n_trials, n_steps)
    waiting = np.ones(n_trials, dtype=bool)
    for t in range(1, n_steps + 1):
        a = a - (step / n) * loss.gradient(Y, f)
        f = sobolev_product(x, a)
        a_sum += a
        f_sum += f
        errors = np.square(f - f_star).mean(axis=0)
        better = errors < gold
        if better.any():
            gold[better], gold_time[better] = errors[better], t
            found["gold"][:, better] = a[:, better]
        if waiting.any():
            estimate = f_sum / t if average else f
            risks = np.square(loss.residual(Y, estimate)).mean(axis=0)
            reached = waiting & (risks <= variance)
            if reached.any():
                found["discrepancy"][:, reached] = (a_sum / t if average else a)[:, reached]
                met[reached] = t
                waiting &= ~reached
        for name, own in times.items():
            now = own == t
            if now.any():
                found[name][:, now] = (a_sum / t if average else a)[:, now]
    found["discrepancy"][:, waiting] = (a_sum / n_steps if average else a)[:, waiting]
    all_times = {**times, "gold": gold_time, "discrepancy": met}
    return {name: Stopped(found[name], all_times[name]) for name in found}


def cross_validated(
    x: "DoubleArray", Y: "DoubleArray", loss: "Loss", step: float, n_steps: int, seed: int
) -> "AnyArray":
    """For each trial the averaged iterate of least held-out loss, over five folds."""
    import numpy as np

    n, n_trials = Y.shape
    order = np.random.default_rng([seed, n]).permutation(n)
    losses = np.zeros((n_steps, n_trials))
    for fold in np.array_split(order, 5):
        held = np.sort(fold)
        rest = np.setdiff1d(np.arange(n), held)
        a, a_sum, f = (np.zeros((rest.size, n_trials)) for _ in range(3))
        f_sum = np.zeros((held.size, n_trials))
        for t in range(n_steps):
            a = a - (step / rest.size) * loss.gradient(Y[rest], f)
            f = sobolev_product(x[rest], a)
            a_sum += a
            f_sum += sobolev_values(x[rest], a, x[held])
            losses[t] += loss.value(Y[held], f_sum / (t + 1)).sum(axis=0)
    return np.asarray(losses.argmin(axis=0) + 1)


class Theory(NamedTuple):
    """What the estimators would know of the data before they start, for each trial."""

    times: "AnyArray"
    variance: "DoubleArray"
    guaranteed: int
    delta_squared: float


def theory(
    x: "DoubleArray", Y: "DoubleArray", loss: "Loss", step: float, *, average: bool = True
) -> Theory:
    """Times of "theory" as `KernelBoosting` has them, with the noise estimated in each trial.

    The printed "guaranteed" time and δ_n² are of the kernel as printed, the true noise and norm 1.
    """
    import numpy as np

    from labelwood.kernels.boosting.features import exact_features
    from labelwood.kernels.boosting.pilot import noise_and_norm
    from labelwood.kernels.boosting.stopping import theory_times
    from labelwood.kernels.critical_radius import critical_radius, guaranteed_time

    n = x.size
    kernel = 1 + np.minimum(x[:, None], x[None])
    scale = 2.0  # sup of the kernel, by which the estimators divide
    features = exact_features(kernel / scale)
    deviation, norm = noise_and_norm(features.Z, features.spectrum, Y)
    if loss.name == "logistic":
        deviation = deviation / 2  # of the number of successes
        norm = 2 * norm / loss.trials
    found = theory_times(
        features.spectrum, loss, deviation, norm, step=step * scale, M=1.0, average=average
    )
    sigma, curvature = np.sqrt(VARIANCE), 1.0
    if loss.name == "logistic":
        curvature = loss.trials / 4
        sigma = np.sqrt(curvature) / curvature
    radius = critical_radius(features.spectrum.eigenvalues * scale, n, float(sigma))
    M = loss.constants(1.0).M
    return Theory(found.theory, np.square(deviation), guaranteed_time(radius, M), radius.delta**2)


def errors(
    x: "DoubleArray", stopped: Stopped, loss: "Loss", random: bool
) -> tuple["DoubleArray", "DoubleArray"]:
    """Squared error ‖f − f*‖² and excess risk of each trial, at the samples or over [0, 1]."""
    import numpy as np
    from scipy.special import expit

    places = (np.arange(2000) + 0.5) / 2000 if random else x
    f = sobolev_values(x, stopped.coefficients, places)
    f_star = target(places)[:, None]
    squared = np.square(f - f_star).mean(axis=0)
    if loss.name == "squared":
        return squared, squared / 2
    mean = loss.trials * (2 * expit(f_star) - 1)

    def risk(values: "DoubleArray") -> "DoubleArray":
        return loss.value(np.broadcast_to(mean, values.shape), values)

    excess = (risk(f) - risk(np.broadcast_to(f_star, f.shape))).mean(axis=0)
    return squared, excess


def slope(sizes: "list[int]", values: "list[float]") -> float:
    """Slope of log(values) against log(sizes) by regression."""
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def make_loss(name: str) -> "Loss":
    """Squared error, or the logistic loss summed over the five trials of a response."""
    from labelwood.kernels.boosting.losses import Loss

    return Loss("squared") if name == "squared" else Loss("logistic", TRIALS_OF_A_RESPONSE)
