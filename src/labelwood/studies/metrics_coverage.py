"""How often the intervals beside the metrics hold what they are about.

A population of samples has fixed label sets, rankings and predicted label sets. Test sets are
drawn from it, every interval of `evaluate` is computed on each, and it holds if the figure on
the whole population lies in it. For the theorems on missing labels the samples stay, and the
observation of their labels is drawn (Jain, Prabhu and Varma, KDD 2016, th. 4.3 and 4.4).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from labelwood.studies._plot import GRAY, legend_below
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study

if TYPE_CHECKING:
    from labelwood.core.topk import TopK
    from labelwood.core.types import CSR, DoubleArray
    from labelwood.data.taxonomy import Taxonomy
    from labelwood.metrics import Evaluation

DELTA = 0.05
KS = (1, 3)
SIZES = {"small": 100, "large": 1000}
N_POPULATION, N_LABELS = 4000, 30
N_TESTS, N_BOOTSTRAP = 2000, 400
_QUICK = (40, 50)
_ERRORS = 3.0  # standard errors of the measured coverage that make a difference


class Population(NamedTuple):
    """All samples from which test sets are drawn, and what was predicted for them."""

    Y: "CSR"
    top: "TopK"
    labels: "CSR"
    propensity: "DoubleArray"
    taxonomy: "Taxonomy"

    def evaluate(self, rows: Any, n_bootstrap: int, seed: int) -> "Evaluation":
        """Every metric on some of the samples."""
        from labelwood.core.topk import TopK
        from labelwood.metrics import evaluate

        return evaluate(
            self.Y[rows],
            TopK(self.top.labels[rows], self.top.scores[rows]),
            self.labels[rows],
            propensity=self.propensity,
            taxonomy=self.taxonomy,
            ks=KS,
            delta=DELTA,
            n_bootstrap=n_bootstrap,
            random_state=seed,
        )


def draw_population(seed: int) -> Population:
    """Labels of power-law frequencies, and scores that find most of the frequent ones."""
    import numpy as np
    import scipy.sparse as sp

    from labelwood.core.propensity import label_propensity
    from labelwood.core.topk import TopK
    from labelwood.data.taxonomy import Taxonomy

    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(2, N_LABELS + 2)
    truth = rng.random((N_POPULATION, N_LABELS)) < 2.5 * share / share.sum()
    scores = rng.normal(size=truth.shape) + 2.0 * truth + np.log(share)
    edges = [(label // 3, label) for label in range(3, N_LABELS)]
    return Population(
        sp.csr_array(truth.astype(np.float32)),
        TopK.from_csr(sp.csr_array(scores), max(KS)),
        sp.csr_array((scores > 0).astype(np.float32)),
        label_propensity(truth.sum(axis=0), N_POPULATION, 0.55, 1.5),
        Taxonomy.from_edges(edges, names=[str(label) for label in range(N_LABELS)]),
    )


def rows(part: str, options: Options) -> Iterator[Row]:
    """Coverage of each interval, on test sets of one size or on observations of the labels."""
    found = _observations(options) if part == "missing" else _test_sets(SIZES[part], options)
    n_tests = _sizes(options)[0]
    for (interval, figure, n), held in found.items():
        error = (held * (1 - held) / n_tests) ** 0.5
        yield {
            "interval": interval,
            "figure": figure,
            "n": n,
            "stated": 100 * (1 - DELTA),
            "measured": 100 * held,
            "±": 100 * error,
            "verdict": verdict(held, n_tests),
        }


def verdict(held: float, n_tests: int) -> str:
    """Whether the share of intervals that hold is the stated one, more, or less."""
    level = 1 - DELTA
    margin = _ERRORS * (level * DELTA / n_tests) ** 0.5
    if held > level + margin:
        return "conservative"
    return "exact" if held >= level - margin else "too narrow"


def _sizes(options: Options) -> tuple[int, int]:
    """Test sets, and replicates of the bootstrap on each."""
    return _QUICK if options.quick else (N_TESTS, N_BOOTSTRAP)


def _test_sets(n: int, options: Options) -> dict[tuple[str, str, int], float]:
    import numpy as np

    n_tests, n_bootstrap = _sizes(options)
    population = draw_population(options.seed)
    truth = population.evaluate(np.arange(N_POPULATION), 0, 0)
    rng = np.random.default_rng((options.seed, n))
    held: dict[tuple[str, str, int], float] = {}
    for test in range(n_tests):
        drawn = population.evaluate(rng.integers(N_POPULATION, size=n), n_bootstrap, test)
        for figure in drawn.figures:
            for interval in ("guaranteed", "bootstrap"):
                ends = getattr(figure, interval)
                if ends is not None:
                    key = (interval, figure.name, n)
                    inside = ends.low <= truth[figure.name] <= ends.high
                    held[key] = held.get(key, 0.0) + inside / n_tests
    return dict(sorted(held.items(), key=lambda item: item[0][0] != "guaranteed"))


def _observations(options: Options) -> dict[tuple[str, str, int], float]:
    """Theorems 4.3 and 4.4: losses from the observed labels, against those from all labels."""
    import numpy as np

    from labelwood.core.topk import TopK
    from labelwood.metrics import concentration_radius, propensity_hamming, psp_at_k

    n, k, n_tests = SIZES["small"], max(KS), _sizes(options)[0]
    population = draw_population(options.seed)
    Y, p = population.Y[:n], population.propensity
    top = TopK(population.top.labels[:n], population.top.scores[:n])
    guess = population.labels[:n]
    sizes = np.diff(Y.indptr)
    L_bar = float(np.sqrt(np.mean(sizes**2.0)))
    ones = np.ones(N_LABELS)
    # A label adds at most 1/(k p) to the estimate of P@k, and 1/(L p) to that of Hamming.
    radius = {
        "P@3 (th. 4.3)": concentration_radius(1 / (k * p.min()), L_bar, n, DELTA),
        "Hamming (th. 4.4)": concentration_radius(1 / (N_LABELS * p.min()), L_bar, n, DELTA),
    }
    truth = {
        "P@3 (th. 4.3)": psp_at_k(Y, top, k, ones, normalize=False),
        "Hamming (th. 4.4)": propensity_hamming(Y, guess, ones),
    }
    rng = np.random.default_rng((options.seed, 1))
    held = dict.fromkeys(truth, 0.0)
    for _ in range(n_tests):
        seen = Y.copy()
        seen.data = (rng.random(seen.nnz) < p[seen.indices]).astype(np.float32)
        estimates = {
            "P@3 (th. 4.3)": psp_at_k(seen, top, k, p, normalize=False),
            "Hamming (th. 4.4)": propensity_hamming(seen, guess, p),
        }
        for name, estimate in estimates.items():
            held[name] += (abs(estimate - truth[name]) <= radius[name]) / n_tests
    return {("concentration", name, n): share for name, share in held.items()}


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Measured coverage of every figure, a marker for each kind of interval and size."""
    kinds = list(dict.fromkeys((row["interval"], row["n"]) for row in rows))
    names = list(dict.fromkeys(str(row["figure"]) for row in rows))
    figure.set_size_inches(6.4, 0.6 + 0.22 * len(names))
    axes = figure.subplots()
    for k, (interval, n) in enumerate(kinds):
        own = [row for row in rows if (row["interval"], row["n"]) == (interval, n)]
        places = [names.index(str(row["figure"])) for row in own]
        label = f"{interval}, n = {n:,}"
        axes.plot([row["measured"] for row in own], places, "o", ms=4, color=f"C{k}", label=label)
    axes.axvline(100 * (1 - DELTA), linestyle="--", linewidth=1, color=GRAY)
    axes.set(xlabel="intervals that hold, percent", yticks=range(len(names)), yticklabels=names)
    axes.invert_yaxis()
    legend_below(figure, [axes])


def _notes(options: Options) -> tuple[str, ...]:
    n_tests, n_bootstrap = _sizes(options)
    return (
        f"{n_tests:,} test sets of n samples, drawn from {N_POPULATION:,}, {N_LABELS} labels; "
        f"{n_bootstrap} bootstrap replicates each; part missing: {n_tests:,} observations of the "
        "labels of the same samples.",
        "measured: per cent of the intervals that hold the figure of the population (part missing: "
        "that on the complete labels), and its standard error.",
        f"exact: within {_ERRORS:g} standard errors of the stated level; conservative: above; "
        "too narrow: below.",
        "guaranteed: Hoeffding and empirical Bernstein, at half the risk each; they hold for every "
        "population. bootstrap: percentiles, which hold in the limit of many samples.",
    )


STUDY = Study(
    name="metrics-coverage",
    title="How often the intervals of the metrics hold the figure of the population",
    parts=dict.fromkeys((*SIZES, "missing"), ()),
    columns={
        "interval": "",
        "figure": "",
        "n": ",d",
        "stated": ".0f",
        "measured": ".1f",
        "±": ".1f",
        "verdict": "",
    },
    rows=rows,
    draw=draw,
    notes=_notes,
)
