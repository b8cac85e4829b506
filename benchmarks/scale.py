"""One label tree on 500,000 points × 200,000 features × 500,000 labels, made up."""

import time
import warnings

from benchmarks.harness import peak_mb

SHAPE = (500_000, 200_000, 500_000)


def run() -> dict[str, object]:
    """Make, train, predict; prints times and the peak of the process."""
    import labelwood

    warnings.simplefilter("ignore", labelwood.errors.LabelwoodWarning)
    warm = labelwood.synthetic(400, 500, 100).train
    labelwood.LabelTreeClassifier(n_jobs=2).fit(warm.X, warm.Y).predict_topk(warm.X)
    made = labelwood.synthetic(*SHAPE, n_test=10_000, random_state=0, n_jobs=2)
    train, test = made.train, made.test
    del made
    print(f"  data made, peak {peak_mb() / 1024:.1f} GB", flush=True)
    start = time.perf_counter()
    with labelwood.show_progress():
        model = labelwood.LabelTreeClassifier(random_state=0, n_jobs=2).fit(train.X, train.Y)
    figures = {"seconds": time.perf_counter() - start, "peak MB": peak_mb()}
    start = time.perf_counter()
    top = model.predict_topk(test.X, 5)
    figures["ms a point"] = 1000 * (time.perf_counter() - start) / test.X.shape[0]
    figures["model MB"] = model.model_size / 2**20
    figures |= {f"P@{k}": 100 * float(top.head(k).hits(test.Y).mean()) for k in (1, 3, 5)}
    print("  " + ", ".join(f"{name} {value:.3f}" for name, value in figures.items()), flush=True)
    return {"LabelTreeClassifier": figures}
