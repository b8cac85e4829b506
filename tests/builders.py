"""Small data for tests, made in one place."""

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from typer.testing import CliRunner

import labelwood
from labelwood.cli.main import app
from labelwood.core.estimator import LabelEstimator


def random_csr(n: int, d: int, density: float = 0.1, seed: int = 0) -> sp.csr_array:
    """Sparse float32 features with values in (0, 1]."""
    rng = np.random.default_rng(seed)
    return sp.random_array(
        (n, d), density=density, format="csr", dtype=np.float32, rng=rng, data_sampler=None
    )


def random_labels(n: int, n_labels: int, per_point: float = 2.0, seed: int = 0) -> sp.csr_array:
    """An indicator whose labels have power-law frequencies; some points may have none."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_labels + 1)
    share *= per_point / share.sum()
    return sp.csr_array((rng.random((n, n_labels)) < share).astype(np.float32))


def separable(n: int, n_labels: int, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Features from which every label can be told: one feature a label, with noise features."""
    Y = random_labels(n, n_labels, seed=seed)
    X = sp.hstack([Y, random_csr(n, n_labels, seed=seed + 1)], format="csr")
    return sp.csr_array(X, dtype=np.float32), Y


TEXTS = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "a cat in a fog"] * 5
LABELS = [["cat"], ["dog"], ["cat", "dog"], ["cat"]] * 5


def public_estimators() -> list[type]:
    """All public classes with a `fit`, which the contract tests go through."""
    public = [getattr(labelwood, name) for name in labelwood._HOME]
    return [one for one in public if isinstance(one, type) and hasattr(one, "fit")]


def small(kind: type) -> Any:
    """An unfitted instance that fits in a moment, seeded where it takes a seed."""
    required = {"budget": 3} if "budget" in kind._constraints and needs(kind, "budget") else {}
    model = kind(**required)
    quick = {"random_state": 0, "n_trees": 5, "n_jobs": 1, "n_init": 1}
    known = model.get_params(deep=False)
    return model.set_params(**{name: quick[name] for name in quick if name in known})


def needs(kind: type, name: str) -> bool:
    """Whether the parameter has no default."""
    return inspect.signature(kind).parameters[name].default is inspect.Parameter.empty


def problem_for(kind: type, n: int = 60, d: int = 12, seed: int = 0) -> tuple[Any, ...]:
    """What the `fit` of a public estimator takes: features and targets, texts or sequences."""
    X, Y = separable(n, d // 2, seed=seed)
    if issubclass(kind, labelwood.Tagger):
        return (labelwood.Dataset.from_lists(TEXTS, LABELS),)
    if issubclass(kind, labelwood.TextVectorizer):
        return (TEXTS,)
    if issubclass(kind, LabelEstimator):
        return X, Y
    if issubclass(kind, RegressorMixin):
        return X, X.toarray() @ np.linspace(-1, 1, d)
    if issubclass(kind, ClassifierMixin):
        return X, np.where(X.toarray()[:, 0] + X.toarray()[:, d - 1] > 0.4, "yes", "no")
    rng = np.random.default_rng(seed)
    if issubclass(kind, labelwood.CategoricalHMM):
        return (rng.integers(0, 1 + d // 4, (n, 1)).astype(float),)
    if issubclass(kind, labelwood.PoissonHMM):
        return (rng.poisson(3.0, (n, d)).astype(float),)
    return (X.toarray() + rng.normal(size=(n, d)),)


def answers(model: Any, X: Any) -> list[bytes]:
    """All that a fitted estimator says about `X`, as bytes."""
    if isinstance(model, labelwood.TextVectorizer):
        results = [model.transform(X)]
    elif hasattr(model, "predict_topk"):
        top = model.predict_topk(X, 3)
        results = [top.labels, top.scores]
    else:
        results = [model.predict(X)]
    plain = [one.toarray() if sp.issparse(one) else np.asarray(one) for one in results]
    return [one.tobytes() for one in plain]


def state(value: Any) -> Any:
    """All attributes of a fitted estimator, comparable byte by byte.

    What is derived from other attributes and only kept for speed (`_kept_…`) is left out.
    """
    if sp.issparse(value):
        return [state(part) for part in (value.indptr, value.indices, value.data)]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return [state(one) for one in value]
    if isinstance(value, dict):
        kept = [key for key in value if str(key).startswith("_kept_")]
        return {key: state(one) for key, one in value.items() if key not in kept}
    if isinstance(value, BaseEstimator):
        return type(value).__name__, state(vars(value))
    return value


def run_command(*arguments: object) -> Any:
    """What the command line gives in this process; its errors and warnings are raised."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result
