"""Labels that few samples have: propensity-scored metrics, and training that weighs them more."""

from labelwood import OneVsRestSVM, metrics, synthetic


def main() -> None:
    """Compare plain training with training by inverse propensities, on rare labels."""
    made = synthetic(800, 400, 60, n_test=300, random_state=0)
    train, test = made.train, made.test
    p = metrics.propensity(train.Y)
    for name, propensity in (("plain", None), ("by inverse propensities", "estimate")):
        model = OneVsRestSVM(propensity=propensity, random_state=0).fit(train.X, train.Y)
        top = model.predict_topk(test.X, 5)
        precision = metrics.precision_at_k(test.Y, top, 5)
        weighted = metrics.psp_at_k(test.Y, top, 5, p)
        print(f"{name}: P@5 {100 * precision:.1f}, PSP@5 {100 * weighted:.1f}")


if __name__ == "__main__":
    main()
