"""`make figures`: the figures of the docs, from the project's own commands.

Figures of speed are drawn from docs/figures/*.json, which hold what `make bench` measured on a
quiet machine (docs/research/performance.md); all others are computed here, in about a minute. Text
and axes are gray, readable on a light and on a dark page; the background is transparent.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from benchmarks.growth import LEARNERS, POINTS, SIZES
from benchmarks.harness import SHARED_DATA
from labelwood import (
    BestArmExperiment,
    BudgetedTreeClassifier,
    GaussianHMM,
    OneVsRestSVM,
    RerankedClassifier,
    StreamMonitor,
    TextVectorizer,
    TwoStateGaussianHMM,
    load_dataset,
    pydocs,
    split,
)
from labelwood.experiments import Bernoulli, online_fdr
from labelwood.sequences.plots import plot_states, plot_timeline, plot_trace, plot_transitions

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
GRAY = "#868686"
STYLE = {
    "svg.hashsalt": "labelwood",
    "svg.fonttype": "none",
    "font.size": 10,
    "savefig.transparent": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), GRAY
    ),
}
COLORS = {"labelwood": "#2f9e6e", "peer": "#d9822b", "second": "#4c8dd6"}


def corpus() -> tuple[Any, Any, Any, Any, Any]:
    """Train and test texts of the docstring corpus as TF-IDF, and their labels."""
    train, test = split(pydocs(), test_size=0.2, random_state=0)
    words = TextVectorizer()
    X = words.fit_transform(train.texts)
    return X, train.Y, words.transform(test.texts), test.Y, words


def label_frequencies(axes: Any) -> None:
    """Samples of each label, the most frequent first."""
    counts = np.sort(np.bincount(pydocs().Y.indices))[::-1]
    axes.plot(np.arange(1, counts.size + 1), counts, color=COLORS["labelwood"])
    axes.set(xscale="log", yscale="log", xlabel="label, by rank", ylabel="samples")
    axes.set_title("Most labels are rare (docstring corpus, parameter names)")


def reliability(axes: Any) -> None:
    """Share of right labels against the promised probability."""
    X, Y, X_test, Y_test, _ = corpus()
    model = OneVsRestSVM(calibrate=True, random_state=0, n_jobs=2).fit(X, Y)
    top = model.predict_topk(X_test, 10, proba=True)
    promised, right = top.scores.ravel(), top.hits(Y_test).ravel()
    edges = np.linspace(0, 1, 11)
    bins = np.clip(np.digitize(promised, edges) - 1, 0, 9)
    filled = [b for b in range(10) if (bins == b).sum() >= 30]
    axes.plot([0, 1], [0, 1], linestyle="--", linewidth=1, color=GRAY, label="perfect")
    axes.plot(
        [promised[bins == b].mean() for b in filled],
        [right[bins == b].mean() for b in filled],
        "o-",
        color=COLORS["labelwood"],
        label="OneVsRestSVM(calibrate=True)",
    )
    axes.set(xlabel="probability promised", ylabel="share that is right")
    axes.set_title("Probabilities can be trusted (docstring corpus, held-out documents)")
    axes.legend()


def psp_by_frequency(axes: Any) -> None:
    """Recall among the five best labels, by how frequent the label is."""
    X, Y, X_test, Y_test, _ = corpus()
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    edges = np.array([1, 2, 4, 8, 16, 32, 64, 10**9])
    learners = {
        "OneVsRestSVM": OneVsRestSVM(random_state=0, n_jobs=2),
        'propensity="estimate"': OneVsRestSVM(propensity="estimate", random_state=0, n_jobs=2),
        "re-ranked": RerankedClassifier(OneVsRestSVM(random_state=0, n_jobs=2)),
    }
    known = Y_test[:, : Y.shape[1]]
    bins = np.digitize(counts[known.indices], edges) - 1
    names = ["1", "2–3", "4–7", "8–15", "16–31", "32–63", "64+"]
    width = 0.27
    for place, (name, learner) in enumerate(learners.items()):
        top = learner.fit(X, Y).predict_topk(X_test, 5)
        found = _found(top.labels, known)
        recall = [found[bins == b].mean() for b in range(len(names))]
        color = list(COLORS.values())[place]
        axes.bar(
            np.arange(len(names)) + (place - 1) * width, recall, width, color=color, label=name
        )
    axes.set_xticks(np.arange(len(names)), names)
    axes.set(xlabel="training samples of the label", ylabel="recall among the five best labels")
    axes.set_title("Rare labels come forward (docstring corpus)")
    axes.legend()


def _found(labels: Any, Y: Any) -> Any:
    """Whether each entry of Y is among the labels of its row."""
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    return (labels[rows] == Y.indices[:, None]).any(axis=1)


def reuters_tree(axes: Any) -> None:
    """Liu & Tsang 2017, Figure 7, on newswire: two words a decision tell acquisitions apart."""
    folder = SHARED_DATA / "reuters21578"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    words, topics = ((folder / f"{one}.txt").read_text().split() for one in ("features", "labels"))
    y, y_test = (
        np.where(data.Y[:, [topics.index("acq")]].toarray().ravel() > 0, "acquisition", "other")
        for data in (train, test)
    )
    model = BudgetedTreeClassifier(budget=2, max_depth=3, random_state=0, n_jobs=2)
    wrong = np.mean(model.fit(train.X, y).predict(test.X) != y_test)
    with matplotlib.rc_context({"text.color": "#333333"}):  # the boxes of nodes are white
        model.plot(axes, feature_names=words)
    axes.set_title(
        "Is this Reuters story about an acquisition?\n"
        f"{len(model.selected_features_)} of {len(words):,} words, {100 * wrong:.1f} % wrong "
        f"of {y_test.size:,} stories "
        f"({100 * np.mean(y_test == 'acquisition'):.1f} % are)",
        color=GRAY,
    )


def p_value_path(axes: Any) -> None:
    """The always-valid p-value of an experiment while it runs."""
    rng = np.random.default_rng(1)
    rates = (0.10, 0.11, 0.16)
    experiment = BestArmExperiment(
        3, delta=0.05, reward=Bernoulli(bound="beta"), max_samples=60_000, random_state=0
    )
    path = []
    while arms := experiment.next_arms():
        for arm in arms:
            experiment.record(arm, rng.random() < rates[arm])
        path.append((experiment.n_samples, experiment.p_value))
    axes.step(*zip(*path, strict=True), color=COLORS["labelwood"], where="post")
    axes.axhline(0.05, linestyle="--", linewidth=1, color=GRAY)
    axes.set(yscale="log", xlabel="samples", ylabel="always-valid p-value")
    axes.set_title("An experiment may be watched: rates 10 % (control), 11 %, 16 %")


def wealth_ledger(axes: Any) -> None:
    """Levels of LORD over a sequence of tests, a third of which have an effect."""
    rng = np.random.default_rng(2)
    procedure = online_fdr("lord", 0.1)
    levels, found = [], []
    for number in range(60):
        p = rng.random() ** (8 if number % 3 == 0 else 1)
        levels.append(procedure.next_level())
        if procedure.record(p):
            found.append(number)
    axes.step(
        range(60), levels, where="mid", color=COLORS["labelwood"], label="level of the next test"
    )
    axes.plot(found, [levels[i] for i in found], "o", color=COLORS["peer"], label="discovery")
    axes.set(yscale="log", xlabel="experiment", ylabel="level")
    axes.set_title("Every discovery earns level for the next tests (LORD, FDR 0.1)")
    axes.legend()


def accuracy_time(axes: Any) -> None:
    """P@1 against training seconds on EURLEX57K, beside the peers."""
    stored = json.loads((FOLDER / "eurlex57k.json").read_text())["results"]["eurlex57k"]
    longest = max(figures["seconds"] for figures in stored.values())
    for name, figures in stored.items():
        ours = name.startswith(("OneVsRest", "LabelTree"))
        axes.plot(
            figures["seconds"], figures["P@1"], "o", color=COLORS["labelwood" if ours else "peer"]
        )
        place = (5, -14 if name == "LabelTree, 3 trees" else 5)  # below the name of its neighbor
        point = (figures["seconds"], figures["P@1"])
        axes.annotate(name, point, place, textcoords="offset points")
    axes.margins(y=0.12)  # so that the highest name stays below the title
    axes.set(xlim=(0, 1.3 * longest), xlabel="training, seconds, two threads", ylabel="P@1, %")
    axes.set_title("EURLEX57K: 45,000 documents, 4,271 labels")


def growth(axes: Any) -> None:
    """Training seconds against the number of labels."""
    stored = json.loads((FOLDER / "growth.json").read_text())["results"]["growth"]
    colors = iter(COLORS.values())
    sizes = [n_labels for _, n_labels in SIZES["labels"]]
    for learner in LEARNERS:
        seconds = [run["seconds"] for run in stored[f"{learner} labels"]["runs"]]
        axes.plot(sizes, seconds, "o-", color=next(colors), label=learner)
    axes.set(xscale="log", ylim=(0, None), xlabel="labels", ylabel="training, seconds, two threads")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_title(f"Training time against labels ({POINTS:,} synthetic samples)")
    axes.legend()


def two_state_sequence() -> Any:
    """300 steps that stay with probability 0.95, two standard deviations apart."""
    rng = np.random.default_rng(0)
    states = np.cumprod(np.where(rng.random(300) < 0.95, 1, -1))
    return (states + rng.normal(size=300)).reshape(-1, 1)


def hmm_states(axes: Any) -> None:
    """A sequence with the most probable states."""
    X = two_state_sequence()
    model = GaussianHMM(2, random_state=0).fit(X)
    plot_states(axes, X[:, 0], model.predict(X))
    axes.set_title("Most probable states of GaussianHMM(2)")


def hmm_trace(axes: Any) -> None:
    """The trace of EM with its linear part."""
    plot_trace(axes, TwoStateGaussianHMM(random_state=0).fit(two_state_sequence()))
    axes.set_title("EM converges linearly; the factor is measured")


def hmm_transitions(axes: Any) -> None:
    """The fitted chain."""
    model = GaussianHMM(2, random_state=0).fit(two_state_sequence())
    plot_transitions(axes, model.transition_)
    axes.set_title("Transition probabilities")


def monitor_timeline(axes: Any) -> None:
    """A shift by one standard deviation, found and left again."""
    rng = np.random.default_rng(0)
    x = rng.normal(np.repeat([0.0, -1.0, 0.0], [600, 150, 250]), 1)
    monitor = StreamMonitor(5000, baseline_size=200)
    plot_timeline(axes, x, monitor.update_many(x), monitor.record.change_point)
    axes.set_title("Baseline learned from 200 steps, shift of 1 σ from 600 to 750")


def text_features(axes: Any) -> None:
    """What feature sets gain over words, and the time that they take."""
    rows = json.loads((FOLDER / "text_features.json").read_text())
    words = {row["data"]: row for row in rows if row["features"] == "words"}
    shown = {
        "eurlex57k": "EURLEX57K",
        "reuters21578": "Reuters-21578",
        "pydocs": "pydocs, parameters",
        "pydocs modules": "pydocs, modules",
    }
    markers = {"words+pairs": "s", "words+chars": "o", "words+pairs+chars": "D", "chars": "^"}
    colors = dict(zip(words, ("C0", "C1", "C2", "C3", "C4", "C5"), strict=False))
    for row in rows:
        if row["features"] not in markers:
            continue
        base = words[row["data"]]
        cost = (row["text s"] + row["learner s"]) / (base["text s"] + base["learner s"])
        gain = row["P@1"] - base["P@1"]
        axes.plot(cost, gain, markers[row["features"]], color=colors[row["data"]], markersize=7)
    for features, marker in markers.items():
        axes.plot([], [], marker, color=GRAY, label=features)
    for data, color in colors.items():
        axes.plot([], [], "-", color=color, linewidth=3, label=shown.get(data, data))
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.set(
        xscale="log",
        xlabel="CPU time of vectorizer and learner, as a multiple of words alone",
        ylabel="gain in P@1 over words, points",
    )
    times = (1, 2, 5, 10, 20, 30)
    axes.set_xticks(times, [str(time) for time in times])
    axes.minorticks_off()
    axes.set_title("What feature sets gain over words, and what they cost")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


FIGURES: dict[str, tuple[Callable[[Any], None], tuple[float, float]]] = {
    "label_frequencies": (label_frequencies, (6.5, 3.6)),
    "reliability": (reliability, (6.5, 4.2)),
    "psp_by_frequency": (psp_by_frequency, (7.5, 3.8)),
    "reuters_tree": (reuters_tree, (8.5, 5)),
    "p_value_path": (p_value_path, (6.5, 3.6)),
    "wealth_ledger": (wealth_ledger, (6.5, 3.6)),
    "hmm_states": (hmm_states, (7.5, 3.2)),
    "hmm_trace": (hmm_trace, (6.5, 3.6)),
    "hmm_transitions": (hmm_transitions, (4.0, 4.0)),
    "monitor_timeline": (monitor_timeline, (7.5, 3.2)),
    "accuracy_time": (accuracy_time, (6.5, 4.2)),
    "growth": (growth, (6.5, 3.8)),
    "text_features": (text_features, (8.0, 3.8)),
}


def main() -> None:
    """Draw the figures that are named, or all of them."""
    matplotlib.rcParams.update(STYLE)
    for name in sys.argv[1:] or FIGURES:
        draw, size = FIGURES[name]
        figure = Figure(size, layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": "labelwood"})
        print(f"docs/figures/{name}.svg", flush=True)


if __name__ == "__main__":
    main()
