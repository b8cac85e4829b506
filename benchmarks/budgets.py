"""One row alone in coding trees with and without a budget: processor time, by turns in one run.

`python -m benchmarks.budgets [DOCUMENTS [BUDGET]]` fits both kinds of trees on so many documents of
EURLEX57K (3,000 and 50 unless given; 45000 are all) and predicts test documents one by one. The
trees take turns in each round, and the best round of each is compared.
"""

import sys
import time

import numpy as np

from benchmarks.sets import load
from labelwood import AnnotationTreeClassifier, PowersetTreeClassifier
from labelwood.core.sparse import as_csr

ROWS, ROUNDS = 500, 30
TREES = {"PT": PowersetTreeClassifier, "AT": AnnotationTreeClassifier}


def run(n_documents: int = 3000, budget: int = 50) -> dict[str, object]:
    """A line for each kind of tree."""
    train, test = load("eurlex57k")
    X, Y = train.X[:n_documents], train.Y[:n_documents]
    rows = [as_csr(test.X[[i]]) for i in range(ROWS)]
    results: dict[str, object] = {}
    for name, kind in TREES.items():
        start = time.process_time()
        budgeted = kind(budget=budget, random_state=0).fit(X, Y)
        seconds = time.process_time() - start
        plain = kind(random_state=0).fit(X, Y)
        without, within = _by_turns([plain, budgeted], rows)
        results[name] = {
            "nodes": int(np.count_nonzero(budgeted.right_ >= 0)),
            "training s": seconds,
            "weights": int(budgeted.weights_.size),
            "weights without": int(plain.weights_.size),
            "row us": within,
            "row us without": without,
            "ratio": without / within,
        }
        print(f"  {name}: {results[name]}", flush=True)
    return results


def _by_turns(models: list, rows: list) -> list[float]:
    """Microseconds a row of each model, in its best round."""
    best = [np.inf] * len(models)
    for _ in range(ROUNDS):
        for place, model in enumerate(models):
            start = time.process_time()
            for row in rows:
                model.predict(row)
            best[place] = min(best[place], (time.process_time() - start) / len(rows) * 1e6)
    return best


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
